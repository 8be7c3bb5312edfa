// Events: their store, webhook delivery, and the notices that one process sends: resting routes, payments in doubt, retiring models.

import { BATCH_JOB, batchIdOf } from "../actions/batches/batch-record.ts";
import { batchState } from "../actions/batches/batch-view.ts";
import type { JobRecord } from "../actions/jobs/job-record.ts";
import { systemClock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import { usdText } from "../core/money.ts";
import { HOUSE } from "../edge/x402/books.ts";
import { openReceipts } from "../edge/x402/receipts.ts";
import { EventDispatcher, type Send } from "../money/events/event-dispatcher.ts";
import { createEventLog, type EventLog } from "../money/events/event-log.ts";
import { createEventStreams } from "../money/events/event-streams.ts";
import { refusalReporters } from "../money/events/refusals.ts";
import { RouteWatch } from "../money/events/route-watch.ts";
import { createWebhooks } from "../money/events/webhooks.ts";
import { openPaid } from "../money/wallet/paid-records.ts";
import type { Records } from "../platform/records/records.ts";
import { createPublicAddresses } from "../upstream/public-addresses.ts";
import { createPublicFetch } from "../upstream/public-fetch.ts";
import { NOT_PUBLIC, readPublicUrl } from "../upstream/public-url.ts";
import type { Foundation } from "./open-foundation.ts";

const SEND_MS_MAX = 15_000;
const LOOK_UP_MS_MAX = 10_000;
/** Only the start of an answer is read, whatever length it announces. */
const ANSWER_BYTES_MAX = Number.MAX_SAFE_INTEGER / 2;

export type OpenEvents = ReturnType<typeof openEvents>;

export function openEvents(foundation: Foundation) {
  const { options, config, phase, stores, broken, opened } = foundation;
  const { webhooksPrivate: mayBeInner, proxies } = config;
  const { records, ledger, shared } = stores;
  const inTests = options.internet ?? {};
  const clock = systemClock;
  const onBroken = (error: unknown) => broken(error, "events could not be told");
  const internet = createPublicFetch({ ...inTests, userAgent: "Tollgate-Webhooks", mayBeInner, proxies });
  const send: Send = async (url, headers, body) => {
    // Redirects are not followed: the signature is for the configured address.
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
  const dispatcher = new EventDispatcher({ shared, ledger, log, webhooks, records, clock, send, notice, onBroken });
  const lookUp = createPublicAddresses({ ...inTests, mayBeInner });
  opened.add(async () => {
    await dispatcher.stop();
    internet.close();
  });
  const urlFault = async (url: string) => {
    const read = readPublicUrl(url, () => mayBeInner, mayBeInner);
    if (typeof read === "string") return `the address ${read}`;
    if (mayBeInner) return null;
    const found = await lookUp(read, AbortSignal.timeout(LOOK_UP_MS_MAX)).catch(() => null);
    if (found === null) return "the name of the address could not be looked up; try again";
    return found.length === 0 ? `the address ${NOT_PUBLIC}` : null;
  };
  const { overCeiling, runAsks } = refusalReporters(log, onBroken);
  return {
    log,
    streams,
    webhooks,
    dispatcher,
    urlFault,
    doors: { overCeiling },
    runAsks,
    /** A job ended: one event, however often it is reported. */
    async keepEnd(job: JobRecord) {
      const { id, kind, action, state, chargedCents, payer } = job;
      if (!payer.id.startsWith("acct:")) return;
      const data = { job_id: id, job: action ?? kind, status: state, charged_cents: chargedCents };
      const accountId = payer.id.slice("acct:".length);
      await log.tell({ kind: "job.ended", accountId, data }, id);
      if (kind === BATCH_JOB) await log.tell({ accountId, ...batchEvent(job) }, "batch", id);
    },
  };
}

/** A batch that was stopped early is reported as completed too: it has results. */
function batchEvent(job: JobRecord) {
  const { start, progress, result, status } = batchState(job, null);
  const { total = 0, done = 0, failed = 0, refused = 0 } = progress ?? {};
  const data = {
    batch_id: batchIdOf(job.id, start.wire),
    status,
    total,
    completed: done - failed - refused,
    failed: failed + refused,
    output_file_id: result?.output_file_id ?? null,
    charged_cents: job.chargedCents,
  };
  return { kind: status === "failed" ? "batch.failed" : "batch.completed", data } as const;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** A payment that stays open longer than any call takes is in doubt. */
const DOUBT_MS = 5 * MINUTE_MS;
/** How many days before its end a model is reported. */
const RETIRES_DAYS = [30, 7, 1];

const LIVE = { sandbox: false };

type Tell = EventLog["tell"];

/** Reports each payment with an unknown outcome once, whether a caller made it on chain or our wallet did. */
async function tellDoubts(records: Records, tell: Tell, nowMs: number): Promise<void> {
  const received = (await openReceipts(records, HOUSE)).map(({ receipt }) => {
    return { ...receipt, direction: "received", of: { network: receipt.payment.network } };
  });
  const paid = (await openPaid(records)).map(({ callId: id, network, merchant, ...rest }) => {
    return { ...rest, id, direction: "paid", of: { network, merchant } };
  });
  for (const { id, direction, amountNano, of, sinceMs } of [...received, ...paid]) {
    if (nowMs - sinceMs < DOUBT_MS) continue;
    const data = { transaction_id: id, direction, amount_usd: usdText(amountNano), ...of };
    await tell({ kind: "settlement.in_doubt", accountId: null, data }, direction, id);
  }
}

/** Reports models for sale that retire soon, once at each of these days. */
async function tellEnds(
  catalog: ReturnType<Foundation["catalog"]["current"]>,
  tell: Tell,
  nowMs: number,
): Promise<void> {
  const all = [...catalog.models(LIVE), ...catalog.embeddings(LIVE), ...catalog.unitModels(LIVE)];
  for (const { slug, retires, offers } of all) {
    if (retires === null || offers.length === 0) continue;
    const left = Math.ceil((Date.parse(retires.on) - nowMs) / DAY_MS);
    const mark = RETIRES_DAYS.findLast((days) => left <= days);
    if (mark === undefined || left < 0) continue;
    const data = { model: slug, ends_on: retires.on, days_left: left, successor: retires.successor ?? null };
    await tell({ kind: "model.retires", accountId: null, data }, slug, retires.on, mark);
  }
}

/** Called about once a second, in one of the processes. */
function createNotices(
  { catalog, upstream, stores: { records } }: Pick<Foundation, "catalog" | "upstream" | "stores">,
  tell: Tell,
): () => Promise<void> {
  const routes = new RouteWatch();
  let doubtsMs = Number.NEGATIVE_INFINITY;
  let endsMs = Number.NEGATIVE_INFINITY;
  return async () => {
    const nowMs = systemClock.epochMs();
    for (const { kind, route, sinceMs } of routes.look(upstream.health.resting(), nowMs)) {
      const { provider: vendor, model } = route;
      await tell({ kind, accountId: null, data: { vendor, model } }, vendor, model, Math.floor(sinceMs));
    }
    if (nowMs - doubtsMs >= MINUTE_MS) {
      doubtsMs = nowMs;
      await tellDoubts(records, tell, nowMs);
    }
    if (nowMs - endsMs >= HOUR_MS) {
      endsMs = nowMs;
      await tellEnds(catalog.current(), tell, nowMs);
    }
  };
}
