// Events: who keeps them, who tells them, and how a webhook is sent to.

import type { JobRecord } from "../actions/jobs/job-record.ts";
import { systemClock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import type { LedgerFundsDeps } from "../kernel/ledger-funds.ts";
import type { EventParts } from "../money/events/event-endpoints.ts";
import { createEventLog } from "../money/events/event-log.ts";
import { createEventStreams } from "../money/events/event-streams.ts";
import { refusalTeller } from "../money/events/refusals.ts";
import { type Send, Teller } from "../money/events/teller.ts";
import { createWebhooks } from "../money/events/webhooks.ts";
import { createPublicAddresses } from "../upstream/public-addresses.ts";
import { createPublicFetch, type PublicFetchOptions } from "../upstream/public-fetch.ts";
import { NOT_PUBLIC, readPublicUrl } from "../upstream/public-url.ts";
import type { Phase } from "./drain.ts";
import { createNotices } from "./notices.ts";
import type { Foundation } from "./open-foundation.ts";

const SEND_MS_MAX = 15_000;
const LOOK_UP_MS_MAX = 10_000;
/** Of an answer nothing is read but its head, however long it says that it is. */
const ANSWER_BYTES_MAX = Number.MAX_SAFE_INTEGER / 2;

export interface OpenEvents extends EventParts {
  readonly teller: Teller;
  /** A ceiling has refused a call: the same event in each of its periods, however often it is said. */
  readonly doors: Pick<LedgerFundsDeps, "overCeiling">;
  /** A job is over: the same event, however often it is said. */
  keepEnd(job: JobRecord): Promise<void>;
  close(): Promise<void>;
}

export function openEvents(
  foundation: Pick<Foundation, "config" | "catalog" | "upstream" | "stores" | "broken">,
  phase: Readonly<Phase>,
  inTests: PublicFetchOptions = {},
): OpenEvents {
  const { webhooksPrivate: mayBeInner, proxies } = foundation.config;
  const { records, ledger, shared } = foundation.stores;
  const clock = systemClock;
  const onBroken = (error: unknown) => foundation.broken(error, "events could not be told");
  const internet = createPublicFetch({ ...inTests, userAgent: "Tollgate-Webhooks", mayBeInner, proxies });
  const send: Send = async (url, headers, body) => {
    // A redirect is no answer: what was signed is for the address that was named.
    const limits = { bytesMax: ANSWER_BYTES_MAX, msMax: SEND_MS_MAX, redirectsMax: 0, send: { headers, body } };
    const left = new AbortController();
    const answer = await internet.open(url, { ...limits, signal: left.signal });
    if (answer instanceof GatewayError) return answer.message;
    left.abort();
    return answer.status >= 200 && answer.status < 300 ? null : `it answered ${answer.status}`;
  };
  const log = createEventLog(records, clock, ledger);
  const streams = createEventStreams({ log, clock, draining: () => phase.draining, onBroken });
  const webhooks = createWebhooks(records, clock);
  const notice = createNotices(foundation, log.tell);
  const teller = new Teller({ shared, ledger, log, webhooks, records, clock, send, notice, onBroken });
  const lookUp = createPublicAddresses({ ...inTests, mayBeInner });
  const urlFault = async (url: string) => {
    const read = readPublicUrl(url, () => mayBeInner, mayBeInner);
    if (typeof read === "string") return `the address ${read}`;
    if (mayBeInner) return null;
    const found = await lookUp(read, AbortSignal.timeout(LOOK_UP_MS_MAX)).catch(() => null);
    if (found === null) return "the name of the address could not be looked up; try again";
    return found.length === 0 ? `the address ${NOT_PUBLIC}` : null;
  };
  return {
    log,
    streams,
    webhooks,
    teller,
    urlFault,
    doors: { overCeiling: refusalTeller(log, onBroken) },
    async keepEnd(job) {
      const { id, kind, action, state, chargedCents, payer } = job;
      if (!payer.id.startsWith("acct:")) return;
      const data = { job_id: id, job: action ?? kind, status: state, charged_cents: chargedCents };
      await log.tell({ kind: "job.ended", accountId: payer.id.slice("acct:".length), data }, id);
    },
    async close() {
      await teller.stop();
      internet.close();
    },
  };
}
