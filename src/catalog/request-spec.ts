// Requests to a vendor as data: an action's first request and the steps after it.
import { z } from "zod";
import { ruleSchema, whenSchema } from "./answer-rule.ts";
import { count, fn, headers, jsonObject, type Params, pointer, type Said } from "./said.ts";

/** At most this many requests per this many milliseconds. */
export const rate = z.strictObject({ requests: count, perMs: count });

export const request = z
  .strictObject({
    method: z.enum(["GET", "POST", "PUT", "DELETE"]),
    /** One of the adapter's `origins`. Default: its `origin`. */
    origin: z.string().optional(),
    /** Below the origin. `{name}` is a param, encoded; `{name...}` keeps slashes; `{/pointer}` is from the answer so far, or `values`. */
    path: z.string().regex(/^\/|^$/, "must begin with a slash"),
    /** In a step or script, in place of `path`: a pointer to a URL from the vendor, of which path and query are used, at our origin. */
    pathAt: pointer.optional(),
    /** Where params are sent. Default: `query` for GET and DELETE, else `json`; in steps `none`. `connect`: one frame of that protocol. */
    send: z.enum(["query", "json", "form", "connect", "none"]).optional(),
    /** Maps our param names to the vendor's; in JSON, `a/b` is `b` inside `a`. Null: not sent. */
    names: z.record(z.string(), z.string().nullable()).optional(),
    /** Sent with every call, under the vendor's names; a param of the same name overrides it. */
    fixed: jsonObject.optional(),
    headers: headers.optional(),
    /** For what no field can express: converts the params for the vendor before `path` and `names` apply. */
    params: fn<(params: Params) => Params>().optional(),
    /** How many redirects within the vendor's hosts (`origin`, `origins`) are followed, each at our own origin. Default 0. */
    redirectsMax: count.optional(),
  })
  .refine((one) => one.send === undefined || one.method !== "GET" || ["query", "none"].includes(one.send), {
    path: ["send"],
    message: "a GET has no body",
  });

/** A follow-up request, such as a poll or fetching the result. The same rules apply to its answer. */
export const step = z
  .strictObject({
    request,
    /** Skipped unless the answer so far matches. */
    when: whenSchema.optional(),
    /** Repeated every `everyMs` until its answer matches, within the action's `timeoutMs`. */
    until: whenSchema.optional(),
    everyMs: count.optional(),
    /** Rules for this step only, applied first. */
    rules: z.array(ruleSchema).optional(),
    /** True: the fields of this answer are merged into the answer so far. Default: it replaces the answer so far. */
    merge: z.boolean().optional(),
  })
  .refine((one) => (one.until === undefined) === (one.everyMs === undefined), {
    path: ["everyMs"],
    message: "goes with until",
  });

/** One request of an action. Params that the path does not use are sent under their own names. */
export interface RequestSpec<P = Params> extends Omit<Said<z.infer<typeof request>>, "params"> {
  params?(params: P): Params;
}
export interface StepSpec<P = Params> extends Omit<Said<z.infer<typeof step>>, "request"> {
  readonly request: RequestSpec<P>;
}
