// OpenAI-compatible providers that differ only in address, key variable and a few quirks, one row each. Models in the third-party price
// list are sold at its prices of 2026-11-23; beyond those, only the model that the operator names and prices. No row has been tested with a
// key: addresses and variables come from the vendors' pages, and what they do not state is marked "unsure".
import { type AdapterSpec, bearer, type ChatSpec, defineAdapters, modelRows } from "#adapter";

const { price, sold } = modelRows("2026-09-23");
const o200k = <T>(model: T) => ({ ...model, tokenizer: "o200k" as const });

/** Servers of open models. Drops hints that some of them reject and that do not affect an answer; unsure: which server accepts which. */
const openModels = {
  dialect: "chat-completions" as const,
  dropFields:
    "store metadata prompt_cache_key safety_identifier verbosity cache_control thinking output_config safetySettings include_reasoning reasoning_format top_a".split(
      " ",
    ),
  takes: { messageFields: ["name"], developerRole: "system" as const, efforts: [] },
};
/** For models not in the price list: the one that `<ID>_MODEL` names, at the environment's price. Unsure: which servers list models. */
const named = { modelsPath: "/models", models: {}, anyModel: { contextTokens: 1_000_000, prices: [] } };

/** Thinks unless told not to. */
const glm = {
  messageFields: ["reasoning_content"],
  developerRole: "system" as const,
  formats: "json_object" as const,
  efforts: [],
  noThinking: { thinking: { type: "disabled" } },
};

const glm4 = { contextTokens: 200_000, outputTokensMax: 128_000 };
const glm5 = { contextTokens: 1_000_000, outputTokensMax: 128_000 };

/** Moonshot's reasoning before tool calls must be sent back; unsure for models before K2.5. */
const kimiTakes = {
  messageFields: ["name", "reasoning_content", "partial"],
  developerRole: "system" as const,
  thoughtsWithCalls: "reasoning_content" as const,
  efforts: [],
};
/** Thinks unless told not to, as GLM does. */
const mayThink = { takes: { ...kimiTakes, noThinking: glm.noThinking } };

/** Always thinks, and rejects any temperature, top_p and penalty except its own. */
const fixedSampling = [...openModels.dropFields, "temperature", "top_p", "presence_penalty", "frequency_penalty"];
/** The amount of thinking can be set. */
const kimiThinks = { takes: { ...kimiTakes, efforts: ["low", "high", "max"] } };
const kimi = { contextTokens: 262_144, outputTokensMax: 262_144, dropFields: fixedSampling };
const kimi3 = { ...kimi, ...kimiThinks, contextTokens: 1_048_576, outputTokensMax: 1_048_576 };

interface Row extends Omit<AdapterSpec, "auth" | "beliefs" | "chat"> {
  /** What it sells in addition to, or instead of, the named model. Default: only that. */
  readonly chat?: Omit<ChatSpec, "dialect">;
}

const withShared = ({ chat = named, ...row }: Row): AdapterSpec => ({
  ...row,
  beliefs: {
    "*": "which hints it refuses, how its models think, how long their answers may be, and who of them is still served",
  },
  auth: bearer,
  chat: { ...openModels, ...chat },
});

const vendors: Readonly<Record<string, Row>> = {
  moonshot: {
    name: "Moonshot AI",
    docs: "https://platform.moonshot.ai/docs/api/chat",
    origin: "https://api.moonshot.ai/v1",
    pricedAs: "moonshotai",
    alsoCalled: ["moonshotai"],
    otelName: "moonshot_ai",
    maker: "moonshotai",
    chat: {
      takes: kimiTakes,
      usageAt: ["/usage", "/choices/0/usage"],
      cacheReadAt: ["/prompt_tokens_details/cached_tokens", "/cached_tokens"],
      models: {
        "kimi-k3.1-pro": { ...kimi3, ...price("2/10/0.2") },
        "kimi-k3.1-pro-highspeed": { ...kimi3, ...price("4/20/0.2") },
        "kimi-k3": { ...kimi3, ...price("3/15/0.3") },
        "kimi-k2.7-code": { ...kimi, ...price("0.95/4/0.19") },
        "kimi-k2.7-code-highspeed": { ...kimi, ...price("1.9/8/0.38") },
        "kimi-k2.6": { ...kimi, ...mayThink, ...price("0.95/4/0.16") },
        "kimi-k2.5": {
          ...kimi,
          ...price("0.6/3/0.1"),
          retires: { on: "2026-08-31", successor: "moonshotai/kimi-k2.6" },
        },
      },
    },
  },
  zhipu: {
    name: "Zhipu AI",
    docs: "https://docs.bigmodel.cn/api-reference",
    // The address within China; its prices are in yuan, and the list has them in USD.
    origin: "https://open.bigmodel.cn/api/paas/v4",
    pricedAs: "zhipuai",
    keyEnv: ["ZHIPU_API_KEY", "ZHIPUAI_API_KEY"],
    chat: {
      takes: glm,
      models: {
        "glm-5.3": sold("z-ai/glm-5.3", [1_000_000, 128_000], "1.103/3.862/0.276"),
        "glm-5.2": sold("z-ai/glm-5.2", [1_000_000, 128_000], "1.103/3.862/0.276"),
        "glm-5.1": sold("z-ai/glm-5.1", [200_000, 128_000], "0.828/3.31/0.179"),
        "glm-5": sold("z-ai/glm-5", [200_000, 128_000], "0.552/2.483/0.138"),
        "glm-4.7": sold("z-ai/glm-4.7", [200_000, 128_000], "0.276/1.103/0.055"),
      },
    },
  },
  zai: {
    name: "Z.ai",
    docs: "https://docs.z.ai/api-reference/llm/chat-completion",
    origin: "https://api.z.ai/api/paas/v4",
    alsoCalled: ["z-ai"],
    maker: "z-ai",
    chat: {
      ...named,
      takes: glm,
      models: {
        "glm-5.3": { ...glm5, ...price("1.4/4.4/0.26") },
        "glm-5.3-flash": { ...glm5, ...price("0.15/0.5/0.03") },
        "glm-5.3-flashx": { ...glm5, ...price("0.37/1.25/0.075") },
        "glm-5.2": { ...glm5, ...price("1.4/4.4/0.26") },
        "glm-5.1": { ...glm4, ...price("1.4/4.4/0.26") },
        "glm-5": { ...glm4, ...price("1/3.2/0.2") },
        "glm-4.7": { ...glm4, ...price("0.6/2.2/0.11") },
        "glm-4.6": { ...glm4, ...price("0.6/2.2/0.11") },
      },
    },
  },
  minimax: {
    name: "MiniMax",
    docs: "https://platform.minimax.io/docs/api-reference/text-openai-api",
    origin: "https://api.minimax.io/v1",
    // Unsure: whether it accepts a response schema. Its reasoning is part of its text, between <think> and </think>.
    chat: {
      takes: { messageFields: ["name", "reasoning_details"], developerRole: "system", efforts: [] },
      models: {
        "MiniMax-M3": {
          slug: "minimax/minimax-m3",
          contextTokens: 1_000_000,
          outputTokensMax: 128_000,
          ...price("0.3/1.2/0.06", undefined, [512_000, "0.6/2.4/0.12"]),
        },
        "MiniMax-M2.7": sold("minimax/minimax-m2.7", [204_800, 131_072], "0.3/1.2/0.06/0.375"),
        "MiniMax-M2.7-highspeed": sold("minimax/minimax-m2.7-highspeed", [204_800, 131_072], "0.6/2.4/0.06/0.375"),
        "MiniMax-M2.5": sold("minimax/minimax-m2.5", [204_800, 131_072], "0.3/1.2/0.03/0.375"),
      },
    },
  },
  dashscope: {
    name: "Alibaba Cloud Model Studio (Qwen)",
    docs: "https://www.alibabacloud.com/help/en/model-studio/compatibility-of-openai-with-dashscope",
    origin: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    alsoCalled: ["alibaba", "qwen"],
  },
  nvidia: {
    name: "NVIDIA NIM",
    docs: "https://docs.api.nvidia.com/nim/reference/llm-apis",
    origin: "https://integrate.api.nvidia.com/v1",
  },
  sambanova: {
    name: "SambaNova",
    docs: "https://docs.sambanova.ai/cloud/api-reference",
    origin: "https://api.sambanova.ai/v1",
  },
  deepinfra: {
    name: "DeepInfra",
    docs: "https://deepinfra.com/docs/openai_api",
    origin: "https://api.deepinfra.com/v1/openai",
    keyEnv: ["DEEPINFRA_API_KEY", "DEEPINFRA_TOKEN"],
    // It reports the cost of a call itself.
    chat: { ...named, costUsdAt: "/estimated_cost" },
  },
  nebius: {
    name: "Nebius Token Factory",
    docs: "https://docs.tokenfactory.nebius.com",
    origin: "https://api.tokenfactory.nebius.com/v1",
  },
  novita: {
    name: "Novita",
    docs: "https://novita.ai/docs/api-reference/model-apis-llm-create-chat-completion",
    origin: "https://api.novita.ai/openai/v1",
    // The list has only old models of it; unsure whether they still exist.
    chat: {
      models: {
        "mistralai/mistral-nemo": sold("mistralai/mistral-nemo", [60_288, 16_000], "0.17/0.17"),
        "qwen/qwen-2.5-72b-instruct": sold("qwen/qwen-2.5-72b-instruct", [32_000, 8_192], "0.38/0.4"),
      },
    },
  },
  huggingface: {
    name: "Hugging Face router",
    docs: "https://huggingface.co/docs/inference-providers",
    origin: "https://router.huggingface.co/v1",
    pricedAs: "huggingface_*",
    keyEnv: ["HF_TOKEN", "HUGGINGFACE_API_KEY"],
    // The part after the colon is the provider that it forwards the call to, at that provider's price.
    chat: {
      models: {
        "deepseek-ai/DeepSeek-V3.2:novita": sold("deepseek/deepseek-v3.2", [163_840, 65_536], "0.269/0.4"),
        "zai-org/GLM-5:novita": sold("z-ai/glm-5", [202_800, 131_072], "1/3.2"),
        "zai-org/GLM-4.7:novita": sold("z-ai/glm-4.7", [204_800, 131_072], "0.6/2.2"),
        "zai-org/GLM-4.6:novita": sold("z-ai/glm-4.6", [204_800, 131_072], "0.55/2.2"),
        "moonshotai/Kimi-K2.5:novita": sold("moonshotai/kimi-k2.5", [262_144, 262_144], "0.6/3"),
        "moonshotai/Kimi-K2-Thinking:nebius": sold("moonshotai/kimi-k2-thinking", [262_144, 262_144], "0.6/2.5"),
        "openai/gpt-oss-120b:novita": o200k(sold("openai/gpt-oss-120b", [131_072, 32_768], "0.05/0.25")),
        "openai/gpt-oss-20b:novita": o200k(sold("openai/gpt-oss-20b", [131_072, 32_768], "0.04/0.15")),
        "meta-llama/Llama-3.3-70B-Instruct:nebius": sold("meta-llama/llama-3.3-70b-instruct", [131_072], "0.25/0.75"),
        "meta-llama/Llama-3.1-8B-Instruct:nebius": sold("meta-llama/llama-3.1-8b-instruct", [131_072], "0.03/0.09"),
        "meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8:novita": sold(
          "meta-llama/llama-4-maverick",
          [1_048_576],
          "0.27/0.85",
        ),
        "Qwen/Qwen3.5-397B-A17B:together": sold("qwen/qwen3.5-397b-a17b", [262_144, 32_768], "0.6/3.6"),
        "Qwen/Qwen3-Coder-480B-A35B-Instruct:nebius": sold("qwen/qwen3-coder", [262_144, 65_536], "0.4/1.8"),
        "Qwen/Qwen3-235B-A22B-Instruct-2507:nebius": sold("qwen/qwen3-235b-a22b-2507", [262_144, 16_384], "0.2/0.6"),
      },
    },
  },
  "github-models": {
    name: "GitHub Models",
    docs: "https://docs.github.com/en/rest/models/inference",
    origin: "https://models.github.ai/inference",
    // Many machines have GITHUB_TOKEN set for other purposes.
    keyEnv: ["GITHUB_MODELS_TOKEN"],
  },
  "cloudflare-ai": {
    name: "Cloudflare Workers AI",
    docs: "https://developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility/",
    origin: "https://api.cloudflare.com/client/v4/accounts/{account}/ai/v1",
    settings: { account: { env: ["CLOUDFLARE_ACCOUNT_ID"] } },
    keyEnv: ["CLOUDFLARE_AI_API_TOKEN", "CLOUDFLARE_API_TOKEN"],
    alsoCalled: ["cloudflare"],
  },
  ovhcloud: {
    name: "OVHcloud AI Endpoints",
    docs: "https://help.ovhcloud.com/csm/en-public-cloud-ai-endpoints-getting-started",
    origin: "https://oai.endpoints.kepler.ai.cloud.ovh.net/v1",
    keyEnv: ["OVHCLOUD_API_KEY", "OVH_AI_ENDPOINTS_API_KEY"],
    chat: {
      models: {
        "Meta-Llama-3_3-70B-Instruct": sold("meta-llama/llama-3.3-70b-instruct", [131_072, 131_000], "0.74/0.74"),
        "Llama-3.1-8B-Instruct": sold("meta-llama/llama-3.1-8b-instruct", [131_072, 131_000], "0.11/0.11"),
        "Mistral-Small-3.2-24B-Instruct-2506": sold(
          "mistralai/mistral-small-3.2-24b-instruct",
          [131_072, 128_000],
          "0.1/0.31",
        ),
        "Qwen3-Coder-30B-A3B-Instruct": sold("qwen/qwen3-coder-30b-a3b-instruct", [262_144, 32_768], "0.07/0.26"),
        "gpt-oss-120b": o200k(sold("openai/gpt-oss-120b", [131_072, 131_000], "0.09/0.47")),
        "gpt-oss-20b": o200k(sold("openai/gpt-oss-20b", [131_072, 131_000], "0.05/0.18")),
      },
    },
  },
  avian: {
    name: "Avian",
    docs: "https://docs.avian.io",
    origin: "https://api.avian.io/v1",
    chat: {
      models: {
        "deepseek/deepseek-v4-pro-0813": sold("deepseek/deepseek-v4-pro", [1_000_000], "0.561/1.683/0.0187"),
        "deepseek/deepseek-v4-flash": sold("deepseek/deepseek-v4-flash", [1_000_000], "0.14/0.28/0.0028"),
        "deepseek/deepseek-v4.1-flash": sold("deepseek/deepseek-v4.1-flash", [1_000_000], "0.1275/0.51/0.00255"),
        "moonshotai/kimi-k3": sold("moonshotai/kimi-k3", [1_000_000], "2.55/12.75/0.255"),
        "z-ai/glm-5.3": sold("z-ai/glm-5.3", [1_000_000], "1.19/3.74/0.221"),
        "z-ai/glm-5.3-flash": sold("z-ai/glm-5.3-flash", [1_000_000], "0.1275/0.425/0.0255"),
        "minimax/minimax-m3": sold("minimax/minimax-m3", [512_000], "0.255/1.02/0.051"),
      },
    },
  },
  doubleword: {
    name: "Doubleword",
    docs: "https://docs.doubleword.ai/inference-api",
    origin: "https://api.doubleword.ai/v1",
    chat: {
      models: {
        "moonshotai/kimi-k3": sold("moonshotai/kimi-k3", [1_048_576], "3/15/0.3"),
        "zai-org/GLM-5.2-FP8": sold("z-ai/glm-5.2", [1_048_576], "0.93/3/0.19"),
        "Qwen/Qwen3.8-27B-FP8": sold("qwen/qwen3.8-27b", [262_144], "0.45/3/0.04"),
      },
    },
  },
  siliconflow: {
    name: "SiliconFlow",
    docs: "https://docs.siliconflow.com/en/api-reference/chat-completions/chat-completions",
    origin: "https://api.siliconflow.com/v1",
  },
  baseten: {
    name: "Baseten",
    docs: "https://docs.baseten.co/development/model-apis/overview",
    origin: "https://inference.baseten.co/v1",
  },
  hyperbolic: {
    name: "Hyperbolic",
    docs: "https://docs.hyperbolic.xyz/docs/rest-api",
    origin: "https://api.hyperbolic.xyz/v1",
  },
  scaleway: {
    name: "Scaleway Generative APIs",
    docs: "https://www.scaleway.com/en/docs/generative-apis/",
    origin: "https://api.scaleway.ai/v1",
  },
};

export default defineAdapters(Object.fromEntries(Object.entries(vendors).map(([id, row]) => [id, withShared(row)])));
