// Cohere: rerankers, by the search. Of rerank-v4.0 the list price is that of its resellers, because the vendor's page names none.
import { bearer, defineAdapter } from "#adapter";

const since = "2026-08-21";
const rerank = { kind: "rerank", dialect: "cohere-rerank" } as const;

export default defineAdapter({
  name: "Cohere",
  docs: "https://docs.cohere.com/reference/rerank",
  origin: "https://api.cohere.com",
  auth: bearer,
  maker: "cohere",
  keyEnv: ["COHERE_API_KEY", "CO_API_KEY"],
  unitModels: {
    "rerank-v3.5": { ...rerank, prices: [{ since, searches: "2" }] },
    "rerank-v4.0-fast": { ...rerank, prices: [{ since, searches: "2" }] },
    "rerank-v4.0-pro": { ...rerank, prices: [{ since, searches: "2.5" }] },
  },
});
