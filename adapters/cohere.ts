// Cohere: chat models at its OpenAI-compatible address (its own API also has citations), and rerankers, priced per search. The list price
// of rerank-v4.0 is its resellers', because the vendor's page has none.
import { bearer, defineAdapter, modelRows } from "#adapter";

const since = "2026-08-21";
const { sold } = modelRows("2026-09-23");
const chat = "/compatibility/v1/chat/completions";
/** Its tools do not accept `strict`, which says that arguments must match the schema exactly. */
function fit({ tools }: Readonly<Record<string, unknown>>) {
  return Array.isArray(tools) ? { tools: tools.map(loose) } : {};
}
function loose(tool: { readonly function?: unknown } | null): unknown {
  const told = tool?.function;
  if (typeof told !== "object" || told === null) return tool;
  return { ...tool, function: Object.fromEntries(Object.entries(told).filter(([field]) => field !== "strict")) };
}
const rerank = { kind: "rerank", dialect: "cohere-rerank" } as const;

export default defineAdapter({
  name: "Cohere",
  docs: "https://docs.cohere.com/reference/rerank",
  beliefs: { "*": "which of its models think, at which words of effort, and how long their answers may be" },
  origin: "https://api.cohere.com",
  auth: bearer,
  maker: "cohere",
  keyEnv: ["COHERE_API_KEY", "CO_API_KEY"],
  otelName: "cohere",
  chat: {
    dialect: "chat-completions",
    paths: { whole: chat, stream: chat, without: [] },
    // Hints that do not affect an answer. Unsure: which of its models think, and at which effort levels.
    dropFields:
      "store metadata prompt_cache_key safety_identifier verbosity cache_control thinking parallel_tool_calls logit_bias top_logprobs service_tier output_config safetySettings include_reasoning reasoning_format top_k top_a min_p repetition_penalty".split(
        " ",
      ),
    takes: { messageFields: ["name"], efforts: [], refuses: ["n"], fit },
    models: {
      "command-a-03-2025": sold("cohere/command-a", [256_000, 8_000], "2.5/10"),
      "command-r-08-2024": sold("cohere/command-r-08-2024", [128_000, 4_096], "0.15/0.6"),
      "command-r-plus-08-2024": sold("cohere/command-r-plus-08-2024", [128_000, 4_096], "2.5/10"),
      "command-r7b-12-2024": sold("cohere/command-r7b-12-2024", [128_000, 4_096], "0.0375/0.15"),
    },
  },
  unitModels: {
    "rerank-v3.5": { ...rerank, prices: [{ since, searches: "2" }] },
    "rerank-v4.0-fast": { ...rerank, prices: [{ since, searches: "2" }] },
    "rerank-v4.0-pro": { ...rerank, prices: [{ since, searches: "2.5" }] },
  },
});
