import { describe, expect, test } from "vitest";
import { quoteCents } from "../../src/actions/run/action-price.ts";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { type LoadOptions, loadCatalog } from "../../src/catalog/load.ts";
import type { Params } from "../../src/catalog/said.ts";
import { usdPerMillionText } from "../../src/core/money.ts";
import { manualClock } from "../support/manual-clock.ts";
import { LIVE, PLAY, TODAY_MS } from "./catalog-of.ts";

const KEYS = [
  "OPENROUTER_API_KEY",
  "OPENAI_API_KEY",
  "ANTHROPIC_API_KEY",
  "GEMINI_API_KEY",
  "GROQ_API_KEY",
  "MISTRAL_API_KEY",
  "DEEPSEEK_API_KEY",
  "XAI_API_KEY",
  "TOGETHER_API_KEY",
  "FIREWORKS_API_KEY",
  "CEREBRAS_API_KEY",
];

function load(env: Record<string, string> = {}, options: Partial<LoadOptions> = {}): Promise<Catalog> {
  const clock = manualClock(TODAY_MS);
  const sandboxOrigin = "http://sandbox.test";
  return loadCatalog({
    env,
    clock,
    sandboxOrigin,
    contact: null,
    markupPercent: 0,
    allowLoss: false,
    overlayDir: null,
    ...options,
  });
}

const ALL = Object.fromEntries(KEYS.map((name) => [name, "k"]));

/** The slugs of a tier that have a configured provider. */
function servedBy(catalog: Catalog, tierId: string): readonly string[] {
  const models = catalog.tiers.get(tierId)?.models ?? [];
  return models.filter((slug) => (catalog.model(slug, LIVE)?.offers.length ?? 0) > 0);
}

describe("the shipped catalog", () => {
  test("sells at least sixty chat models of at least eleven providers", async () => {
    const models = (await load(ALL)).models(LIVE).filter((model) => model.offers.length > 0);
    const providers = new Set(models.flatMap((model) => model.offers.map((offer) => offer.adapter.id)));
    expect(models.length).toBeGreaterThanOrEqual(60);
    expect(providers.size).toBeGreaterThanOrEqual(11);
  });

  test.each(KEYS)("serves cheap and mid with %s alone", async (name) => {
    const catalog = await load({ [name]: "k" });
    const configured = [...catalog.adapters(LIVE).values()].filter(({ configured, spec }) => configured && spec.chat);
    expect(configured).toHaveLength(1);
    expect(servedBy(catalog, "cheap")).not.toEqual([]);
    expect(servedBy(catalog, "mid")).not.toEqual([]);
  });

  test.each(["OLLAMA", "VLLM", "CUSTOM"])(
    "serves every tier from a server at %s_BASE_URL that names its model",
    async (name) => {
      const catalog = await load({ [`${name}_BASE_URL`]: "http://127.0.0.1:1/v1", [`${name}_MODEL`]: "llama3.2" });
      for (const tier of ["cheap", "mid", "best"]) expect(servedBy(catalog, tier)).toEqual([`${name.toLowerCase()}/*`]);
    },
  );

  test("has the three tiers with their clocks", async () => {
    const { tiers } = await load();
    expect([...tiers.values()].map((tier) => [tier.id, tier.firstTokenMsMax])).toEqual([
      ["best", 45_000],
      ["cheap", 8_000],
      ["mid", 12_000],
    ]);
  });

  test("takes Google's key under either name", async () => {
    const catalog = await load({ GOOGLE_API_KEY: "k" });
    expect(catalog.model("google/gemini-3.6-flash", LIVE)?.offers[0]?.adapter.keys).toEqual(["k"]);
  });

  test("serves one slug from its maker and from a router, under each one's own name", async () => {
    const offers = (await load(ALL)).model("anthropic/claude-opus-4.8", LIVE)?.offers ?? [];
    expect(offers.map((offer) => [offer.adapter.id, offer.upstreamModel])).toEqual([
      ["anthropic", "claude-opus-4-8"],
      ["openrouter", "anthropic/claude-opus-4.8"],
    ]);
  });

  test("sells at list prices, cached tokens and long prompts included", async () => {
    const catalog = await load(ALL);
    const sale = (slug: string) => {
      const price = catalog.model(slug, LIVE)?.sale;
      const step = price?.steps[0];
      const text = (of: typeof price | typeof step) =>
        of === undefined ? [] : [of.input, of.output, of.cacheRead, of.cacheWrite].map(usdPerMillionText);
      return [text(price), step?.promptTokens, text(step)];
    };
    expect(sale("openai/gpt-5.4-mini")).toEqual([["0.75", "4.5", "0.075", "0.75"], undefined, []]);
    expect(sale("anthropic/claude-opus-5")).toEqual([["5", "25", "0.5", "6.25"], undefined, []]);
    expect(sale("openai/gpt-5.4")).toEqual([["2.5", "15", "0.25", "2.5"], 272_000, ["5", "22.5", "0.5", "5"]]);
    expect(sale("google/gemini-3.1-pro-preview")).toEqual([["2", "12", "0.2", "2"], 200_000, ["4", "18", "0.4", "4"]]);
  });

  test("leaves out only the offers that cost more than their maker's price list", async () => {
    const strict = await load(ALL);
    const generous = await load(ALL, { allowLoss: true });
    const left = generous.models(LIVE).flatMap((model) => {
      const serving = new Set(strict.model(model.slug, LIVE)?.offers.map((offer) => offer.adapter.id));
      return model.offers.filter((offer) => !serving.has(offer.adapter.id)).map((offer) => offer.healthKey);
    });
    expect(left.sort()).toEqual(["openrouter/deepseek/deepseek-v4-flash"]);
  });

  test("changes a price on the day it was announced for", async () => {
    const clock = manualClock(Date.parse("2026-12-31T12:00:00Z"));
    const catalog = await load({}, { clock });
    expect(catalog.model("google/gemini-3.8-flash", LIVE)?.sale.input).toBe(750_000);
    clock.setEpochMs(Date.parse("2027-01-01T00:00:00Z"));
    expect(catalog.model("google/gemini-3.8-flash", LIVE)?.sale.input).toBe(1_500_000);
  });

  test("sells embeddings", async () => {
    const catalog = await load({ OPENAI_API_KEY: "k" });
    expect(catalog.embedding("openai/text-embedding-3-small", LIVE)?.offers).toHaveLength(1);
    expect(catalog.embedding("mistralai/mistral-embed", LIVE)?.offers).toEqual([]);
  });

  test("tells of each price that the params make what two calls cost, and the two differ", async () => {
    const catalog = await load(ALL);
    const made = catalog.actions(PLAY).filter(({ facts }) => facts.price.otherPrice !== undefined);
    expect(made.length).toBeGreaterThan(10);
    const same = made.filter(({ exampleParams, facts: { price, params } }) => {
      const [usual, other] = [exampleParams, price.otherPrice].map((one) =>
        quoteCents(price, params.parse(one) as Params, null),
      );
      return usual === other;
    });
    expect(same.map(({ id }) => id)).toEqual([]);
  });

  test.each<[id: string, cents: number, params: Params]>([
    ["exa/search", 1, { query: "q" }],
    ["exa/search", 1, { query: "q", numResults: 13 }],
    ["exa/search", 2, { query: "q", numResults: 14 }],
    ["exa/search", 2, { query: "q", type: "deep" }],
    ["exa/search", 10, { query: "q", numResults: 100 }],
    ["tavily/search", 1, { query: "q", max_results: 20 }],
    ["tavily/search", 2, { query: "q", search_depth: "advanced" }],
    ["tavily/extract", 1, { urls: Array(5).fill("https://a.example") }],
    ["firecrawl/crawl", 1, { url: "https://a.example" }],
    ["firecrawl/extract", 1, { urls: ["https://a.example", "https://b.example"], prompt: "p" }],
    ["primary-sources/fetch", 1, { endpoint: "worldbank/indicator", country: "FR", indicator: "NY.GDP.MKTP.CD" }],
  ])("sells %s at %i cents for %j, as docs/guides/find-and-call-actions.md says", async (id, cents, params) => {
    const action = (await load()).actions(PLAY).find((one) => one.id === id);
    const { price, params: schema } = action?.facts ?? {};
    expect(price && schema && quoteCents(price, schema.parse(params) as Params, null)).toBe(cents);
  });

  test("sells an hour of a machine at five cents a vCPU, or at its cost and a tenth, or says what else it is", async () => {
    const sold = [...(await load()).adapters(PLAY).values()].flatMap(({ id, spec: { sessions } }) =>
      sessions === undefined || sessions.madeOf !== undefined ? [] : [{ id, ...sessions }],
    );
    expect(sold.length).toBeGreaterThan(3);
    for (const { id, vcpus, centsPerHour, upstreamCentsPerHour } of sold)
      expect(Math.abs(centsPerHour - Math.max(5 * vcpus, upstreamCentsPerHour * 1.1)), id).toBeLessThan(0.05);
  });

  test("shows play accounts every real model with an offer at the sandbox", async () => {
    const models = (await load()).models(PLAY);
    expect(models.length).toBeGreaterThanOrEqual(60);
    for (const model of models) {
      expect(model.offers, model.slug).not.toEqual([]);
      for (const { adapter } of model.offers) expect(adapter.origin).toBe(`http://sandbox.test/${adapter.id}`);
    }
  });
});
