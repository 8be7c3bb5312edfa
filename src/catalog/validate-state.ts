// Checks what an adapter says of the state that its vendor keeps.
import { z } from "zod";

const pointer = z.string().regex(/^(\/[^/]*)*$/, "is no JSON pointer");
const words = z.string().min(1);
const json: z.ZodType = z.json();
const refusal = z.strictObject({ status: z.int().min(200).max(599), body: json.optional() });
const templates = z.record(pointer, json);
const parents = z.record(words, words);
export const stateSchema = z.strictObject({
  uses: z
    .array(
      z.strictObject({
        kind: words,
        param: words,
        within: words.optional(),
        unknown: refusal.optional(),
        ended: refusal.optional(),
        evenEnded: z.boolean().optional(),
        early: templates.optional(),
      }),
    )
    .optional(),
  puts: templates.optional(),
  makes: z
    .array(
      z.strictObject({
        kind: words,
        id: words.optional(),
        within: words.optional(),
        each: z.union([words, z.array(json).min(1)]).optional(),
        in: parents.optional(),
        item: json.optional(),
        idAt: pointer.optional(),
        taken: refusal.optional(),
        endsAfterS: json.optional(),
      }),
    )
    .optional(),
  lists: z
    .array(
      z.strictObject({
        kind: words,
        in: parents.optional(),
        at: pointer,
        oldestFirst: z.boolean().optional(),
        by: words.optional(),
        limit: words.optional(),
        page: z.strictObject({ param: words, at: pointer }).optional(),
        countAt: pointer.optional(),
        asText: z
          .strictObject({ of: pointer.optional(), before: z.string(), between: z.string(), after: z.string() })
          .optional(),
      }),
    )
    .optional(),
  sets: z.record(words, templates).optional(),
  ends: z.array(words).min(1).optional(),
  at: z.int().min(0).optional(),
  paths: z.array(z.string().startsWith("/")).min(1).optional(),
});
