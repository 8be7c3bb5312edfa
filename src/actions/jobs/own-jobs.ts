// GET /api/v1/jobs: an account's jobs of the last days, as their payer lists them; core/result tells what came of one.

import type { EndpointSpec } from "../../core/endpoint.ts";
import { pageSchema } from "../../money/accounts/list-pages.ts";
import { endpoint } from "../../money/accounts/own-endpoint.ts";
import { readQuery } from "../../money/accounts/read-body.ts";
import type { Records } from "../../platform/records/records.ts";
import { JOB, type JobRecord } from "./job-record.ts";
import { jobView } from "./job-view.ts";

/** A job is read whole, with a result that is left out, however long it is. */
const ROWS_MAX = 25;

/** A row of it; without the result, which may be long. */
function ownJobRow(job: JobRecord) {
  const { result: _, ...view } = jobView(job);
  return { ...view, job: job.action ?? job.kind, created_at: new Date(job.createdAtMs).toISOString() };
}

/** Newest first. Those that are over are kept for seven days. */
export function ownJobsEndpoint(records: Pick<Records, "list">): EndpointSpec {
  return endpoint("GET", "/api/v1/jobs", async ({ request, caller }) => {
    const page = readQuery(pageSchema, request.query);
    const { rows, next } = await records.list(
      JOB,
      caller.payer.id,
      Math.min(page.limit, ROWS_MAX),
      page.cursor ?? null,
    );
    const jobs = rows.map(({ value }) => ownJobRow(JSON.parse(value) as JobRecord));
    return { status: 200, body: { jobs, next_cursor: next } };
  });
}
