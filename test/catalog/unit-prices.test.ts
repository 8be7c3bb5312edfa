// Compares our cost of images, audio and completions with a third-party list, as far as it has them.
import { expect, it } from "vitest";
import type { AdapterSpec } from "../../src/catalog/adapter.ts";
import { priceOn } from "../../src/catalog/price.ts";
import { hasEnded } from "../../src/catalog/retirement.ts";
import { PRICE_LIST } from "../support/price-list.ts";

/** CI reports when the catalog is old; `CATALOG_DAY` simulates another day. */
const TODAY = process.env.CATALOG_DAY ?? new Date().toISOString().slice(0, 10);

/** Prices with a start date. */
interface Conditional {
  readonly constraint?: { readonly start_date?: string };
  readonly prices: Readonly<Record<string, number>>;
}

/** The list's name for each of our units; without a rate of its own, the text rate counts. */
const UNIT_RATES: Readonly<Record<string, readonly string[]>> = {
  textIn: ["input_mtok"],
  cachedIn: ["cache_read_mtok", "input_mtok"],
  audioIn: ["input_audio_mtok", "input_mtok"],
  textOut: ["output_mtok"],
  imageIn: ["input_image_mtok", "input_mtok"],
  imageOut: ["output_image_mtok", "output_mtok"],
  hours: ["audio_hours"],
  audioOut: ["output_audio_mtok", "output_mtok"],
};
const UNIT_VENDORS = ["openai", "google", "mistral", "deepseek", "groq"];

it.each(UNIT_VENDORS)("%s: what is sold by units has the prices of the list, as far as it has them", async (vendor) => {
  const spec = (
    (await import(`../../adapters/${vendor === "google" ? "gemini" : vendor}.ts`)) as { default: AdapterSpec }
  ).default;
  const list = PRICE_LIST.providers.find(({ id }) => id === vendor)?.models ?? [];
  const wrong: string[] = [];
  let compared = 0;
  for (const [id, { prices, retires }] of Object.entries(spec.unitModels ?? {})) {
    const found = list.find((one) => one.id === id);
    if (found === undefined) continue;
    if (hasEnded(retires, TODAY)) continue;
    if (found.deprecated === true) wrong.push(`${vendor}/${id} is no more`);
    const known = (Array.isArray(found.prices) ? found.prices : [{ prices: found.prices }]) as readonly Conditional[];
    const begun = known.filter(({ constraint }) => (constraint?.start_date ?? "") <= TODAY);
    const rates = (begun.at(-1)?.prices ?? {}) as Readonly<Record<string, number | undefined>>;
    for (const [unit, price] of Object.entries(priceOn(TODAY, prices) ?? {})) {
      const rate = UNIT_RATES[unit]?.map((name) => rates[name]).find((value) => value !== undefined);
      if (rate === undefined) continue;
      compared++;
      if (Number(price) !== rate) wrong.push(`${vendor}/${id} ${unit}: ${price}, in the list ${rate}`);
    }
  }
  expect(wrong).toEqual([]);
  expect(compared).toBeGreaterThan(1);
});
