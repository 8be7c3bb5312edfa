// Cancels the jobs of a stopped run, sessions included: each keeps its results so far, and charges for them.
import type { Records } from "../../platform/records/records.ts";
import { walk } from "../../platform/records/walk.ts";
import { isOver, JOB, type JobRecord } from "./job-record.ts";
import type { Jobs } from "./jobs.ts";

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
