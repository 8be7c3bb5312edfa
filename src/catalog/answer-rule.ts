// What a vendor's answers mean, as an adapter says it by rules.
import { z } from "zod";
import { FAILURES, type FailureKind } from "../core/failures.ts";
import { count, json, pointer, type Said, words } from "./said.ts";

const scalar = z.union([z.null(), z.boolean(), z.number(), z.string()]);
const status = z.int().min(200).max(599);
const verdict = z.enum(["success", "miss", ...(Object.keys(FAILURES) as FailureKind[])]);
const conditions = {
  /** Default: any status from 200 to 299. */
  status: z.union([status, z.array(status).min(1)]).optional(),
  /** A header of this name has come. */
  header: z.string().optional(),
  /** A JSON pointer into the body; `""` is the whole body, of a body that is no JSON its text. Default `""`. */
  at: pointer.optional(),
  /** A pointer inside each item of the array at `at`: the rest must hold for every item, and there must be one. */
  each: pointer.optional(),
  /** Equal to this, or to one of these. */
  is: z.union([scalar, z.array(scalar)]).optional(),
  /** Different from this, or from each of these. */
  not: z.union([scalar, z.array(scalar)]).optional(),
  /** A text, or a number as text, that this finds. */
  matches: z.instanceof(RegExp).optional(),
  /** True: absent, null, false, `""`, `[]` or `{}`. False: anything else. */
  empty: z.boolean().optional(),
};
export const whenSchema = z.strictObject(conditions);
export const ruleSchema = z
  .strictObject({
    ...conditions,
    means: verdict,
    /** Words of the vendor's that `matches` finds: what the sandbox says when it plays this answer. */
    sample: words.optional(),
    /** What the caller gets as `data` instead of the vendor's body. */
    data: json.optional(),
    /** Where the vendor's own words are, for a failure that is the caller's fault. Default: the usual places. */
    messageAt: pointer.optional(),
    /** The vendor is left alone for so long. */
    restMs: count.optional(),
    /** What the operator has to do, where it is nothing about a key that the vendor refuses. */
    todo: words.optional(),
  })
  .refine(({ sample, matches }) => sample === undefined || matches?.test(sample) === true, {
    path: ["sample"],
    message: "is nothing that matches finds",
  });

/** What an answer must be like for a rule or a step to apply. All that is given must hold. */
export type When = Said<z.infer<typeof whenSchema>>;

/** `success` is charged. `miss` found nothing: `ok` is true, and `price.freeOnMiss` says whether it is charged. */
export type Verdict = z.infer<typeof verdict>;

/** What an answer means. The first rule that holds decides; without one 2xx is a success and the status says the rest. */
export type AnswerRule = Said<z.infer<typeof ruleSchema>>;
