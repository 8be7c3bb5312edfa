// Vendors that read pages in jobs: the actions that launch them, and the ones that say how far they are.
import { z } from "zod";
import { action } from "./action.ts";
import type { Json } from "./said.ts";

const failed = ["failed", "cancelled"];

/** The part of a launching action that all share. */
export function launch(kind: string) {
  const poll = { action: `${kind}-status`, param: "id", at: "/status", done: ["completed"], failed };
  return { category: "scraping", effect: "write", issues: [{ kind, at: "/id", poll }] } as const;
}

/** Says how far the jobs of an action `<service>/<kind>` are; `params` come beside the job's id. */
export function status(
  launching: `${string}/${string}`,
  path: string,
  example: { readonly params: { readonly id: string }; readonly answer: Json },
  params: z.ZodRawShape = {},
) {
  const kind = launching.slice(launching.indexOf("/") + 1);
  return action({
    category: "scraping",
    effect: "read",
    price: { mode: "fixed", cents: 1, freeOnMiss: true },
    description: `Says how far a job of ${launching} is, and what it has found. A failed job is free.`,
    asked: `is the ${kind} done; what the ${kind} has found so far; progress of the ${kind}`,
    keywords: `progress of a ${kind} job; pages of a ${kind} job; is it finished`,
    params: z.strictObject({ id: z.string().min(1).describe("The id of the job"), ...params }),
    upstreamCents: 0,
    request: { method: "GET", path },
    content: ["/status"],
    rules: [{ at: "/status", is: failed, means: "miss" }],
    requires: [{ kind, param: "id" }],
    example,
  });
}
