// Translates generate-content embeddings to OpenAI's format, which all embedding vendors accept.
import { z } from "zod";
import { readFields } from "../../../core/field-issues.ts";
import { isRecord, type Json } from "../../../core/json.ts";
import { parseJson, schemaError } from "../parse-json.ts";

const REQUESTS_MAX = 2_048;

/** Strict, because an unknown field could change the vectors. */
const content = z.strictObject({
  parts: z.array(z.strictObject({ text: z.string() })).min(1),
  role: z.string().nullish(),
});
const one = z.strictObject({
  model: z.string().nullish(),
  content,
  outputDimensionality: z.number().int().min(1).nullish(),
  output_dimensionality: z.number().int().min(1).nullish(),
});
const many = z.strictObject({ requests: z.array(one).min(1).max(REQUESTS_MAX) });

type One = z.infer<typeof one>;

function textOf({ content: { parts } }: One): string {
  return parts.map(({ text }) => text).join("\n");
}

function dimensionsOf(requests: readonly One[]): number | null {
  const [first] = requests;
  return first?.outputDimensionality ?? first?.output_dimensionality ?? null;
}

/** A body in the format of OpenAI's embeddings endpoint. */
export function embeddingsBody(bytes: Buffer, model: string, isBatch: boolean): Json {
  const sent = parseJson(bytes);
  const read = isBatch ? readFields(many, sent) : readFields(one, sent);
  if (!("data" in read)) throw schemaError(read);
  const requests = "requests" in read.data ? read.data.requests : [read.data];
  const dimensions = dimensionsOf(requests);
  const asked = { model, input: requests.map(textOf) };
  return dimensions === null ? asked : { ...asked, dimensions };
}

export function embeddingsAnswer({ data, usage }: Json, isBatch: boolean): Json {
  const rows = Array.isArray(data) ? data.filter(isRecord) : [];
  const embeddings = rows.map(({ embedding }) => ({ values: embedding }));
  const tokens = isRecord(usage) ? { usageMetadata: { promptTokenCount: usage.prompt_tokens, cost: usage.cost } } : {};
  return isBatch ? { embeddings, ...tokens } : { embedding: embeddings[0] ?? { values: [] }, ...tokens };
}
