// The embeddings dialect: vectors that depend only on the text.
import { z } from "zod";
import type { Ask } from "../ask.ts";
import { refuse } from "../dialect.ts";
import { type Random, randomFrom, seedOf } from "../vocabulary.ts";
import { inputAsk, unitDialect, unitReading } from "./unit-reading.ts";

const DIMENSIONS = 1_536;
/** Of all vectors of an answer, because a whole answer is one text. */
const NUMBERS_MAX = 3_200_000;

const tokens = z.array(z.number().int().min(0)).min(1);
const body = z.looseObject({
  model: z.string().min(1),
  input: z.union([z.string().min(1), z.array(z.string().min(1)).min(1).max(2_048), tokens, z.array(tokens).min(1)]),
  encoding_format: z.enum(["float", "base64"]).nullish(),
  dimensions: z.number().int().min(1).max(4_096).nullish(),
});

type Input = string | number[];

function inputsOf(input: z.infer<typeof body>["input"]): Input[] {
  if (typeof input === "string") return [input];
  return input.every((one) => typeof one === "number") ? [input] : (input as Input[]);
}

/** A unit vector. */
function vectorOf(random: Random, dimensions: number): Float32Array {
  const raw = Float32Array.from({ length: dimensions }, () => random() - 0.5);
  const length = Math.hypot(...raw) || 1;
  return raw.map((value) => value / length);
}

function askOf(model: string, inputs: readonly Input[]): Ask {
  const texts = inputs.filter((input) => typeof input === "string");
  const extraTokens = inputs.reduce((sum, input) => sum + (typeof input === "string" ? 0 : input.length), 0);
  return { ...inputAsk(model, texts), extraTokens };
}

export const embeddings = unitDialect(/\/embeddings$/, body, (asked) => {
  const { model, encoding_format } = asked;
  const dimensions = asked.dimensions ?? DIMENSIONS;
  const inputs = inputsOf(asked.input);
  if (inputs.length * dimensions > NUMBERS_MAX)
    return refuse("dimensions", `${inputs.length} inputs of ${dimensions} dimensions exceed ${NUMBERS_MAX} numbers.`);
  const embedding = (input: Input) => {
    const vector = vectorOf(randomFrom(seedOf(JSON.stringify(input))), dimensions);
    return encoding_format === "base64"
      ? Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString("base64")
      : Array.from(vector);
  };
  return unitReading(askOf(model, inputs), ({ usage: { promptTokens } }, conduct) => ({
    object: "list",
    data: inputs.map((input, index) => ({ object: "embedding", index, embedding: embedding(input) })),
    model,
    ...(conduct.usage !== "never" && { usage: { prompt_tokens: promptTokens, total_tokens: promptTokens } }),
  }));
});
