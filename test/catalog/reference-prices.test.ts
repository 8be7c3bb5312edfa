// What models cost us is held against a list that others keep: each price equals it, or stands here with the reason; neither may be old.
import { findProvider, type ModelInfo } from "@pydantic/genai-prices";
import { expect, it } from "vitest";
import type { AdapterSpec, TokenPriceSpec } from "../../src/catalog/adapter.ts";
import { priceOn } from "../../src/catalog/price.ts";

/** The day on which the shipped prices were last held against the vendors' own pages and the list. */
const LOOKED_AT = "2026-11-22";
const DAYS_MAX = 60;
/** CI says when the catalog is old; `CATALOG_DAY` plays another day. */
const TODAY = process.env.CATALOG_DAY ?? new Date().toISOString().slice(0, 10);

/** Our vendors' names in the list, where they differ. */
const LISTED: Readonly<Record<string, string>> = { gemini: "google", xai: "x-ai" };
const VENDORS = [
  "openai",
  "anthropic",
  "gemini",
  "xai",
  "deepseek",
  "mistral",
  "groq",
  "cerebras",
  "fireworks",
  "openrouter",
];

/** Why a price is another than the list's. */
const REASONS: Readonly<Record<string, string>> = {
  "openrouter/google/gemini-3.1-pro-preview": "passes the maker's price on, of which the list lacks the step",
  "openrouter/google/gemini-2.5-pro":
    "passes the maker's price on, of which the list lacks the step and has an old cached one",
  "openrouter/google/gemini-2.5-flash": "passes the maker's price on, of which the list has an old cached one",
  "openrouter/openai/gpt-5.1": "passes the maker's price on, which the list rounds to two places",
  "openrouter/openai/gpt-5-nano": "passes the maker's price on, which the list rounds to two places",
};

/** Prices with hours, of which the catalog knows only the dearest, and with dates. */
interface Conditional {
  readonly constraint?: { readonly type?: string; readonly start_date?: string };
  readonly prices: ModelInfo["prices"];
}

type Rate =
  | number
  | { readonly base: number; readonly tiers: readonly { readonly start: number; readonly price: number }[] };

/** The rates of a day, the dearest hours of it: input, output, cached input. */
function ratesOn(day: string, { prices }: ModelInfo): readonly Rate[] {
  const list = (Array.isArray(prices) ? prices : [{ prices }]) as readonly Conditional[];
  const begun = list.filter(({ constraint }) => (constraint?.start_date ?? "") <= day);
  const rates = (begun.at(-1)?.prices ?? {}) as Readonly<Record<string, Rate | undefined>>;
  return ["input_mtok", "output_mtok", "cache_read_mtok"].map((name) => rates[name] ?? rates.input_mtok ?? 0);
}

const baseOf = (rate: Rate | undefined) => (typeof rate === "object" ? rate.base : rate);
const tiersOf = (rate: Rate | undefined) => (typeof rate === "object" ? rate.tiers : []);

/** As a text: what a call costs, and what it costs from which length of prompt on. */
function listed(model: ModelInfo): string {
  const [input, output, cached] = ratesOn(TODAY, model);
  const steps = tiersOf(input).map(({ start, price }, at) => {
    return `above ${start}: ${price}/${tiersOf(output)[at]?.price}/${tiersOf(cached)[at]?.price ?? price}`;
  });
  return [`${baseOf(input)}/${baseOf(output)}/${baseOf(cached)}`, ...steps].join(", ");
}

function ours(prices: readonly TokenPriceSpec[]): string {
  const price = priceOn(TODAY, prices);
  if (price === null) return "none";
  const text = (of: { input: string; output: string; cacheRead?: string }) =>
    [of.input, of.output, of.cacheRead ?? of.input].map(Number).join("/");
  return [text(price), ...(price.steps ?? []).map((step) => `above ${step.promptTokens}: ${text(step)}`)].join(", ");
}

type Match = Readonly<Record<string, unknown>>;

function matches(rule: Match, id: string): boolean {
  const [[kind, value] = []] = Object.entries(rule);
  const rules = value as readonly Match[];
  const word = String(value);
  switch (kind) {
    case "or":
      return rules.some((one) => matches(one, id));
    case "and":
      return rules.every((one) => matches(one, id));
    case "starts_with":
      return id.startsWith(word);
    case "ends_with":
      return id.endsWith(word);
    case "contains":
      return id.includes(word);
    case "regex":
      return new RegExp(word).test(id);
    default:
      return id === word;
  }
}

it.each(VENDORS)("%s: every model lives, at the price of the list", async (vendor) => {
  const spec = ((await import(`../../adapters/${vendor}.ts`)) as { default: AdapterSpec }).default;
  const list = findProvider({ providerId: LISTED[vendor] ?? vendor })?.models ?? [];
  const wrong: string[] = [];
  for (const [id, { prices }] of Object.entries(spec.chat?.models ?? {})) {
    const name = `${vendor}/${id}`;
    const found = list.find(({ match }) => matches(match as Match, id));
    if (found === undefined) continue;
    if (found.deprecated === true) wrong.push(`${name} is no more`);
    const same = ours(prices) === listed(found);
    if (!same && REASONS[name] === undefined) wrong.push(`${name}: ${ours(prices)}, in the list ${listed(found)}`);
    if (same && REASONS[name] !== undefined) wrong.push(`${name}: equals the list, and needs no reason`);
  }
  expect(wrong).toEqual([]);
});

/** What the list calls a unit of ours; where it has no rate of its own, that of texts counts. */
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
const UNIT_VENDORS = ["openai", "gemini", "mistral", "deepseek", "fireworks", "groq"];

it.each(UNIT_VENDORS)("%s: what is sold by units has the prices of the list, as far as it has them", async (vendor) => {
  const spec = ((await import(`../../adapters/${vendor}.ts`)) as { default: AdapterSpec }).default;
  const list = findProvider({ providerId: LISTED[vendor] ?? vendor })?.models ?? [];
  const wrong: string[] = [];
  for (const [id, { prices }] of Object.entries(spec.unitModels ?? {})) {
    const found = list.find(({ match }) => matches(match as Match, id));
    if (found === undefined) continue;
    if (found.deprecated === true) wrong.push(`${vendor}/${id} is no more`);
    const known = (Array.isArray(found.prices) ? found.prices : [{ prices: found.prices }]) as readonly Conditional[];
    const begun = known.filter(({ constraint }) => (constraint?.start_date ?? "") <= TODAY);
    const rates = (begun.at(-1)?.prices ?? {}) as Readonly<Record<string, Rate | undefined>>;
    for (const [unit, price] of Object.entries(priceOn(TODAY, prices) ?? {})) {
      const rate = UNIT_RATES[unit]?.map((name) => baseOf(rates[name])).find((value) => value !== undefined);
      if (rate === undefined) continue;
      if (Number(price) !== rate) wrong.push(`${vendor}/${id} ${unit}: ${price}, in the list ${rate}`);
    }
  }
  expect(wrong).toEqual([]);
});

it("the catalog was looked at in the last sixty days", () => {
  const days = (Date.parse(TODAY) - Date.parse(LOOKED_AT)) / 86_400_000;
  expect(days, "hold adapters/ against the vendors' prices and a newer list, then change LOOKED_AT").toBeLessThan(
    DAYS_MAX,
  );
});
