// GET /api/v1/jobs: lists an account's jobs of the last days; core/result returns one job's result.

import type { EndpointSpec } from "../../core/endpoint.ts";
import { pageSchema } from "../../money/accounts/list-pages.ts";
import { endpoint } from "../../money/accounts/own-endpoint.ts";
import { readQuery } from "../../money/accounts/read-body.ts";
import type { Records } from "../../platform/records/records.ts";
import { JOB, type JobRecord } from "./job-record.ts";
import { jobView } from "./job-view.ts";

/** Low, because a listed job is read with its result, however long that is. */
const ROWS_MAX = 25;

/** A row of the list; without the result, which may be long. */
export function ownJobRow(job: JobRecord) {
  const { result: _, ...view } = jobView(job);
  return { ...view, job: job.action ?? job.kind, created_at: new Date(job.createdAtMs).toISOString() };
}

/** Newest first. Finished jobs are kept for seven days. */
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
