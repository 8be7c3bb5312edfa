// OpenAI's moderation in the sandbox: flags texts that name a category.
import { z } from "zod";
import { inputAsk, unitDialect, unitReading } from "./unit-reading.ts";

const CATEGORIES = ["harassment", "hate", "illicit", "self-harm", "sexual", "violence"];

const part = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text: z.string() }),
  z.strictObject({
    type: z.literal("image_url"),
    image_url: z.strictObject({ url: z.string().regex(/^(https?:|data:image\/)/) }),
  }),
]);
const body = z.strictObject({
  model: z
    .string()
    .regex(/^(omni|text)-moderation-/)
    .optional(),
  input: z.union([z.string(), z.array(z.string()).min(1), z.array(part).min(1)]),
});

function resultOf(text: string) {
  const found = CATEGORIES.map((name) => [name, text.toLowerCase().includes(name)] as const);
  return {
    flagged: found.some(([, isIn]) => isIn),
    categories: Object.fromEntries(found),
    category_scores: Object.fromEntries(found.map(([name, isIn]) => [name, isIn ? 0.98 : 0.00001])),
    category_applied_input_types: Object.fromEntries(found.map(([name, isIn]) => [name, isIn ? ["text"] : []])),
  };
}

export const moderation = unitDialect(/\/moderations$/, body, (asked) => {
  const { model = "omni-moderation-latest", input } = asked;
  const given = typeof input === "string" ? [input] : input;
  const texts = given.map((one) => (typeof one === "string" ? one : one.type === "text" ? one.text : ""));
  // A list of parts is one input; a list of texts is several.
  const inputs = given.every((one) => typeof one === "string") ? texts : [texts.join(" ")];
  return unitReading(inputAsk(model, inputs), ({ id }) => ({ id: `modr-${id}`, model, results: inputs.map(resultOf) }));
});
