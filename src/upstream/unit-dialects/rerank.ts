// Reranking: Cohere's format, billed by searches, and the format of vendors that bill by tokens.
import { isRecord, type Json } from "../../core/json.ts";
import type { Counts } from "../../core/route.ts";
import { atPointer, countOf } from "../json-pointer.ts";
import { malformed } from "../vendor-failure.ts";
import type { UnitAnswer, UnitAsked, UnitContext, UnitDialect } from "./unit-dialect.ts";

/** A document's text, for vendors that accept nothing else. */
export function documentText(document: unknown): string {
  if (typeof document === "string") return document;
  return isRecord(document) && typeof document.text === "string" ? document.text : JSON.stringify(document);
}

function resultOf(result: unknown, documents: readonly unknown[]): Json | null {
  if (!isRecord(result)) return null;
  const { index, relevance_score } = result;
  if (typeof index !== "number" || typeof relevance_score !== "number" || documents[index] === undefined) return null;
  return { index, relevance_score };
}

/** The answer in Cohere's form, which clients of all these vendors read; the documents are the caller's own. */
function told(
  found: unknown,
  asked: UnitAsked,
  context: UnitContext,
  usage: { counts: Counts; meta: Json },
): UnitAnswer {
  const documents = Array.isArray(asked.body.documents) ? asked.body.documents : [];
  const read = Array.isArray(found) ? found.map((one) => resultOf(one, documents)) : [];
  const results = read.filter((one) => one !== null);
  if (results.length === 0 || results.length !== read.length) return malformed("the answer ranks nothing");
  const withTexts = results.map((one) => {
    return asked.body.return_documents === true
      ? { ...one, document: { text: documentText(documents[Number(one.index)]) } }
      : one;
  });
  const body = { id: context.completionId, model: context.servedSlug, results: withTexts, meta: usage.meta };
  return { body, counts: usage.counts };
}

function searchesIn(json: Json): number {
  return countOf(atPointer(json, "/meta/billed_units/search_units"));
}

function tokensIn(json: Json): number {
  return countOf(atPointer(json, "/usage/total_tokens"));
}

/** Cohere's: billed by searches. */
export const cohereRerank: UnitDialect = {
  request({ body }, { upstreamModel, spec }) {
    const { query, documents, top_n, max_tokens_per_doc } = body;
    const texts = Array.isArray(documents) ? documents.map(documentText) : [];
    return {
      path: spec.path ?? "/v2/rerank",
      body: { model: upstreamModel, query, documents: texts, top_n, max_tokens_per_doc },
    };
  },
  answer(json, asked, context) {
    // A successful answer used at least one search.
    const counts = { searches: Math.max(1, searchesIn(json)) };
    return told(json.results, asked, context, { counts, meta: { billed_units: { search_units: counts.searches } } });
  },
  told: (json) => ({ searches: searchesIn(json) }),
};

/** Jina's and Voyage's: billed by tokens. */
export const dataRerank: UnitDialect = {
  request({ body }, { upstreamModel, spec }) {
    const { query, documents, top_n } = body;
    const texts = Array.isArray(documents) ? documents.map(documentText) : [];
    return {
      path: spec.path ?? "/rerank",
      body: { model: upstreamModel, query, documents: texts, top_n, return_documents: false },
    };
  },
  answer(json, asked, context) {
    const tokens = tokensIn(json);
    if (tokens === 0) return malformed("the answer does not say what it used");
    const usage = { counts: { textIn: tokens }, meta: { tokens: { input_tokens: tokens } } };
    return told(json.results ?? json.data, asked, context, usage);
  },
  told: (json) => ({ textIn: tokensIn(json) }),
};
