// Rerankers in the sandbox: a document scores by how many of the query's words it contains.
import { z } from "zod";
import { inputAsk, unitDialect, unitReading } from "./unit-reading.ts";

const common = {
  model: z.string().min(1),
  query: z.string().min(1),
  documents: z.array(z.string()).min(1).max(10_000),
};
/** Cohere's version 2; refuses fields of version 1. */
const cohere = z.strictObject({
  ...common,
  top_n: z.int().min(1).optional(),
  max_tokens_per_doc: z.int().min(1).optional(),
  priority: z.int().optional(),
});
/** Jina's and Voyage's, which name the result limit differently. */
const others = z.strictObject({
  ...common,
  top_n: z.int().min(1).optional(),
  top_k: z.int().min(1).optional(),
  return_documents: z.boolean().optional(),
  truncation: z.boolean().optional(),
});

const DOCUMENTS_PER_SEARCH = 100;
const CHUNK_TOKENS = 500;

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

function ranked(query: string, documents: readonly string[], top: number | undefined) {
  const wanted = new Set(wordsOf(query));
  const scored = documents.map((text, index) => {
    const words = wordsOf(text);
    const found = words.filter((word) => wanted.has(word)).length;
    return { index, relevance_score: Number((found / Math.max(1, words.length)).toFixed(6)) };
  });
  return scored.sort((a, b) => b.relevance_score - a.relevance_score || a.index - b.index).slice(0, top);
}

/** A long document, together with the query, counts as several: one per chunk. */
function chunksOf(query: string, documents: readonly string[]): number {
  const room = Math.max(1, CHUNK_TOKENS - wordsOf(query).length);
  return documents.reduce((sum, text) => sum + Math.max(1, Math.ceil(wordsOf(text).length / room)), 0);
}

export const cohereRerank = unitDialect(/\/v2\/rerank$/, cohere, (asked) => {
  const { model, query, documents, top_n } = asked;
  return unitReading(inputAsk(model, [query, ...documents]), ({ id }) => ({
    id,
    results: ranked(query, documents, top_n),
    meta: {
      api_version: { version: "2" },
      billed_units: { search_units: Math.ceil(chunksOf(query, documents) / DOCUMENTS_PER_SEARCH) },
    },
  }));
});

export const dataRerank = unitDialect(/\/rerank$/, others, (asked, { url }) => {
  const { model, query, documents, top_n, top_k } = asked;
  const isVoyage = url.pathname.includes("/voyage/");
  const wrong = isVoyage ? (top_n === undefined ? null : "top_n") : top_k === undefined ? null : "top_k";
  if (wrong !== null)
    return { kind: "invalid", param: wrong, message: `Argument '${wrong}' is not supported by our API` };
  return unitReading(inputAsk(model, [query, ...documents]), ({ usage }) => {
    const total_tokens = usage.promptTokens + wordsOf(query).length * (documents.length - 1);
    const results = ranked(query, documents, top_n ?? top_k);
    return { object: "list", model, usage: { total_tokens }, ...(isVoyage ? { data: results } : { results }) };
  });
});
