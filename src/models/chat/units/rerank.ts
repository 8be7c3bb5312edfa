// Reranking in Cohere's format: takes documents, returns scores.
import { z } from "zod";
import { fields, tableOf, text } from "../../formats/field-table.ts";
import { invalid } from "../../formats/parse-json.ts";
import type { UnitEndpoint } from "../unit-endpoint.ts";

const DOCUMENTS_MAX = 1_000;
/** A document that exceeds this with the query counts as several chunks; a long query still leaves each the minimum below. */
const CHUNK_TOKENS = 500;
const CHUNK_TOKENS_MIN = 100;
const DOCUMENTS_PER_SEARCH = 100;
const TOKENS_PER_DOCUMENT = 4_096;
/** The overhead that a vendor adds around query and document. */
const TOKENS_AROUND = 16;

const document = z.union([z.string(), z.looseObject({ text: z.string() })], "must be text or {text}");
const body = z.object({
  model: z.string().min(1).max(200).nullish(),
  query: z.string().min(1),
  documents: z.array(document).min(1).max(DOCUMENTS_MAX),
  top_n: z.int().min(1).nullish(),
  return_documents: z.boolean().nullish(),
  max_tokens_per_doc: z.int().min(1).max(TOKENS_PER_DOCUMENT).nullish(),
});
type Body = z.infer<typeof body>;

const bytesOf = (text: string) => Buffer.byteLength(text);

/** A text never has more tokens than bytes. */
function searchesMax({ query, documents, max_tokens_per_doc }: Body): number {
  const room = Math.max(CHUNK_TOKENS_MIN, CHUNK_TOKENS - bytesOf(query));
  const longest = max_tokens_per_doc ?? TOKENS_PER_DOCUMENT;
  const chunks = documents.map((one) => {
    return Math.max(1, Math.ceil(Math.min(bytesOf(typeof one === "string" ? one : one.text), longest) / room));
  });
  return Math.ceil(chunks.reduce((sum, count) => sum + count, 0) / DOCUMENTS_PER_SEARCH);
}

function tokensMax({ query, documents }: Body): number {
  const each = documents.map((one) => bytesOf(typeof one === "string" ? one : one.text));
  return each.reduce((sum, bytes) => sum + bytes + bytesOf(query) + TOKENS_AROUND, 0);
}

export const rerank: UnitEndpoint<Body> = {
  operation: "rerank",
  kind: "rerank",
  task: "rerank",
  schema: body,
  fields: tableOf(body, { query: text, documents: { ...text, items: { ...text, ...fields({ text }) } } }),
  fit({ body: asked }, { cost }) {
    const countsMax = cost.rates.has("searches") ? { searches: searchesMax(asked) } : { textIn: tokensMax(asked) };
    const top_n = Math.min(asked.top_n ?? asked.documents.length, asked.documents.length);
    if (asked.max_tokens_per_doc != null && !cost.rates.has("searches"))
      return invalid("max_tokens_per_doc", "this model does not take it");
    const { model: _, ...fields } = asked;
    return {
      countsMax,
      body: { ...fields, top_n, max_tokens_per_doc: asked.max_tokens_per_doc ?? undefined },
      stream: false,
    };
  },
  answerForm: () => ({ kind: "json" }),
  answerMsMax: 30_000,
  whenCallerLeaves: "finish",
};
