// Voyage: embeddings and rerankers, priced per token. Embedding prices are those listed on 2026-11-26.
import { bearer, defineAdapter } from "#adapter";

const since = "2026-08-21";
const rerank = { kind: "rerank", dialect: "data-rerank", renamed: { top_n: "top_k" } } as const;
const embeds = (input: string) => ({
  contextTokens: 32_000,
  takes: { renamed: { dimensions: "output_dimension" } },
  dropFields: ["user"],
  prices: [{ since: "2026-09-23", input, output: "0" }],
});

export default defineAdapter({
  name: "Voyage",
  docs: "https://docs.voyageai.com/reference/reranker-api",
  origin: "https://api.voyageai.com/v1",
  auth: bearer,
  maker: "voyage",
  pricedAs: "voyageai",
  embeddings: {
    models: { "voyage-4-large": embeds("0.12"), "voyage-4": embeds("0.06"), "voyage-4-lite": embeds("0.02") },
  },
  unitModels: {
    "rerank-2.5": { ...rerank, prices: [{ since, textIn: "0.05" }] },
    "rerank-2.5-lite": { ...rerank, prices: [{ since, textIn: "0.02" }] },
  },
});
