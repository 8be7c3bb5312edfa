import { describe, expect, test } from "vitest";
import { nearVariables } from "../../src/catalog/env-typos.ts";
import { atOnce } from "../../src/core/slices.ts";
import { SETTINGS } from "../../src/platform/config.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";

const catalog = await shippedCatalog();
const specs = new Map([...catalog.adapters({ sandbox: false })].map(([id, { spec }]) => [id, spec]));
const settings = Object.values(SETTINGS).map(({ name }) => name);
const near = (...set: string[]) => atOnce(nearVariables(set, settings, specs)).map(({ meant }) => meant);

describe("a variable that is nearly one that is read", () => {
  test.each([
    ["OPENAI_APIKEY", "OPENAI_API_KEY"],
    ["OPEN_AI_API_KEY", "OPENAI_API_KEY"],
    ["openai_api_key", "OPENAI_API_KEY"],
    ["OPENAI_KEY", "OPENAI_API_KEY"],
    ["OPENAI_API_TOKEN", "OPENAI_API_KEY"],
    ["OPENAI_API_BASE", "OPENAI_BASE_URL"],
    ["OPENAI_BASEURL", "OPENAI_BASE_URL"],
    ["ANTROPHIC_API_KEY", "ANTHROPIC_API_KEY"],
    ["CLAUDE_ANTHROPIC_API_KEYS", null],
    ["GORQ_API_KEY", "GROQ_API_KEY"],
    ["TOGETHERAI_API_KEY", "TOGETHER_API_KEY"],
    ["BRAVE_KEY", "BRAVE_SEARCH_API_KEY"],
    ["OLLAMA_HOST", "OLLAMA_BASE_URL"],
    ["CUSTOM_URL", "CUSTOM_BASE_URL"],
    ["ADMINPORT", "ADMIN_PORT"],
    ["DATADIR", "DATA_DIR"],
    ["OVERLAY_DIRECTORY", null],
    ["LLM_MARKUP_PERCENTS", "LLM_MARKUP_PERCENT"],
  ])("%s: %s", (name, meant) => {
    expect(near(name)).toEqual(meant === null ? [] : [meant]);
  });

  test("is not told where the one that is read is set too, or is itself read", () => {
    expect(near("OPENAI_API_BASE", "OPENAI_BASE_URL", "GOOGLE_API_KEY", "BRAVE_API_KEY")).toEqual([]);
  });

  test("what shells, machines and other programs set is left alone", () => {
    const others =
      "PATH HOME HOSTNAME PWD USER LOGNAME LANG TERM SHELL SHLVL MAIL EDITOR NODE_ENV NODE_OPTIONS NODE_VERSION " +
      "AWS_SECRET_ACCESS_KEY AWS_REGION GITHUB_TOKEN GH_TOKEN NPM_TOKEN SSH_AUTH_SOCK XDG_RUNTIME_DIR XDG_DATA_DIRS " +
      "KUBERNETES_SERVICE_HOST KUBERNETES_PORT REDIS_PORT REDIS_HOST VLLM_SERVICE_HOST CUSTOM_PORT OPENAI_ORG_ID " +
      "OPENAI_ORGANIZATION UWS_HTTP_MAX_HEADERS_SIZE npm_config_cache npm_package_name INIT_CWD COLUMNS PS1 OLDPWD TZ " +
      "HUGGINGFACE_API_KEY COHERE_API_KEY PERPLEXITY_API_KEY REPLICATE_API_TOKEN STRIPE_API_KEY DATABASE_URL LOGS_DIR";
    expect(near(...others.split(" "))).toEqual([]);
  });
});
