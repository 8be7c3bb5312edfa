// What every version of a price was, for as long as postings name it: kept with the records, told a year later by `tollgate doctor --price`.
import { z } from "zod";
import type { Catalog, TokenPrice, TokenRates, UnitPrice } from "../catalog/catalog.ts";
import { timeText } from "../catalog/price-answers.ts";
import { unitPriceText } from "../catalog/unit-price.ts";
import { systemClock } from "../core/clock.ts";
import { usdPerMillionText } from "../core/money.ts";
import { eachOf, inSlices, type Steps } from "../core/slices.ts";
import type { Records } from "../platform/records/records.ts";

const KIND = "price_versions";
/** The record of the prices that no list has brought. Those of a list are in a record of its stamp: it is written once, and read where a version is asked for. */
const BUILT_IN = "all";
const STAMP = /\.(?<stamp>\d{8}T\d{6})/;
/** Another process that writes at the same time is followed. */
const TRIES = 5;
const HOUR_MS = 3_600_000;

type Texts = Readonly<Record<string, string>>;

export interface KeptPrice {
  readonly version: string;
  /** When it was first sold here, `YYYY-MM-DDTHH:MM:SSZ`. */
  readonly first_sold: string;
  /** USD per million tokens, or by unit, by what it is for. */
  readonly usd: Texts;
  /** Of longer prompts: above so many tokens. */
  readonly steps: readonly Texts[];
  /** At other hours, UTC. */
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

/** A price, and those that it is at other hours. */
function withHours(price: TokenPrice): readonly Price[] {
  return [price, ...price.hours.map((at) => at.price)];
}

function* pricesOf(catalog: Catalog): Steps<readonly Price[]> {
  const live = { sandbox: false };
  const byToken = yield* eachOf([...catalog.models(live), ...catalog.embeddings(live)], ({ sale }) => withHours(sale));
  return [...byToken.flat(), ...catalog.unitModels(live).map(({ sale }) => sale)];
}

const keptSchema = z.record(z.string(), z.unknown());

async function keptIn(records: Records, id: string) {
  const record = await records.get(KIND, id);
  if (record === null) return { kept: {} as Readonly<Record<string, unknown>>, text: null, version: 0 };
  return { kept: keptSchema.parse(JSON.parse(record.value)), text: record.value, version: record.version };
}

/** Which record has a version. */
function recordOf(version: string): string {
  return STAMP.exec(version.slice(version.lastIndexOf("@") + 1))?.groups?.stamp ?? BUILT_IN;
}

function firstSoldNow(): string {
  return `${new Date(systemClock.epochMs()).toISOString().slice(0, 19)}Z`;
}

/** Adds to one record the prices that it does not have yet; a version that is there stays as it was first sold. False: others were always faster. */
async function keepIn(records: Records, id: string, prices: readonly Price[]): Promise<boolean> {
  const firstSold = firstSoldNow();
  for (let tries = 0; tries < TRIES; tries++) {
    const { kept, text, version: ifVersion } = await keptIn(records, id);
    const fresh = prices.filter(({ version }) => !Object.hasOwn(kept, version));
    if (fresh.length === 0) return true;
    const rows = await inSlices(
      eachOf(fresh, (price) => `${JSON.stringify(price.version)}:${JSON.stringify(keptOf(price, firstSold))}`),
    );
    // Behind what is there: writing all of it anew would take the thread for as long as ten calls.
    const before = text === null || Object.keys(kept).length === 0 ? "{" : `${text.slice(0, -1)},`;
    const put = { kind: KIND, id, payer: null, value: `${before}${rows.join(",")}}`, ttlMs: null, ifVersion };
    if ((await records.put(put)) !== null) return true;
  }
  return false;
}

/** Keeps what is sold now; `known` are the versions that are kept for certain, and grows. */
async function keepAll(records: Records, catalog: Catalog, known: Set<string>): Promise<void> {
  const prices = await inSlices(pricesOf(catalog));
  const fresh = new Map(prices.filter(({ version }) => !known.has(version)).map((price) => [price.version, price]));
  for (const [id, ofRecord] of Map.groupBy(fresh.values(), ({ version }) => recordOf(version))) {
    if (!(await keepIn(records, id, ofRecord))) continue;
    for (const { version } of ofRecord) known.add(version);
  }
}

/** What a version of a price was; null: none of that name was sold here. */
export async function keptPrice(records: Records, version: string): Promise<KeptPrice | null> {
  // Once all were in one record: what is there was first sold before.
  for (const id of new Set([BUILT_IN, recordOf(version)])) {
    const { kept } = await keptIn(records, id);
    if (Object.hasOwn(kept, version)) return kept[version] as KeptPrice;
  }
  return null;
}

export interface PriceVersions {
  /** Another catalog has come into force. */
  note(): void;
  stop(): Promise<void>;
}

/** Keeps the versions of what is sold now, and every hour those of prices that have begun since. */
export function keepPriceVersions(
  records: Records,
  catalog: () => Catalog,
  onBroken: (error: unknown) => void,
): PriceVersions {
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
