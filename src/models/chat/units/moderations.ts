// Moderations in OpenAI's wire: they cost nothing, and are counted by the minute instead.
import { z } from "zod";
import { compilePlace } from "../../formats/allow-list.ts";
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
  fields: compilePlace({
    fields: {
      model: {},
      input: {
        read: true,
        items: {
          read: true,
          fields: { type: {}, text: { read: true }, image_url: { fields: { url: { media: "image" } } } },
        },
      },
      max_cost_cents: { ours: true },
    },
  }),
  fit: ({ body: { input } }) => ({ countsMax: {}, body: { input }, stream: false }),
  answerForm: () => ({ kind: "json" }),
  answerMsMax: 30_000,
  whenCallerLeaves: "abort",
  freePerMinute: 60,
  tellsCost: false,
};
