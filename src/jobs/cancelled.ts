// Which jobs their payers want no more. A record of its own: the job's record is written by its runner alone.
import type { Records } from "../records/records.ts";

const KIND = "job-cancelled";
/** Longer than any job runs. */
const KEPT_MS = 24 * 3_600_000;

export async function keepCancelled(records: Records, jobId: string): Promise<void> {
  await records.put({ kind: KIND, id: jobId, payer: null, value: "", ttlMs: KEPT_MS, ifVersion: null });
}

export async function isCancelled(records: Records, jobId: string): Promise<boolean> {
  return (await records.get(KIND, jobId)) !== null;
}
