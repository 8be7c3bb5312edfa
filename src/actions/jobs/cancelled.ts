// Records which jobs their payers cancelled, and when. Separate from the job's record, which only its runner writes.
import type { Records } from "../../platform/records/records.ts";
import { walk } from "../../platform/records/walk.ts";
import { isOver, JOB, type JobRecord } from "./job-record.ts";
import type { Jobs } from "./jobs.ts";

const KIND = "job-cancelled";
/** The same, in a list that the job's runner polls. */
const TOLD = "job-cancelled-told";
/** Longer than any job runs. */
const KEPT_MS = 24 * 3_600_000;
const TOLD_MS = 3_600_000;
const PAGE = 500;

const listOf = (runner: string): string => `cancelled:${runner}`;

export interface Cancelled {
  readonly jobId: string;
  readonly atMs: number;
}

/** Records when it was cancelled; a repeat changes nothing. */
export async function keepCancelled(records: Records, { jobId: id, atMs }: Cancelled): Promise<void> {
  await records.put({ kind: KIND, id, payer: null, value: String(atMs), ttlMs: KEPT_MS, ifVersion: 0 });
}

/** Notifies the runner, which polls every few seconds. */
export async function tellRunner(records: Records, { jobId: id, atMs }: Cancelled, runner: string): Promise<void> {
  const value = String(atMs);
  await records.put({ kind: TOLD, id, payer: listOf(runner), value, ttlMs: TOLD_MS, ifVersion: null });
}

/** When it was cancelled; null where it was not. */
export async function cancelledAt(records: Records, jobId: string): Promise<number | null> {
  const found = await records.get(KIND, jobId);
  return found === null ? null : Number(found.value) || found.createdAtMs;
}

export async function toldTo(records: Records, runner: string): Promise<readonly Cancelled[]> {
  const { rows } = await records.list(TOLD, listOf(runner), PAGE, null);
  return rows.map(({ id, value }) => ({ jobId: id, atMs: Number(value) }));
}

export async function heard(records: Records, jobId: string): Promise<void> {
  await records.delete(TOLD, jobId);
}

/** `isPart` says whether a run is the stopped one, or below it. */
export async function cancelJobs(
  records: Pick<Records, "list">,
  jobs: Pick<Jobs, "cancel">,
  accountId: string,
  isPart: (runId: string) => Promise<boolean>,
): Promise<void> {
  for await (const { value } of walk(records, JOB, `acct:${accountId}`)) {
    const job = JSON.parse(value) as JobRecord;
    const { payer, id } = job;
    if (!isOver(job) && payer.runId !== undefined && (await isPart(payer.runId))) await jobs.cancel(id, payer);
  }
}
