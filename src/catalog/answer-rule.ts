// Rules by which an adapter interprets a vendor's answers.
import { z } from "zod";
import { FAILURES, type FailureKind } from "../core/failures.ts";
import { count, json, pointer, type Said, words } from "./said.ts";

const scalar = z.union([z.null(), z.boolean(), z.number(), z.string()]);
const status = z.int().min(200).max(599);
const verdict = z.enum(["success", "miss", ...(Object.keys(FAILURES) as FailureKind[])]);
const conditions = {
  /** Default: any status from 200 to 299. */
  status: z.union([status, z.array(status).min(1)]).optional(),
  /** The answer has a header of this name. */
  header: z.string().optional(),
  /** A JSON pointer into the body; `""` is the whole body, or its text where the body is not JSON. Default `""`. */
  at: pointer.optional(),
  /** A pointer within each item of the array at `at`: the other conditions must hold for every item, and the array must not be empty. */
  each: pointer.optional(),
  /** Equals this, or one of these. */
  is: z.union([scalar, z.array(scalar)]).optional(),
  /** Differs from this, or from all of these. */
  not: z.union([scalar, z.array(scalar)]).optional(),
  /** A string, or a number converted to one, that matches this. */
  matches: z.instanceof(RegExp).optional(),
  /** True: absent, null, false, `""`, `[]` or `{}`. False: anything else. */
  empty: z.boolean().optional(),
};
export const whenSchema = z.strictObject(conditions);
export const ruleSchema = z
  .strictObject({
    ...conditions,
    means: verdict,
    /** A message of the vendor that `matches` finds; the sandbox uses it to simulate this answer. */
    sample: words.optional(),
    /** What the caller gets as `data` in place of the vendor's body. */
    data: json.optional(),
    /** A pointer to the vendor's message, for failures that are the caller's fault. Default: the usual places. */
    messageAt: pointer.optional(),
    /** How long to pause calls to the vendor. */
    restMs: count.optional(),
    /** What the operator must do, unless the vendor rejects a key. */
    todo: words.optional(),
  })
  .refine(({ sample, matches }) => sample === undefined || matches?.test(sample) === true, {
    path: ["sample"],
    message: "is nothing that matches finds",
  });

/** Conditions on an answer for a rule or step to apply; all must hold. */
export type When = Said<z.infer<typeof whenSchema>>;

/** `success` is charged. `miss` means nothing was found: `ok` is true, and `price.freeOnMiss` decides whether it is charged. */
export type Verdict = z.infer<typeof verdict>;

/** The first matching rule decides what an answer means; without a match, 2xx is a success and the status classifies the rest. */
export type AnswerRule = Said<z.infer<typeof ruleSchema>>;
