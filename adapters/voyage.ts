// Voyage: rerankers, by the token.
import { bearer, defineAdapter } from "#adapter";

const since = "2026-08-21";
const rerank = { kind: "rerank", dialect: "data-rerank", renamed: { top_n: "top_k" } } as const;

export default defineAdapter({
  name: "Voyage",
  docs: "https://docs.voyageai.com/reference/reranker-api",
  origin: "https://api.voyageai.com/v1",
  auth: bearer,
  maker: "voyage",
  unitModels: {
    "rerank-2.5": { ...rerank, prices: [{ since, textIn: "0.05" }] },
    "rerank-2.5-lite": { ...rerank, prices: [{ since, textIn: "0.02" }] },
  },
});
