// Fireworks: open models, at the prices listed on 2026-11-23. Unsure: whether the older ones without an end here are still served, as two
// of three lists say.
import { bearer, defineAdapter, ended, modelRows } from "#adapter";

const since = "2026-08-21";
const { sold } = modelRows(since);

/** Keyed by their names in the vendor's wire. */
const named = <Model>(models: Readonly<Record<string, Model>>) =>
  Object.fromEntries(Object.entries(models).map(([name, model]) => [`accounts/fireworks/models/${name}`, model]));

const completes = { kind: "completion", dialect: "openai-completion", refuses: ["min_tokens"] } as const;

export default defineAdapter({
  name: "Fireworks",
  docs: "https://docs.fireworks.ai/api-reference/post-chatcompletions",
  beliefs: {
    "*": "whether its older models that have no end here are still served, and how long the answers of some may be",
  },
  origin: "https://api.fireworks.ai/inference/v1",
  auth: bearer,
  chat: {
    dialect: "chat-completions",
    // It rejects unknown fields in bodies, messages and parts.
    dropFields:
      "store safety_identifier verbosity cache_control thinking output_config safetySettings include_reasoning reasoning_format top_a".split(
        " ",
      ),
    takes: {
      messageFields: ["reasoning_content"],
      developerRole: "system",
      efforts: ["none", "low", "medium", "high"],
    },
    models: named({
      // Vendor's name: slug, context, longest answer if a list has it, and prices.
      "kimi-k3p1-pro": sold("moonshotai/kimi-k3.1-pro", [1_048_576, 131_072], "2/10/0.2"),
      "kimi-k3": sold("moonshotai/kimi-k3", [1_048_576, 131_072], "3/15/0.3"),
      "glm-5p3": sold("z-ai/glm-5.3", [1_048_576, 128_000], "1.4/4.4/0.26"),
      "glm-5p3-flash": sold("z-ai/glm-5.3-flash", [1_048_576, 131_072], "0.15/0.5/0.03"),
      "deepseek-v4p1-flash": sold("deepseek/deepseek-v4.1-flash", [1_048_576, 384_000], "0.3/1.2/0.006"),
      "qwen3p8-max": sold("qwen/qwen3.8-max", [262_144, 131_072], "2/6/0.25"),
      "minimax-m3p1-flash": sold("minimax/minimax-m3.1-flash", [1_048_576, 512_000], "0.15/0.6/0.015"),
      "muse-spark-open": sold("meta-models/muse-spark-open", [1_048_576, 131_072], "1.25/4.25/0.15"),
      "gpt-oss-120b": {
        ...sold("openai/gpt-oss-120b", [131_072], "0.15/0.6/0.015"),
        ...ended("2026-11-07"),
        tokenizer: "o200k",
      },
      "gpt-oss-20b": { ...sold("openai/gpt-oss-20b", [131_072, 32_768], "0.07/0.3/0.035"), tokenizer: "o200k" },
      "deepseek-v4-pro": {
        ...sold("deepseek/deepseek-v4-pro", [1_000_000], "1.74/3.48/0.145"),
        ...ended("2026-08-27"),
      },
      "deepseek-v4-flash": {
        ...sold("deepseek/deepseek-v4-flash", [1_000_000], "0.14/0.28/0.028"),
        ...ended("2026-08-14"),
      },
      "deepseek-v3p2": sold("deepseek/deepseek-v3.2", [163_840, 163_840], "0.56/1.68/0.28"),
      "glm-5p2": { ...sold("z-ai/glm-5.2", [1_040_000], "1.4/4.4/0.14"), ...ended("2026-09-25", "z-ai/glm-5.3") },
      "glm-5p1": sold("z-ai/glm-5.1", [202_752, 131_072], "1.4/4.4/0.26"),
      "kimi-k2p7-code": {
        ...sold("moonshotai/kimi-k2.7-code", [262_144], "0.95/4/0.19"),
        ...ended("2026-09-25", "moonshotai/kimi-k3.1-pro"),
      },
      "kimi-k2p6": {
        ...sold("moonshotai/kimi-k2.6", [262_144], "0.95/4/0.16"),
        ...ended("2026-09-25", "moonshotai/kimi-k3.1-pro"),
      },
      "kimi-k2p5": sold("moonshotai/kimi-k2.5", [262_144, 32_768], "0.6/3/0.1"),
      "minimax-m3": sold("minimax/minimax-m3", [524_288, 512_000], "0.3/1.2/0.06"),
      "minimax-m2p7": {
        ...sold("minimax/minimax-m2.7", [204_800], "0.3/1.2/0.06"),
        ...ended("2026-08-27", "minimax/minimax-m3"),
      },
      "qwen3p7-plus": sold("qwen/qwen3.7-plus", [262_144, 65_536], "0.4/1.6/0.08"),
    }),
  },
  unitModels: named({
    "deepseek-v3p2": {
      ...completes,
      slug: "deepseek/deepseek-v3.2",
      inputTokensMax: 163_840,
      prices: [{ since, textIn: "0.56", cachedIn: "0.28", textOut: "1.68" }],
    },
    "qwen3p7-plus": {
      ...completes,
      slug: "qwen/qwen3.7-plus",
      inputTokensMax: 262_144,
      prices: [{ since, textIn: "0.4", cachedIn: "0.08", textOut: "1.6" }],
    },
  }),
});
