// DeepSeek, first-hand, at the prices listed on 2026-11-23: twice as much at peak hours, except on weekends in Beijing.
import { bearer, defineAdapter } from "#adapter";

const since = "2026-09-23";
const sizes = { contextTokens: 1_000_000, outputTokensMax: 384_000 };

/** Nine to twelve and two to six in Beijing; at these hours the weekday there is the same as in UTC. */
const peak = (input: string, output: string, cacheRead: string) => [
  { from: "01:00", until: "04:00", weekdaysOnly: true, input, output, cacheRead },
  { from: "06:00", until: "10:00", weekdaysOnly: true, input, output, cacheRead },
];
const pro = { since, input: "0.66", output: "1.98", cacheRead: "0.022", hours: peak("1.32", "3.96", "0.044") };
const flash = {
  since: "2026-09-10",
  input: "0.15",
  output: "0.6",
  cacheRead: "0.003",
  hours: peak("0.3", "1.2", "0.006"),
};
const completes = {
  kind: "completion",
  dialect: "openai-completion",
  origin: "beta",
  outputTokensMax: 4_096,
  fillsIn: true,
  omits: ["user"],
  refuses: ["n", "seed", "min_tokens"],
} as const;

export default defineAdapter({
  name: "DeepSeek",
  docs: "https://api-docs.deepseek.com/api/create-chat-completion",
  origin: "https://api.deepseek.com/v1",
  auth: bearer,
  maker: "deepseek",
  origins: { beta: "https://api.deepseek.com/beta" },
  chat: {
    dialect: "chat-completions",
    dropFields: ["cache_control"],
    takes: {
      messageFields: ["name", "reasoning_content", "prefix"],
      developerRole: "system",
      thoughtsWithCalls: "reasoning_content",
      formats: "json_object",
      // It thinks, at length, unless told not to.
      efforts: ["low", "high", "max"],
      noThinking: { thinking: { type: "disabled" } },
    },
    cacheReadAt: ["/prompt_tokens_details/cached_tokens", "/prompt_cache_hit_tokens"],
    models: {
      "deepseek-v4-pro": { ...sizes, prices: [pro] },
      // The newest of its fast models, V4.1 today; the older name is an alias for it.
      "deepseek-flash": { ...sizes, prices: [flash] },
      "deepseek-v4-flash": { ...sizes, prices: [flash] },
    },
  },
  // Plain completions are served at its beta address, with shorter answers.
  unitModels: {
    "deepseek-v4-pro": { ...completes, prices: [{ since, textIn: "1.32", cachedIn: "0.044", textOut: "3.96" }] },
    "deepseek-v4-flash": { ...completes, prices: [{ since, textIn: "0.3", cachedIn: "0.006", textOut: "1.2" }] },
  },
});
