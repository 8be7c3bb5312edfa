// Moderations in OpenAI's format: free, with a rate limit per minute.
import { z } from "zod";
import { fields, text as readText, setting, tableOf } from "../../formats/field-table.ts";
import type { UnitEndpoint } from "../unit-endpoint.ts";

const ITEMS_MAX = 32;
const TEXT_CHARS_MAX = 100_000;

const text = z.string().max(TEXT_CHARS_MAX);
const part = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text }),
  z.object({ type: z.literal("image_url"), image_url: z.object({ url: z.string() }) }),
]);
const body = z.object({
  model: z.string().min(1).max(200).nullish(),
  input: z.union(
    [text, z.array(text).min(1).max(ITEMS_MAX), z.array(part).min(1).max(ITEMS_MAX)],
    `must be text, or a list of at most ${ITEMS_MAX} texts or parts`,
  ),
});
type Body = z.infer<typeof body>;

export const moderations: UnitEndpoint<Body> = {
  operation: "moderations",
  kind: "moderation",
  task: "moderate",
  defaultModel: "omni-moderation-latest",
  schema: body,
  fields: tableOf(body, {
    input: {
      read: true,
      items: {
        ...fields({ type: setting, text: readText, image_url: fields({ url: { media: "image" } }) }),
        read: true,
      },
    },
  }),
  fit: ({ body: { input } }) => ({ countsMax: {}, body: { input }, stream: false }),
  answerForm: () => ({ kind: "json" }),
  answerMsMax: 30_000,
  whenCallerLeaves: "abort",
  freePerMinute: 60,
  tellsCost: false,
};
