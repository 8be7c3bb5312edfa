import { describe, expect, test } from "vitest";
import { modelAnswer, modelsAnswer, pricingAnswer } from "../../src/catalog/price-answers.ts";
import { priceLines, priceRows } from "../../src/catalog/price-table.ts";
import { atOnce } from "../../src/core/slices.ts";
import { anyServer, catalogOf, LIVE, priced, tier, vendor } from "./catalog-of.ts";

const long = { promptTokens: 200_000, input: "2.5", output: "15" };
const maker = vendor(
  { big: { ...priced("1.25", "10", { cacheRead: "0.125", steps: [long] }), contextTokens: 1_000_000 } },
  { maker: "maker", embeddings: { models: { embed: priced("0.02", "0") } } },
);
const router = vendor({
  "maker/big": priced("1.25", "10", { cacheRead: "0.125", steps: [long] }),
  "lab/open": priced("0.0028", "0.28"),
});
const catalog = catalogOf(
  { adapters: { maker, router, any: anyServer() }, tiers: { cheap: tier("lab/open", "maker/big", "any/*") } },
  { env: { MAKER_API_KEY: "k" } },
);

describe("the list of models", () => {
  test("has OpenAI's shape, with prices as decimal strings in USD per token", () => {
    const { object, data } = atOnce(modelsAnswer(catalog, LIVE));
    expect(object).toBe("list");
    expect(data.map((row) => row.id)).toEqual(["core/cheap", "lab/open", "maker/big", "maker/embed"]);
    expect(data[2]).toEqual({
      id: "maker/big",
      object: "model",
      created: Date.parse("2026-01-01") / 1000,
      owned_by: "maker",
      kind: "chat",
      name: "maker: big",
      architecture: {
        modality: "text->text",
        input_modalities: ["text"],
        output_modalities: ["text"],
        tokenizer: null,
      },
      supported_parameters: expect.arrayContaining(["max_tokens", "temperature", "tools"]),
      available: true,
      sandbox: true,
      context_length: 1_000_000,
      max_output_tokens: null,
      pricing: {
        prompt: "0.00000125",
        completion: "0.00001",
        input_cache_read: "0.000000125",
        input_cache_write: "0.00000125",
        overrides: [
          {
            min_prompt_tokens: 200_001,
            prompt: "0.0000025",
            completion: "0.000015",
            input_cache_read: "0.0000025",
            input_cache_write: "0.0000025",
          },
        ],
      },
    });
    expect(data[1]).toMatchObject({ available: false, pricing: { prompt: "0.0000000028" } });
    expect(data[3]).toMatchObject({ kind: "embeddings", pricing: { completion: "0" } });
  });

  test("has each row by its slug, also of models that no list can hold", () => {
    expect(modelAnswer(catalog, "maker/big", LIVE)).toEqual(atOnce(modelsAnswer(catalog, LIVE)).data[2]);
    expect(modelAnswer(catalog, "maker/embed", LIVE)).toMatchObject({ kind: "embeddings" });
    expect(modelAnswer(catalog, "any/llama", LIVE)).toMatchObject({ id: "any/llama", available: false });
    expect(() => modelAnswer(catalog, "maker/none", LIVE)).toThrow("No model or tier is called maker/none");
  });
});

describe("the price list", () => {
  test("names the models of each tier in order, and USD per million tokens as numbers", () => {
    const answer = atOnce(pricingAnswer(catalog, LIVE));
    expect(answer.tiers).toEqual({ cheap: ["lab/open", "maker/big"] });
    expect(answer.models.find((row) => row.model === "lab/open")).toEqual({
      model: "lab/open",
      kind: "chat",
      prompt_usd_per_million: 0.0028,
      completion_usd_per_million: 0.28,
      cache_read_usd_per_million: 0.0028,
      cache_write_usd_per_million: 0.0028,
      context_length: 8_192,
      available: false,
      since: "2026-01-01",
    });
    expect(answer.models.find((row) => row.model === "maker/big")?.long_prompts).toEqual([
      {
        min_prompt_tokens: 200_001,
        prompt_usd_per_million: 2.5,
        completion_usd_per_million: 15,
        cache_read_usd_per_million: 2.5,
        cache_write_usd_per_million: 2.5,
      },
    ]);
  });

  test("lists the operator's own server in a tier once it has a model", () => {
    const env = { ANY_BASE_URL: "http://127.0.0.1:1/v1", ANY_MODEL: "llama" };
    const named = catalogOf({ adapters: { any: anyServer() }, tiers: { cheap: tier("any/*") } }, { env });
    expect(atOnce(pricingAnswer(named, LIVE)).tiers).toEqual({ cheap: ["any/llama"] });
  });

  test("as a table has a line a model and one for each step of its price", () => {
    expect(atOnce(priceRows(catalog, LIVE)).flatMap(priceLines)).toEqual([
      ["lab/open", "0.0028", "0.0028", "0.28", "8k", "-"],
      ["maker/big", "1.25", "0.125", "10", "1M", "maker"],
      ["  above 200k", "2.5", "", "15", "", ""],
      ["maker/embed", "0.02", "0.02", "0", "8k", "maker"],
    ]);
  });

  test("for programs has the same rows", () => {
    expect(atOnce(priceRows(catalog, LIVE))[1]).toEqual({
      model: "maker/big",
      input: "1.25",
      cached: "0.125",
      output: "10",
      contextTokens: 1_000_000,
      hours: [],
      steps: [{ promptTokens: 200_000, input: "2.5", output: "15" }],
      since: "2026-01-01",
      providers: ["maker"],
      tooDear: [],
    });
  });
});
