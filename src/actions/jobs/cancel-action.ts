// The free action core/cancel: ends a job with the results so far, and charges for those.
import { z } from "zod";
import { type LocalAction, localAction } from "../../catalog/local-action.ts";
import { GatewayError } from "../../core/errors.ts";
import { jobView } from "./job-view.ts";
import type { Jobs } from "./jobs.ts";

export function cancelAction(jobs: () => Pick<Jobs, "cancel">): LocalAction {
  return localAction({
    service: "core",
    action: "cancel",
    asked: "stop a job; cancel a running job; abort the crawl; end it early; I changed my mind; stop what you started",
    description:
      "Ends one of your jobs early: it keeps what it has read or found, is charged for that alone, and the rest of its budget is free again. Free.",
    category: "core",
    keywords: "stop a job; abort; cancel a job; abort a crawl; cancel what I started",
    effect: "write",
    params: z.strictObject({ job_id: z.string().min(1).max(200).describe("The job_id that the launch answered") }),
    price: { mode: "fixed", cents: 0 },
    async run({ job_id: id }, { payer }) {
      const job = await jobs().cancel(id, payer);
      // core/result returns the result, if there is one by now.
      if (job !== null) {
        const { result: _, ...view } = jobView(job, true);
        return view;
      }
      const detail = `job_id: this account has no job ${id.slice(0, 80)}. What a vendor runs on its own cannot be cancelled.`;
      return new GatewayError("not_found", { of: "issued_id", param: "job_id", detail });
    },
    example: { params: { job_id: "job_4dHNJZmUtq8Lw2cYxQe7R" } },
  });
}
