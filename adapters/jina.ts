// Jina: rerankers, priced per token. The price is that of its smallest token package; larger ones cost less.
import { bearer, defineAdapter } from "#adapter";

const since = "2026-08-21";
const rerank = { kind: "rerank", dialect: "data-rerank", prices: [{ since, textIn: "0.05" }] } as const;

export default defineAdapter({
  name: "Jina",
  docs: "https://api.jina.ai/redoc",
  beliefs: { "*": "what its tokens cost us" },
  origin: "https://api.jina.ai/v1",
  auth: bearer,
  maker: "jinaai",
  unitModels: { "jina-reranker-v3": rerank, "jina-reranker-m0": rerank, "jina-reranker-v2-base-multilingual": rerank },
});
