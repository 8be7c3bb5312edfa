// The price of cached tokens is the maker's, whatever its resellers charge, and no route that costs more than the sale price serves.
import { describe, expect, it } from "vitest";
import type { TokenPrice } from "../../src/catalog/catalog.ts";
import { loadCatalog } from "../../src/catalog/load.ts";
import { boundOf, costOfUsage, dearestWithin, priceAt, soldUsage } from "../../src/catalog/price.ts";
import { usdPerMillionText } from "../../src/core/money.ts";
import { manualClock } from "../support/manual-clock.ts";
import { catalogOf, PLAY, priced, TODAY_MS, vendor } from "./catalog-of.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Every hour of a working day and of a weekend day. */
const MOMENTS = [0, 1].flatMap((day) =>
  Array.from({ length: 24 }, (_, hour) => TODAY_MS + day * DAY_MS + hour * HOUR_MS),
);

function shipped(markupPercent = 0) {
  const options = { env: {}, clock: manualClock(TODAY_MS), sandboxOrigin: "http://sandbox.test", contact: null };
  return loadCatalog({ ...options, overlayDir: null, markupPercent, allowLoss: false });
}

/** Prompts read from or written to a cache entirely, partly or not at all. */
function usages(promptTokens: number) {
  const some = Math.floor(promptTokens / 3);
  const splits = [
    [promptTokens, 0, 0],
    [0, promptTokens, 0],
    [0, 0, promptTokens],
    [promptTokens - 2 * some, some, some],
  ];
  return splits.flatMap(([inputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0]) =>
    [0, 1_000].map((outputTokens) => {
      return { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens: 0 };
    }),
  );
}

function promptLengths(...prices: readonly TokenPrice[]): readonly number[] {
  const steps = prices.flatMap((price) => price.steps.map((step) => step.promptTokens));
  return [...new Set([999, ...steps.flatMap((length) => [length, length + 1])])];
}

describe("the shipped catalog", () => {
  it.each([0, 10])(
    "charges at least what a call costs and at most what is held, with every route, at a markup of %s percent",
    async (markup) => {
      let compared = 0;
      for (const { slug, sale, offers } of (await shipped(markup)).models(PLAY))
        for (const { adapter, cost } of offers)
          for (const promptTokens of promptLengths(sale, cost))
            for (const usage of usages(promptTokens))
              for (const atMs of MOMENTS) {
                const now = { cost: priceAt(cost, atMs), sale: priceAt(sale, atMs) };
                const charge = costOfUsage(now.sale, soldUsage(usage, now));
                const bounds = { inputTokensMax: promptTokens, outputTokensMax: usage.outputTokens };
                const held = boundOf(dearestWithin(sale, atMs, atMs + HOUR_MS), bounds);
                compared += 1;
                if (charge >= costOfUsage(now.cost, usage) && charge <= held) continue;
                expect.fail(`${slug} at ${adapter.id}: ${charge} for ${JSON.stringify(usage)}, held ${held}`);
              }
      expect(compared).toBeGreaterThan(50_000);
    },
  );

  it.each([
    ["z-ai/glm-4.6", "0.6", "0.11", "2.2"],
    ["z-ai/glm-4.7", "0.6", "0.11", "2.2"],
    ["z-ai/glm-5", "1", "0.2", "3.2"],
    ["z-ai/glm-5.2", "1.4", "0.26", "4.4"],
    ["z-ai/glm-5.3", "1.4", "0.26", "4.4"],
    ["moonshotai/kimi-k2.5", "0.6", "0.1", "3"],
    ["openai/gpt-oss-120b", "0.35", "0.075", "0.75"],
    ["qwen/qwen3.8-flash", "0.15", "0.016", "0.47"],
  ])("sells %s at %s for input, %s for cached input and %s for output", async (slug, input, cacheRead, output) => {
    const sale = (await shipped()).model(slug, PLAY)?.sale;
    const rates = [sale?.input, sale?.cacheRead, sale?.output].map((rate) => usdPerMillionText(rate ?? (0 as never)));
    expect(rates).toEqual([input, cacheRead, output]);
  });

  it("has no price of cached input that a vendor without one has raised to the full price", async () => {
    const raised = (await shipped()).models(PLAY).flatMap(({ slug, sale, offers }) => {
      const discounts = offers.some(({ cost }) => cost.cacheRead < cost.input);
      return discounts && sale.cacheRead >= sale.input ? [slug] : [];
    });
    expect(raised).toEqual([]);
  });
});

describe("a model at several vendors", () => {
  const discounting = vendor({ "lab/open": priced("1", "2", { cacheRead: "0.1" }) });
  const plain = vendor({ "lab/open": priced("0.9", "2") });
  const costly = vendor({ "lab/open": priced("1.1", "2") });
  const half = vendor({ "lab/open": priced("0.8", "2", { cacheRead: "0.4" }) });
  const maker = vendor({ open: priced("1", "2", { cacheRead: "0.1" }) }, { maker: "lab" });
  const sold = (adapters: Parameters<typeof catalogOf>[0]["adapters"]) => {
    const model = catalogOf({ adapters }).model("lab/open", PLAY);
    return [
      model && usdPerMillionText(model.sale.cacheRead),
      model?.offers.map(({ adapter }) => adapter.id),
      model?.tooDear,
    ];
  };

  it("keeps the discount of the one that has it, and all of them serve", () => {
    expect(sold({ discounting, plain })).toEqual(["0.1", ["plain", "discounting"], []]);
    expect(sold({ discounting, plain, half })).toEqual(["0.4", ["half", "plain", "discounting"], []]);
    expect(sold({ plain })).toEqual(["0.9", ["plain"], []]);
  });

  it("is not asked where a bucket costs more than its maker sells it for", () => {
    expect(sold({ maker, plain })).toEqual(["0.1", ["maker", "plain"], []]);
    expect(sold({ maker, costly })).toEqual(["0.1", ["maker"], ["costly"]]);
    expect(sold({ maker, half })).toEqual(["0.1", ["maker"], ["half"]]);
  });
});
