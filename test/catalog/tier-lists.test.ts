// A tier in every list: the price and limits of its first available candidate, and the maximum price of a call.
import { describe, expect, it } from "vitest";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { installedOf } from "../../src/catalog/installed.ts";
import { loadCatalog } from "../../src/catalog/load.ts";
import { modelAnswer, modelsAnswer, pricingAnswer } from "../../src/catalog/price-answers.ts";
import { atOnce } from "../../src/core/slices.ts";
import { tierDetails } from "../../src/edge/web/catalog-details.ts";
import { measuredIn } from "../../src/edge/web/catalog-models.ts";
import { tiersShown } from "../../src/edge/web/tiers-shown.ts";
import { MODEL_WIRES } from "../../src/models/formats/model-wires.ts";
import { allowedPricing } from "../../src/money/accounts/allowed-models.ts";
import { manualClock } from "../support/manual-clock.ts";
import { LIVE, PLAY, TODAY_MS } from "./catalog-of.ts";

/** No vendor configured; one vendor with vision models; one with only open models; several. */
const INSTALLATIONS: readonly (readonly [name: string, env: Readonly<Record<string, string>>])[] = [
  ["without a key", {}],
  ["with OpenAI's key", { OPENAI_API_KEY: "k" }],
  ["with Together's key", { TOGETHER_API_KEY: "k" }],
  ["with Mistral's and xAI's keys", { MISTRAL_API_KEY: "k", XAI_API_KEY: "k" }],
];

function shipped(env: Readonly<Record<string, string>>): Promise<Catalog> {
  const options = { env, clock: manualClock(TODAY_MS), sandboxOrigin: "http://sandbox.test", contact: null };
  return loadCatalog({ ...options, overlayDir: null, markupPercent: 0, allowLoss: false });
}

/** The list rows of a tier's models that can serve, or of all of them if none can. */
function candidatesOf(id: string, catalog: Catalog, audience: typeof LIVE) {
  const all = (catalog.tiers.get(id)?.models ?? []).flatMap((slug) => catalog.model(slug, audience) ?? []);
  const known = all.filter(({ slug }) => !slug.endsWith("/*"));
  const served = known.filter(({ offers }) => offers.length > 0);
  return served.length > 0 ? served : known;
}

const buckets = (price: object) =>
  ["prompt", "completion", "input_cache_read", "input_cache_write"].map((name) => Number(Object(price)[name]));

describe.each(INSTALLATIONS)("%s", (_, env) => {
  it.each([
    ["live", LIVE],
    ["sandbox", PLAY],
  ] as const)("the list of models shows %s tiers by the candidate that serves", async (_name, audience) => {
    const catalog = await shipped(env);
    const { data } = atOnce(modelsAnswer(catalog, audience));
    const tiers = data.filter(({ kind }) => kind === "tier") as Extract<(typeof data)[number], { price_max: object }>[];
    expect(tiers).toHaveLength(3);
    for (const row of tiers) {
      const candidates = candidatesOf(row.id.slice("core/".length), catalog, audience);
      const rows = candidates.map(({ slug }) => modelAnswer(catalog, slug, audience) as typeof row);
      const [first] = rows;
      for (const field of ["pricing", "context_length", "max_output_tokens", "architecture"] as const)
        expect(row[field], `${row.id} ${field}`).toEqual(first?.[field]);
      expect(row.supported_parameters).toEqual(first?.supported_parameters);
      expect(row.candidates).toEqual(row.available ? candidates.map(({ slug }) => slug) : []);
      const most = [0, 1, 2, 3].map((at) => Math.max(...rows.map(({ pricing }) => buckets(pricing)[at] ?? 0)));
      expect(buckets(row.price_max), `${row.id} price_max`).toEqual(most);
    }
    const blends = tiers.map(({ pricing }) => 3 * Number(pricing.prompt) + Number(pricing.completion));
    expect(blends, "the cheapest comes first").toEqual(blends.toSorted((a, b) => a - b));
  });

  it("the price list, the pages, the setup and the wires' own lists say the same", async () => {
    const catalog = await shipped(env);
    const rows = atOnce(modelsAnswer(catalog, LIVE)).data.filter(({ kind }) => kind === "tier");
    const ids = rows.map(({ id }) => id);
    const pricing = atOnce(pricingAnswer(catalog, LIVE));
    expect(pricing.tier_prices.map(({ model }) => model)).toEqual(ids);
    expect(atOnce(installedOf(catalog)).tiers.map(({ id }) => `core/${id}`)).toEqual(ids);
    const shown = tiersShown(catalog, LIVE).toReversed();
    expect(shown.map(({ tier }) => `core/${tier.id}`)).toEqual(ids);
    for (const one of shown) {
      const site = { publicUrl: "https://t.example", sandbox: true, signup: false, pages: true };
      const page = tierDetails(one, { catalog, measured: measuredIn([]), site }).body.text;
      expect(page).toContain(`${one.listed?.first.slug}: $`);
    }
    for (const [at, row] of pricing.tier_prices.entries()) {
      const first = pricing.models.find(({ model }) => model === shown[at]?.listed?.first.slug);
      expect({ ...row, model: first?.model, kind: "chat" }).toMatchObject({ ...first });
      expect(row.price_max.prompt_usd_per_million).toBeGreaterThanOrEqual(row.prompt_usd_per_million);
      expect(row.candidates.length > 0).toBe(row.available);
    }
    for (const { models } of MODEL_WIRES)
      for (const row of models === undefined ? [] : rows) {
        const told = JSON.stringify(models?.one(row as never));
        expect(told).toContain(String(Object(row).context_length));
      }
    const none = { models: [], inference: true } as never;
    expect(allowedPricing(pricing, none).tier_prices.some(({ available }) => available)).toBe(false);
  });
});

describe("the shipped tiers", () => {
  it("are dearer from cheap to best, and the cheap one sees as long as a model that sees serves it", async () => {
    const catalog = await shipped({ OPENAI_API_KEY: "k", TOGETHER_API_KEY: "k" });
    const { data } = atOnce(modelsAnswer(catalog, LIVE));
    expect(data.slice(0, 3).map(({ id }) => id)).toEqual(["core/cheap", "core/mid", "core/best"]);
    expect(data[0]).toMatchObject({ architecture: { input_modalities: expect.arrayContaining(["text", "image"]) } });
    expect(data[0]).toMatchObject({ context_length: 922_000, max_output_tokens: 128_000 });
  });

  it("never fall from best to a small model", async () => {
    const { tiers } = await shipped({});
    const own = (slug: string) => slug.endsWith("/*");
    const best = (tiers.get("best")?.models ?? []).filter((slug) => !own(slug));
    expect(best.length).toBeGreaterThan(5);
    expect(best.filter((slug) => tiers.get("cheap")?.models.includes(slug))).toEqual([]);
    expect(best.filter((slug) => /-\d+b(-|$)|-(mini|nano|flash|lite|small)(-|$)/.test(slug))).toEqual([]);
  });
});
