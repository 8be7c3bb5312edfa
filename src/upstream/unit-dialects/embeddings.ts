// OpenAI's embeddings wire: returns vectors, and counts the tokens read.
import { isRecord } from "../../core/json.ts";
import type { Counts } from "../../core/route.ts";
import { countOf, lastAt } from "../json-pointer.ts";
import { malformed } from "../vendor-failure.ts";
import type { UnitDialect } from "./unit-dialect.ts";

const CACHED_AT = ["/prompt_tokens_details/cached_tokens"];

function countsOf(usage: unknown): Counts | null {
  if (!isRecord(usage)) return null;
  const prompt = countOf(usage.prompt_tokens ?? usage.total_tokens);
  const cachedIn = Math.min(prompt, countOf(lastAt(usage, CACHED_AT)));
  return { textIn: prompt - cachedIn, cachedIn, textOut: countOf(usage.completion_tokens) };
}

/** A vector in the requested encoding; undefined: not a vector. */
function vectorAs(encoding: unknown, vector: unknown): unknown {
  const wantsText = encoding === "base64";
  if (Array.isArray(vector))
    return wantsText ? Buffer.from(new Float32Array(vector).buffer).toString("base64") : vector;
  if (typeof vector !== "string" || wantsText) return typeof vector === "string" ? vector : undefined;
  const { buffer, length } = new Uint8Array(Buffer.from(vector, "base64"));
  return length === 0 || length % Float32Array.BYTES_PER_ELEMENT !== 0 ? undefined : [...new Float32Array(buffer)];
}

export const embeddings: UnitDialect = {
  request({ body: { encoding_format, ...body } }, { upstreamModel }) {
    // Every vendor defaults to floats, and some reject the explicit value.
    const format = encoding_format === "float" ? {} : { encoding_format };
    return { path: "/embeddings", body: { ...body, ...format, model: upstreamModel } };
  },
  answer(json, { body: asked }, { servedSlug }) {
    if (!Array.isArray(json.data) || json.data.length === 0) return malformed("the answer has no embeddings");
    const { usage, ...body } = json;
    const rows = json.data.filter(isRecord);
    const data = rows.map((row) => ({ ...row, embedding: vectorAs(asked.encoding_format, row.embedding) }));
    if (data.some(({ embedding }) => embedding === undefined)) return malformed("an embedding is no vector");
    return { body: { ...body, data, model: servedSlug }, counts: countsOf(usage) };
  },
  told: (json) => countsOf(json.usage),
};
