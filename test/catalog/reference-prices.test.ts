// Compares our models' upstream prices with a third-party list: each price equals it, or its adapter explains why not; neither may be
// outdated.
import { describe, expect, it } from "vitest";
import type { ModelEnd } from "../../src/catalog/adapter.ts";
import { loadCatalog } from "../../src/catalog/load.ts";
import { priceOn } from "../../src/catalog/price.ts";
import { checkPrices, finder, isFault, priceListOf } from "../../src/catalog/price-check.ts";
import { manualClock } from "../support/manual-clock.ts";
import { ENDS_LIST, PRICE_LIST } from "../support/price-list.ts";
import { catalogOf, priced, vendor } from "./catalog-of.ts";

const DAYS_MAX = 45;
/** CI reports when the list is old; `CATALOG_DAY` simulates another day. */
const TODAY = process.env.CATALOG_DAY ?? new Date().toISOString().slice(0, 10);

/** The price in a second list, LiteLLM's, of a model that the first list lacks; null if the second lacks it too. */
function secondPrice(name: string): readonly number[] | null {
  const [id = "", ...model] = name.split("/");
  return ENDS_LIST.prices[id.replace("-dated", "")]?.[model.join("/")] ?? null;
}

/** Dates that only the list of ends has: the cloud promises not to end a model before them. */
const DISPUTED = ["vertex-anthropic/claude-opus-5 ends on 2027-01-24"];

async function shipped(day: string) {
  const clock = manualClock(Date.parse(`${day}T12:00:00Z`));
  const options = { env: {}, clock, sandboxOrigin: "http://sandbox.test", contact: null, overlayDir: null };
  const catalog = await loadCatalog({ ...options, markupPercent: 0, allowLoss: false });
  const adapters = new Map([...catalog.adapters({ sandbox: true })].map(([id, { spec }]) => [id, spec]));
  return { catalog, adapters, found: checkPrices(adapters, catalog, priceListOf(PRICE_LIST.providers), day) };
}

describe("the shipped catalog", () => {
  it("has the prices of the list, and no model that is no more", async () => {
    const { found, adapters } = await shipped(TODAY);
    expect(found.differences.filter(isFault)).toEqual([]);
    expect(found.compared).toBeGreaterThan(200);
    const ours = [...adapters].flatMap(([id, { chat, embeddings }]) =>
      Object.entries({ ...embeddings?.models, ...chat?.models }).map(([name, { prices }]) => {
        return { name: `${id}/${name}`, price: priceOn(TODAY, prices) };
      }),
    );
    for (const name of found.unknown) {
      const second = secondPrice(name) ?? [];
      const price = ours.find((one) => one.name === name)?.price;
      const same = [price?.input, price?.output, price?.cacheRead].slice(0, second.length).map(Number);
      expect(second.length > 0 ? second : `${name} is known to no list`).toEqual(same);
    }
    const differing = new Set(found.differences.map((one) => `${one.provider}/${one.upstream_model}`));
    const noted = [...adapters].flatMap(([id, { chat }]) =>
      Object.entries(chat?.models ?? {})
        .filter(([, { priceNote, retires }]) => priceNote !== undefined && (retires?.on ?? "9999") > TODAY)
        .map(([name]) => `${id}/${name}`),
    );
    expect(
      noted.filter((name) => !differing.has(name)),
      "these equal the list, and need no note",
    ).toEqual([]);
  });

  it("has no model of images, sound or ranks, and none that completes text, that no list knows", async () => {
    const { adapters } = await shipped(TODAY);
    const living = [...adapters].flatMap(([id, { pricedAs, unitModels = {} }]) =>
      Object.entries(unitModels).flatMap(([name, { retires }]) =>
        (retires?.on ?? "9999") > TODAY
          ? [{ id, name, find: finder(priceListOf(PRICE_LIST.providers), pricedAs ?? id) }]
          : [],
      ),
    );
    const unknown = living.filter(
      ({ id, name, find }) => ENDS_LIST.units[id]?.includes(name) !== true && find?.(name) === undefined,
    );
    expect(living.length).toBeGreaterThan(25);
    // Its maker's own model page has it, and no other list. Azure sells OpenAI's realtime models at OpenAI's prices.
    expect(unknown.map(({ id, name }) => `${id}/${name}`)).toEqual([
      "azure-openai/gpt-realtime-2.1",
      "azure-openai/gpt-realtime-2.1-mini",
      "jina/jina-reranker-v3",
    ]);
  });

  it("has no model that another list says has ended, and the ends that it says of those that will within ninety days", async () => {
    const { adapters } = await shipped(TODAY);
    const soon = new Date(Date.parse(ENDS_LIST.taken) + 90 * 86_400_000).toISOString().slice(0, 10);
    let known = 0;
    const missing = Object.entries(ENDS_LIST.adapters).flatMap(([id, ends]) => {
      const { chat, embeddings, unitModels } = adapters.get(id) ?? {};
      const models: Readonly<Record<string, { readonly retires?: ModelEnd }>> = {
        ...unitModels,
        ...embeddings?.models,
        ...chat?.models,
      };
      return Object.entries(models).flatMap(([name, { retires }]) => {
        const end = ends[name];
        if (end === undefined || end > soon) return [];
        known += 1;
        return retires === undefined || retires.on > end ? [`${id}/${name} ends on ${end}`] : [];
      });
    });
    expect(missing.filter((one) => !DISPUTED.includes(one))).toEqual([]);
    expect(known).toBeGreaterThan(20);
  });

  it.each([PRICE_LIST, ENDS_LIST])("is held against lists of the last 45 days: $source", ({ source, taken }) => {
    const days = (Date.parse(TODAY) - Date.parse(taken)) / 86_400_000;
    const told = `${source} was taken ${days} days ago: take a newer one with the program beside it in test/fixtures/prices`;
    expect(days, told).toBeLessThanOrEqual(DAYS_MAX);
  });

  it("is held against a list that names changes of the weeks before it was taken", () => {
    const begun = JSON.stringify(PRICE_LIST.providers).match(/(?<="start_date":")[^"]+/g) ?? [];
    const last =
      begun
        .filter((day) => day <= PRICE_LIST.taken)
        .toSorted()
        .at(-1) ?? "";
    const days = (Date.parse(PRICE_LIST.taken) - Date.parse(last)) / 86_400_000;
    expect(days, "the source has stopped: it was taken long after its last change").toBeLessThanOrEqual(DAYS_MAX);
  });

  it("no longer sells a model on the day it ends", async () => {
    const { catalog } = await shipped("2026-12-11");
    for (const slug of ["openai/gpt-5-nano", "openai/gpt-5", "anthropic/claude-sonnet-4.5", "google/gemini-2.5-pro"]) {
      expect(catalog.model(slug, { sandbox: true }), slug).toBeNull();
    }
  });
});

describe("a list in a file", () => {
  const models = (...more: readonly object[]) => [{ id: "lab", name: "Lab", models: more }];
  const listed = (id: string, prices: unknown, deprecated = false) => ({
    id,
    match: { equals: id },
    prices,
    deprecated,
  });
  const usd = (input: number, output: number, more: object = {}) => ({
    input_mtok: input,
    output_mtok: output,
    ...more,
  });

  function check(prices: readonly object[], models_: Parameters<typeof vendor>[0]) {
    const lab = vendor(models_, { maker: "lab" });
    const catalog = catalogOf({ adapters: { lab } });
    return checkPrices(new Map([["lab", lab]]), catalog, priceListOf(models(...prices)), "2026-11-21");
  }

  it("finds every difference, with what it costs and what it is sold for", () => {
    const hours = [{ from: "01:00", until: "04:00", input: "2", output: "4" }];
    const steps = [{ promptTokens: 200_000, input: "2", output: "4" }];
    const found = check(
      [
        listed("same", usd(1, 2)),
        listed("cheaper", usd(0.5, 2)),
        listed("dearer", usd(1, 2, { cache_read_mtok: 1.5 })),
        listed("noted", usd(9, 9)),
        listed("gone", usd(1, 2), true),
        listed("stepped", usd(1, 2)),
        listed("longer", {
          input_mtok: { base: 1, tiers: [{ start: 200_000, price: 2 }] },
          output_mtok: { base: 2, tiers: [{ start: 200_000, price: 4 }] },
        }),
        listed("hours", [
          { prices: usd(7, 7) },
          { constraint: { start_date: "2026-08-01", type: "start_date" }, prices: usd(1, 2) },
          { constraint: { start_date: "2027-08-01", type: "start_date" }, prices: usd(8, 8) },
          { constraint: { start_time: "01:00:00Z", end_time: "04:00:00Z", type: "time_of_date" }, prices: usd(2, 4) },
        ]),
        listed("other-hours", [
          { prices: usd(1, 2) },
          { constraint: { start_time: "02:00:00Z", end_time: "04:00:00Z", type: "time_of_date" }, prices: usd(2, 4) },
        ]),
      ],
      {
        same: priced("1", "2"),
        cheaper: priced("1", "2"),
        dearer: priced("1", "2"),
        noted: { ...priced("1", "2"), priceNote: "the list is wrong" },
        gone: priced("1", "2"),
        stepped: priced("1", "2", { steps }),
        longer: priced("1", "2", { steps }),
        hours: priced("1", "2", { hours }),
        "other-hours": priced("1", "2", { hours }),
        "new": priced("1", "2"),
        ended: { ...priced("1", "2"), retires: { on: "2026-11-21" } },
      },
    );
    const told = found.differences.map((one) => [one.upstream_model, one.difference, one.at_a_loss, isFault(one)]);
    expect(told).toEqual([
      ["cheaper", "price", false, true],
      ["dearer", "price", true, true],
      ["noted", "price", true, false],
      ["gone", "ended", false, true],
      ["stepped", "price", false, true],
      ["other-hours", "price", false, true],
    ]);
    expect(found.differences[1]).toMatchObject({
      cost: "1/2/1",
      listed: "1/2/1.5",
      sale: "1/2/1",
      model: "lab/dearer",
    });
    expect([found.compared, found.unknown]).toEqual([9, ["lab/new"]]);
  });

  it("that is none is an error", () => {
    expect(() => priceListOf({ lab: [] })).toThrow();
    expect(() => check([{ id: "x", match: { equals: "same" }, prices: "none" }], { same: priced("1", "2") })).toThrow();
  });
});
