// Perplexity, first-hand, at the prices listed on 2026-11-23: a model that searches the web before it answers, through its agent API, which
// replaced its chat wire on 2026-09-27. A search costs a fee on top of the tokens, and its results count as prompt. Based on the vendor's
// own SDK and another gateway's notes of live calls; unsure: whether one step can make several searches, each with its own fee.
import { bearer, defineAdapter } from "#adapter";

const ended = "2026-09-27";
const since = "2026-09-23";

/** Per search, for all pages together; also sent to the vendor as a limit. */
const foundTokensMax = 8_000;

export default defineAdapter({
  name: "Perplexity",
  docs: "https://docs.perplexity.ai/docs/agent-api/migrate-from-sonar",
  beliefs: {
    "*": "whether one step can search more than once, each for its fee, whether unknown fields are refused, and how long an answer may be",
  },
  origin: "https://api.perplexity.ai/v1",
  auth: bearer,
  maker: "perplexity",
  chat: {
    dialect: "responses",
    paths: { whole: "/agent", stream: "/agent", without: [] },
    // Its models' thinking cannot be controlled: no field sets it.
    reasoning: "none",
    // Unsure: whether it rejects unknown fields. It makes only its own tool calls.
    dropFields:
      "user store metadata prompt_cache_key prompt_cache_retention safety_identifier verbosity seed stop presence_penalty frequency_penalty logit_bias logprobs top_logprobs thinking output_config safetySettings include_reasoning reasoning_format service_tier top_k reasoning reasoning_effort cache_control".split(
        " ",
      ),
    takes: { efforts: [], refuses: ["tools", "n"], responsesForm: "plain" },
    // Without this it would search only when it sees fit; one step is one search and the answer.
    extraFields: {
      tools: [{ type: "web_search", search_context_size: "low", max_tokens: foundTokensMax }],
      tool_choice: "required",
      max_steps: 1,
    },
    // It reports the cost of a call itself, including searches.
    costUsdAt: "/cost/total_cost",
    models: {
      "perplexity/sonar": {
        slug: "perplexity/sonar",
        contextTokens: 128_000,
        outputTokensMax: 8_192,
        parts: { foundTokensMax },
        prices: [{ since: ended, input: "0.25", output: "2.5", cacheRead: "0.0625", thousandCalls: "2.5" }],
      },
      // The new API has no successor for these.
      "sonar-pro": {
        contextTokens: 200_000,
        outputTokensMax: 8_000,
        retires: { on: ended, successor: "perplexity/sonar" },
        prices: [{ since, input: "3", output: "15", thousandCalls: "6" }],
      },
      "sonar-reasoning-pro": {
        contextTokens: 128_000,
        retires: { on: ended, successor: "perplexity/sonar" },
        prices: [{ since, input: "2", output: "8", thousandCalls: "6" }],
      },
    },
  },
});
