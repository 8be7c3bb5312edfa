// Every version of a price, for as long as postings name it: stored with the records, and shown a year later by `tollgate doctor --price`.
import { z } from "zod";
import type { Catalog, TokenPrice, TokenRates, UnitPrice } from "../catalog/catalog.ts";
import { timeText } from "../catalog/price-answers.ts";
import { unitPriceText } from "../catalog/unit-price.ts";
import { systemClock } from "../core/clock.ts";
import { usdPerMillionText } from "../core/money.ts";
import { eachOf, inSlices, type Steps } from "../core/slices.ts";
import type { Records } from "../platform/records/records.ts";
import { revise } from "../platform/records/revise.ts";

const KIND = "price_versions";
/** Prices that come from no model list. A list's prices are in a record of its stamp, written once and read on demand. */
const BUILT_IN = "all";
const STAMP = /\.(?<stamp>\d{8}T\d{6})/;
const HOUR_MS = 3_600_000;

type Texts = Readonly<Record<string, string>>;

export interface KeptPrice {
  readonly version: string;
  /** When it was first for sale here, `YYYY-MM-DDTHH:MM:SSZ`. */
  readonly first_sold: string;
  /** USD per million tokens or per unit, by what is priced. */
  readonly usd: Texts;
  /** For longer prompts: the prices above a number of tokens. */
  readonly steps: readonly Texts[];
  readonly hours: readonly Texts[];
}

function ratesText({ input, output, cacheRead, cacheWrite, thousandth }: TokenRates): Texts {
  const texts = { input, output, cache_read: cacheRead, cache_write: cacheWrite, thousand_calls: thousandth };
  return Object.fromEntries(Object.entries(texts).map(([name, rate]) => [name, usdPerMillionText(rate)]));
}

type Price = TokenPrice | UnitPrice;

function keptOf(price: Price, firstSold: string): KeptPrice {
  const { version } = price;
  if (!("steps" in price)) return { version, usd: unitPriceText(price), steps: [], hours: [], first_sold: firstSold };
  const hours = price.hours.map(({ fromMinute, untilMinute, price: at }) => {
    return { from: timeText(fromMinute), until: timeText(untilMinute), ...ratesText(at) };
  });
  const steps = price.steps.map((step) => ({ above: String(step.promptTokens), ...ratesText(step) }));
  return { version, usd: ratesText(price), steps, hours, first_sold: firstSold };
}

function* pricesOf(catalog: Catalog): Steps<readonly Price[]> {
  const live = { sandbox: false };
  const byToken = yield* eachOf([...catalog.models(live), ...catalog.embeddings(live)], ({ sale }) => {
    return [sale, ...sale.hours.map(({ price }) => price)];
  });
  return [...byToken.flat(), ...catalog.unitModels(live).map(({ sale }) => sale)];
}

const keptSchema = z.record(z.string(), z.unknown());

function keptIn(text: string | null): Readonly<Record<string, unknown>> {
  return text === null ? {} : keptSchema.parse(JSON.parse(text));
}

function recordOf(version: string): string {
  return STAMP.exec(version.slice(version.lastIndexOf("@") + 1))?.groups?.stamp ?? BUILT_IN;
}

/** Adds the missing prices to one record; existing versions keep their first date. */
async function keepIn(records: Records, id: string, prices: readonly Price[]): Promise<void> {
  const firstSold = `${new Date(systemClock.epochMs()).toISOString().slice(0, 19)}Z`;
  await revise(records, { kind: KIND, id, payer: null, ttlMs: null }, async (text) => {
    const kept = keptIn(text);
    const fresh = prices.filter(({ version }) => !Object.hasOwn(kept, version));
    if (fresh.length === 0) return null;
    const rows = await inSlices(
      eachOf(fresh, (price) => `${JSON.stringify(price.version)}:${JSON.stringify(keptOf(price, firstSold))}`),
    );
    // Append to the text: serializing all of it again would take the thread as long as ten calls.
    const before = text === null || Object.keys(kept).length === 0 ? "{" : `${text.slice(0, -1)},`;
    return `${before}${rows.join(",")}}`;
  });
}

/** Stores the versions for sale now. `known`: versions that are surely stored; this adds to it. */
async function keepAll(records: Records, catalog: Catalog, known: Set<string>): Promise<void> {
  const prices = await inSlices(pricesOf(catalog));
  const fresh = new Map(prices.filter(({ version }) => !known.has(version)).map((price) => [price.version, price]));
  for (const [id, ofRecord] of Map.groupBy(fresh.values(), ({ version }) => recordOf(version))) {
    await keepIn(records, id, ofRecord);
    for (const { version } of ofRecord) known.add(version);
  }
}

/** What a version of a price was; null: no such version was for sale here. */
export async function keptPrice(records: Records, version: string): Promise<KeptPrice | null> {
  // Earlier releases kept all versions in one record: an entry there was for sale earlier.
  for (const id of new Set([BUILT_IN, recordOf(version)])) {
    const kept = keptIn((await records.get(KIND, id))?.value ?? null);
    if (Object.hasOwn(kept, version)) return kept[version] as KeptPrice;
  }
  return null;
}

/** Stores the versions for sale now, and hourly those whose prices have started since. */
export function keepPriceVersions(records: Records, catalog: () => Catalog, onBroken: (error: unknown) => void) {
  let last: Promise<void> = Promise.resolve();
  const known = new Set<string>();
  const note = () => {
    last = last.then(() => keepAll(records, catalog(), known)).catch(onBroken);
  };
  note();
  const timer = setInterval(note, HOUR_MS).unref();
  return {
    note,
    async stop() {
      clearInterval(timer);
      await last;
    },
  };
}
