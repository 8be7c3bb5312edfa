// Cancels the jobs of a stopped run, sessions included: each keeps its results so far, and charges for them.
import type { Records } from "../../platform/records/records.ts";
import { isOver, JOB, type JobRecord } from "./job-record.ts";
import type { Jobs } from "./jobs.ts";

const ROWS_AT_ONCE = 200;

/** `isPart` says whether a run is the stopped one, or below it. */
export async function cancelJobs(
  records: Pick<Records, "list">,
  jobs: Pick<Jobs, "cancel">,
  accountId: string,
  isPart: (runId: string) => Promise<boolean>,
): Promise<void> {
  for (let cursor: string | null = null, more = true; more; more = cursor !== null) {
    const page = await records.list(JOB, `acct:${accountId}`, ROWS_AT_ONCE, cursor);
    for (const { value } of page.rows) {
      const job = JSON.parse(value) as JobRecord;
      const { payer, id } = job;
      if (!isOver(job) && payer.runId !== undefined && (await isPart(payer.runId))) await jobs.cancel(id, payer);
    }
    cursor = page.next;
  }
}
