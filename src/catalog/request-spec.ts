// What is sent to a vendor, as data: one request of an action, and the steps after it.
import { z } from "zod";
import { ruleSchema, whenSchema } from "./answer-rule.ts";
import { count, fn, headers, jsonObject, type Params, pointer, type Said } from "./said.ts";

/** So many requests in so many milliseconds. */
export const rate = z.strictObject({ requests: count, perMs: count });

export const request = z
  .strictObject({
    method: z.enum(["GET", "POST", "PUT", "DELETE"]),
    /** One of the adapter's `origins`. Default: its `origin`. */
    origin: z.string().optional(),
    /**
     * Below the origin. `{name}` stands for a param, percent-encoded; `{name...}` keeps its slashes; `{/pointer}` is a value
     * of the answer so far, in a script of its `values`. A query may follow `?`.
     */
    path: z.string().regex(/^\/|^$/, "must begin with a slash"),
    /** In a step or a script: the pointer, as in `path`, to the vendor's own address for it. Only its path and query are used, at our origin; replaces `path`. */
    pathAt: pointer.optional(),
    /** Where params go. Default: `query` for GET and DELETE, else `json`; in steps `none`. `connect`: JSON in one frame of the Connect protocol. */
    send: z.enum(["query", "json", "form", "connect", "none"]).optional(),
    /** Our name of a param -> the vendor's; in JSON `a/b` is `b` inside `a`. Null: it is not sent. */
    names: z.record(z.string(), z.string().nullable()).optional(),
    /** Sent with every call, by the vendor's names; a param of the same name wins. */
    fixed: jsonObject.optional(),
    headers: headers.optional(),
    /** What no field can say: the params as the vendor wants them, before `path` and `names` see them. */
    params: fn<(params: Params) => Params>().optional(),
    /** How many redirects within the vendor's own hosts (`origin`, `origins`) are followed, each at our own origin. Default 0. */
    redirectsMax: count.optional(),
  })
  .refine((one) => one.send === undefined || one.method !== "GET" || ["query", "none"].includes(one.send), {
    path: ["send"],
    message: "a GET has no body",
  });

/** A request after the first: a poll, a fetch of the result. Its answer is held against the same rules. */
export const step = z
  .strictObject({
    request,
    /** Left out unless the answer so far is like this. */
    when: whenSchema.optional(),
    /** Sent again, every `everyMs`, until its answer is like this; the action's `timeoutMs` bounds it. */
    until: whenSchema.optional(),
    everyMs: count.optional(),
    /** Rules of this step alone, tried first. */
    rules: z.array(ruleSchema).optional(),
    /** True: the fields of this answer are laid over those so far. Default: it replaces the answer so far. */
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
/** A step of an action whose params are of a type. */
export interface StepSpec<P = Params> extends Omit<Said<z.infer<typeof step>>, "request"> {
  readonly request: RequestSpec<P>;
}
