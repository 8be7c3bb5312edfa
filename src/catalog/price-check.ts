// `tollgate prices check`: compares the models' upstream prices with a third-party price list in the format of genai-prices.
import { z } from "zod";
import { usdPerMillionText } from "../core/money.ts";
import type { Catalog, TokenPrice, TokenRates } from "./catalog.ts";
import { compilePrice, isDearer, priceOn } from "./price.ts";
import { hasEnded } from "./retirement.ts";
import { type Listing, listingsOf } from "./slug.ts";
import type { AdapterSpec } from "./spec.ts";
import type { TokenPriceSpec } from "./token-price.ts";

const rate = z.union([
  z.number(),
  z.object({ base: z.number(), tiers: z.array(z.object({ start: z.number(), price: z.number() })) }),
]);
const rates = z.object({
  input_mtok: rate.optional(),
  output_mtok: rate.optional(),
  cache_read_mtok: rate.optional(),
  cache_write_mtok: rate.optional(),
});
const constraint = z.object({
  start_date: z.string().optional(),
  start_time: z.string().optional(),
  end_time: z.string().optional(),
});
const ruleSchema = z.record(z.string(), z.unknown());
const ruleList = z.array(ruleSchema);
/** A model in the list: the ids it covers, and its prices, of which the last that applies counts. */
const listedModel = z.object({
  id: z.string().optional(),
  context_window: z.number().optional(),
  match: ruleSchema,
  deprecated: z.boolean().optional(),
  prices: z.union([z.array(z.object({ constraint: constraint.nullish(), prices: rates })), rates]),
});
export const listedModels = z.array(listedModel);
const vendors = z.array(z.object({ id: z.string(), models: z.array(z.unknown()) }));
/** The list in our checkout also states the source of the vendors' data and its date. */
const file = z.union([z.object({ providers: vendors }).transform(({ providers }) => providers), vendors]);

export type ListedModel = z.infer<typeof listedModel>;
type ListedRates = z.infer<typeof rates>;
type ListedRate = z.infer<typeof rate>;

/** The models of a vendor in the list, by the vendor's id there; null if the list does not have the vendor. */
export type PriceList = (vendor: string) => readonly unknown[] | null;

/** Parses a file in the format of genai-prices. Throws if it is not one. */
export function priceListOf(json: unknown): PriceList {
  const byId = new Map(file.parse(json).map(({ id, models }) => [id, models]));
  return (vendor) => byId.get(vendor) ?? null;
}

/** Compiles the rule for a model's ids once, because it is applied to every name looked up. */
function matcher(rule: z.infer<typeof ruleSchema>): (id: string) => boolean {
  const [[kind, value] = []] = Object.entries(rule);
  if (kind === "or" || kind === "and") {
    const rules = ruleList.parse(value).map(matcher);
    return kind === "or" ? (id) => rules.some((one) => one(id)) : (id) => rules.every((one) => one(id));
  }
  const word = String(value);
  if (kind === "starts_with") return (id) => id.startsWith(word);
  if (kind === "ends_with") return (id) => id.endsWith(word);
  if (kind === "contains") return (id) => id.includes(word);
  if (kind !== "regex") return (id) => id === word;
  const pattern = new RegExp(word);
  return (id) => pattern.test(id);
}

const text = (usd: number) => String(Number(usd.toFixed(6)));

function rateAt(one: ListedRate | undefined, step: number | null): string | undefined {
  if (one === undefined) return undefined;
  if (typeof one === "number") return text(one);
  return text(step === null ? one.base : (one.tiers[step]?.price ?? one.base));
}

function ratesAt(listed: ListedRates, step: number | null) {
  const input = rateAt(listed.input_mtok, step) ?? "0";
  const cacheRead = rateAt(listed.cache_read_mtok, step) ?? input;
  const cacheWrite = rateAt(listed.cache_write_mtok, step) ?? input;
  return { input, output: rateAt(listed.output_mtok, step) ?? "0", cacheRead, cacheWrite };
}

/** The list's price on a day in the form of an adapter's; null if it has no token price. */
export function listedPrice(day: string, { prices }: ListedModel): TokenPriceSpec | null {
  const all = Array.isArray(prices) ? prices : [{ prices }];
  const begun = all.filter((one) => ("constraint" in one ? (one.constraint?.start_date ?? "") : "") <= day);
  const timed = begun.filter((one) => "constraint" in one && one.constraint?.start_time != null);
  const base = begun.filter((one) => !timed.includes(one)).at(-1)?.prices;
  if (base?.input_mtok === undefined) return null;
  const tiers = typeof base.input_mtok === "number" ? [] : base.input_mtok.tiers;
  const steps = tiers.map(({ start }, at) => ({ promptTokens: start, ...ratesAt(base, at) }));
  const hours = timed.map((one) => {
    const { start_time = "", end_time = "" } = ("constraint" in one ? one.constraint : null) ?? {};
    return { from: start_time.slice(0, 5), until: end_time.slice(0, 5), ...ratesAt(one.prices, null) };
  });
  const price = { since: day, ...ratesAt(base, null) };
  if (hours.length > 0) return { ...price, hours };
  return steps.length > 0 ? { ...price, steps } : price;
}

/** A price as text, for display and comparison: input/output/cached, plus prices by prompt length or hour. */
export function priceWords(price: TokenPrice, withWrites: boolean): string {
  const of = ({ input, output, cacheRead, cacheWrite }: TokenRates) =>
    [input, output, cacheRead, ...(withWrites ? [cacheWrite] : [])].map(usdPerMillionText).join("/");
  const hours = price.hours.map((one) => `minutes ${one.fromMinute} to ${one.untilMinute}: ${of(one.price)}`);
  return [of(price), ...price.steps.map((step) => `above ${step.promptTokens}: ${of(step)}`), ...hours].join(", ");
}

/** A model whose price or end date differs from the list. Prices are strings in USD per million tokens. */
export type PriceDifference = NonNullable<ReturnType<typeof differenceOf>>;

function differenceOf(
  { kind, slug, adapterId, upstreamModel, spec }: Listing,
  found: ListedModel,
  day: string,
  catalog: Catalog,
) {
  const ours = priceOn(day, spec.prices);
  const theirs = listedPrice(day, found);
  if (ours === null || theirs === null) return null;
  const cost = compilePrice(ours, slug);
  const price = compilePrice(kind === "embeddings" ? { ...theirs, output: ours.output } : theirs, slug);
  const all = { sandbox: true };
  const sold = kind === "chat" ? catalog.model(slug, all) : catalog.embedding(slug, all);
  const serves = sold?.offers.some(({ adapter }) => adapter.id === adapterId) === true;
  // The list has no cache write price, so there is nothing to compare.
  const [first] = Array.isArray(found.prices) ? found.prices : [{ prices: found.prices }];
  const withWrites = first?.prices.cache_write_mtok !== undefined;
  const [costs, listed] = [priceWords(cost, withWrites), priceWords(price, withWrites)];
  const ended = found.deprecated === true;
  if (!ended && costs === listed) return null;
  return {
    provider: adapterId,
    /** The vendor's own name for it. */
    upstream_model: upstreamModel,
    model: slug,
    /** `price`: the list has another price; `ended`: the list says that the model was discontinued. */
    difference: ended ? ("ended" as const) : ("price" as const),
    cost: costs,
    listed,
    /** What callers pay. */
    sale: sold === null ? "" : priceWords(sold.sale, withWrites),
    /** At the list's price, some calls would cost us more than they are sold for. */
    at_a_loss:
      serves && sold !== null && isDearer(withWrites ? price : { ...price, cacheWrite: cost.cacheWrite }, sold.sale),
    /** The adapter's reason for the difference: it is then not a fault. Null if there is none. */
    note: spec.priceNote ?? null,
  };
}

/** Looks up a vendor's models, also in lower case; null: not listed. `*` in the id is the part after the colon in `model:route`. */
export function finder(list: PriceList, pricedAs: string): ((upstreamModel: string) => ListedModel | undefined) | null {
  const known = new Map<
    string,
    readonly { readonly model: ListedModel; readonly isAbout: (id: string) => boolean }[]
  >();
  const modelsOf = (vendor: string) => {
    const read = () => listedModels.parse(list(vendor) ?? []);
    const models = known.get(vendor) ?? read().map((model) => ({ model, isAbout: matcher(model.match) }));
    known.set(vendor, models);
    return models;
  };
  const named = (vendor: string, name: string) => modelsOf(vendor).find(({ isAbout }) => isAbout(name))?.model;
  const find = (vendor: string, name: string) => named(vendor, name) ?? named(vendor, name.toLowerCase());
  if (!pricedAs.includes("*")) return list(pricedAs) === null ? null : (name) => find(pricedAs, name);
  return (upstreamModel) => {
    const [name = "", route = ""] = upstreamModel.split(":");
    return find(pricedAs.replace("*", route), name);
  };
}

/**
 * Compares the upstream prices of all adapters' models on a day (`YYYY-MM-DD`) with a list. Models that have ended by then are skipped.
 * `unknown`: those that the list lacks, as `<provider>/<model>`.
 */
export function checkPrices(
  adapters: ReadonlyMap<string, AdapterSpec>,
  catalog: Catalog,
  list: PriceList,
  day: string,
) {
  const differences: PriceDifference[] = [];
  const unknown: string[] = [];
  let compared = 0;
  for (const [id, spec] of adapters) {
    const find = finder(list, spec.pricedAs ?? id);
    for (const listing of [...listingsOf(id, spec, "chat"), ...listingsOf(id, spec, "embeddings")]) {
      if (find === null || hasEnded(listing.spec.retires, day)) continue;
      const found = find(listing.upstreamModel);
      if (found === undefined) unknown.push(`${id}/${listing.upstreamModel}`);
      else {
        compared += 1;
        differences.push(...[differenceOf(listing, found, day, catalog)].filter((one) => one !== null));
      }
    }
  }
  return { differences, compared, unknown };
}

/** Whether a difference must be fixed: not if its adapter explains why it disagrees with the list. */
export function isFault({ note, difference }: PriceDifference): boolean {
  return difference === "ended" || note === null;
}
