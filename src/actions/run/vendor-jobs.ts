// Vendors' asynchronous work that calls of ours launched: its owner, its status, and when we last polled it.
import { hash } from "node:crypto";
import type { PollSpec } from "../../catalog/action.ts";
import type { Audience, SoldAction } from "../../catalog/catalog.ts";
import type { InnerCalls } from "../../catalog/local-action.ts";
import type { Clock } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Payer } from "../../core/plan.ts";
import type { Records } from "../../platform/records/records.ts";
import { atPointer } from "../../upstream/json-pointer.ts";

const KIND = "vendor-job";
const ANSWER = "vendor-job-answer";
const KEPT_MS = 7 * 24 * 3_600_000;
/** We poll a vendor about one launch at most this often, however many callers ask. */
const ASK_EVERY_MS = 3_000;
/** Longer answers are not stored: the vendor is asked again. */
const ANSWER_CHARS_MAX = 1_048_576;
/** Bounds the stored answers of one payer together. */
const SHARE = { bytesMax: 16_777_216, full: "oldest_leave" } as const;

export interface VendorJobId {
  /** `<adapter id>/<action>` of the launch. */
  readonly offerId: string;
  readonly kind: string;
  readonly id: string;
}

export interface VendorJob {
  readonly job_id: string;
  readonly status: "running" | "succeeded" | "failed";
  /** The vendor's own answer, once the job is over. */
  readonly result?: unknown;
  readonly charged_cents: 0;
}

interface Kept extends VendorJobId {
  readonly askedAtMs: number;
  readonly status: VendorJob["status"];
}

export interface VendorJobsDeps {
  readonly records: Records;
  readonly clock: Pick<Clock, "epochMs">;
  /** Finds an action of the catalog; null where there is none. */
  sold(id: string, audience: Audience): SoldAction | null;
}

const recordIdOf = (payer: Payer, id: string) => hash("sha256", JSON.stringify([payer.id, id]));

function put(records: Records, recordId: string, job: Kept, ifVersion: number | null): Promise<number | null> {
  return records.put({ kind: KIND, id: recordId, payer: null, value: JSON.stringify(job), ttlMs: KEPT_MS, ifVersion });
}

/** Remembers that one of the payer's launches has this id. */
export function keepVendorJob(
  job: VendorJobId,
  { payer, records }: { readonly payer: Payer; readonly records: Records },
): Promise<unknown> {
  return put(records, recordIdOf(payer, job.id), { ...job, askedAtMs: 0, status: "running" }, null);
}

function statusOf({ at, done, failed }: PollSpec, data: unknown): VendorJob["status"] {
  const word = String(atPointer(data, at));
  if (done.includes(word)) return "succeeded";
  return failed.includes(word) ? "failed" : "running";
}

function jobOf({ id }: Kept, status: VendorJob["status"], result?: unknown): VendorJob {
  return { job_id: id, status, ...(result === undefined ? {} : { result }), charged_cents: 0 };
}

/** Polls the vendor, and stores the answer once the job is over. */
async function ask(
  { recordId, job }: { readonly recordId: string; readonly job: Kept },
  { payer, call }: { readonly payer: Payer } & Pick<InnerCalls, "call">,
  { records, sold }: VendorJobsDeps,
): Promise<VendorJob | GatewayError> {
  const launch = sold(job.offerId, payer)?.offers.find((offer) => offer.id === job.offerId);
  const poll = launch?.spec.issues?.find(({ kind }) => kind === job.kind)?.poll;
  if (launch === undefined || poll === undefined)
    return new GatewayError("upstream_not_configured", { detail: job.offerId });
  const params = { ...poll.params, [poll.param]: poll.numeric === true ? Number(job.id) : job.id };
  const answer = await call({ action: `${launch.adapter.id}/${poll.action}`, params });
  if (!answer.ok) return answer.error;
  const status = statusOf(poll, answer.data);
  if (status === "running") return jobOf(job, status);
  const value = JSON.stringify(answer.data);
  if (value.length <= ANSWER_CHARS_MAX) {
    const kept = { kind: ANSWER, id: recordId, payer: payer.id, value, ttlMs: KEPT_MS };
    await records.put({ ...kept, ifVersion: 0, share: SHARE });
  }
  await put(records, recordId, { ...job, status }, null);
  return jobOf(job, status, answer.data);
}

/** Null where this payer launched none. Polls unless anyone just did; until then 429 where a finished answer was too long to store. */
export async function vendorJob(
  id: string,
  caller: { readonly payer: Payer } & Pick<InnerCalls, "call">,
  deps: VendorJobsDeps,
): Promise<VendorJob | GatewayError | null> {
  const { records, clock } = deps;
  const recordId = recordIdOf(caller.payer, id);
  const stored = await records.get(KIND, recordId);
  if (stored === null) return null;
  const job = JSON.parse(stored.value) as Kept;
  if (job.status !== "running") {
    const answer = await records.get(ANSWER, recordId);
    if (answer !== null) return jobOf(job, job.status, JSON.parse(answer.value));
  }
  const waitMs = job.askedAtMs + ASK_EVERY_MS - clock.epochMs();
  const asking = { ...job, askedAtMs: Math.floor(clock.epochMs()) };
  const version = waitMs > 0 ? null : await put(records, recordId, asking, stored.version);
  if (version !== null) return ask({ recordId, job: asking }, caller, deps);
  // Another request is polling, or has just polled.
  if (job.status === "running") return jobOf(job, "running");
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1_000));
  const window = { limit: 1, window_seconds: ASK_EVERY_MS / 1_000 };
  return new GatewayError("rate_limited", { detail: window, retryAfterSeconds });
}
