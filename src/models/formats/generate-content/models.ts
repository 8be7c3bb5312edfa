// The paginated list of models in the generate-content format.
import type { GatewayError } from "../../../core/errors.ts";
import type { Json } from "../../../core/json.ts";
import { invalid } from "../parse-json.ts";
import type { ModelRow } from "../wire.ts";

const PAGE_MAX = 1_000;
const PAGE_DEFAULT = 50;

const METHODS: Readonly<Record<string, readonly string[]>> = {
  chat: ["generateContent", "streamGenerateContent", "countTokens"],
  tier: ["generateContent", "streamGenerateContent", "countTokens"],
  embedding: ["embedContent", "batchEmbedContents"],
};

export function modelJson({ id, kind, context_length, max_output_tokens }: ModelRow): Json {
  return {
    name: `models/${id}`,
    displayName: id,
    inputTokenLimit: context_length ?? null,
    outputTokenLimit: max_output_tokens ?? null,
    supportedGenerationMethods: METHODS[kind] ?? [],
  };
}

/** One page of the models that this format can call. A page token is the number of models before the page. */
export function modelPageJson(all: readonly ModelRow[], query: URLSearchParams): Json | GatewayError {
  const rows = all.filter(({ kind }) => METHODS[kind] !== undefined);
  const [size, token] = [query.get("pageSize") ?? String(PAGE_DEFAULT), query.get("pageToken") ?? "0"];
  for (const [param, value] of [
    ["pageSize", size],
    ["pageToken", token],
  ] as const) {
    if (/^\d{1,6}$/.test(value)) continue;
    return invalid(param, "must be a whole number");
  }
  const from = Number(token);
  const until = from + Math.min(Math.max(1, Number(size)), PAGE_MAX);
  const models = rows.slice(from, until).map(modelJson);
  return until < rows.length ? { models, nextPageToken: String(until) } : { models };
}
