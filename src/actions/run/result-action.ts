// The free action core/result: the status of work that outlives its launch, ours and the vendors'.
import { z } from "zod";
import { type LocalAction, localAction, type ToldEvents } from "../../catalog/local-action.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Payer } from "../../core/plan.ts";
import { type VendorJobsDeps, vendorJob } from "./vendor-jobs.ts";

export interface ResultDeps extends VendorJobsDeps {
  /** One of our jobs as callers see it, in parts where it may be long; null where this payer has no job with that id. */
  ownJob(id: string, payer: Payer): Promise<object | null>;
  /** The job's events until it is over or the caller leaves. */
  ownEvents(id: string, payer: Payer, signal: AbortSignal): Promise<ToldEvents | GatewayError | null>;
}

export const jobIdParam = z
  .string()
  .min(1)
  .max(200)
  .describe("The job_id that a launch answered; of a vendor's own launch its run_id, id or request_id");

/** The error for a missing job; another payer's job looks the same. */
export function noSuchJob(id: string): GatewayError {
  const detail = `job_id: this account has no job ${id.slice(0, 80)}, or its result is gone: it is kept for 7 days.`;
  return new GatewayError("not_found", { of: "issued_id", param: "job_id", detail });
}

export function resultAction(deps: ResultDeps): LocalAction {
  return localAction({
    service: "core",
    action: "result",
    asked: "is my job done; result of a job; how far is it; has it finished; get what was found; progress",
    description:
      "Tells how a job stands and, once it is over, its result: a deep action's of core, or a vendor's crawl, extraction, research or lookup. Free; ask every 3 to 5 seconds, or once with `Accept: text/event-stream` for the progress of a deep action as events.",
    category: "core",
    keywords:
      "poll; job status; is the job done; result of a crawl; async; progress of a job; wait for a job; when a job is done; job I launched",
    effect: "read",
    params: z.strictObject({ job_id: jobIdParam }),
    price: { mode: "fixed", cents: 0 },
    async run({ job_id: id }, { payer, call }) {
      return (await deps.ownJob(id, payer)) ?? (await vendorJob(id, { payer, call }, deps)) ?? noSuchJob(id);
    },
    async events({ job_id: id }, { payer, call, signal }) {
      const own = await deps.ownEvents(id, payer, signal);
      if (own !== null) return own;
      const known = (await vendorJob(id, { payer, call }, deps)) ?? noSuchJob(id);
      if (known instanceof GatewayError) return known;
      const detail =
        "job_id: names work that a vendor runs, of which it tells no events: ask without Accept: text/event-stream.";
      return new GatewayError("bad_request", { detail, param: "job_id" });
    },
    example: { params: { job_id: "job_4dHNJZmUtq8Lw2cYxQe7R" } },
  });
}
