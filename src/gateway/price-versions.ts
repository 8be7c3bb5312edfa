// What every version of a price was, for as long as postings name it: kept with the records, told a year later by `tollgate doctor --price`.
import { z } from "zod";
import type { Catalog, TokenPrice, TokenRates, UnitPrice } from "../catalog/catalog.ts";
import { timeText } from "../catalog/price-answers.ts";
import { unitPriceText } from "../catalog/unit-price.ts";
import { systemClock } from "../clock.ts";
import { usdPerMillionText } from "../money.ts";
import type { Records } from "../records/records.ts";

/** One record has them all: a few hundred bytes for each price that was ever sold. */
const KIND = "price_versions";
const ID = "all";
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

type Price = Omit<KeptPrice, "first_sold">;

function tokenPrice(price: TokenPrice): readonly Price[] {
  const hours = price.hours.map(({ fromMinute, untilMinute, price: at }) => {
    return { from: timeText(fromMinute), until: timeText(untilMinute), ...ratesText(at) };
  });
  const steps = price.steps.map((step) => ({ above: String(step.promptTokens), ...ratesText(step) }));
  const own = { version: price.version, usd: ratesText(price), steps, hours };
  return [own, ...price.hours.flatMap((one) => tokenPrice(one.price))];
}

function unitPrice(price: UnitPrice): Price {
  return { version: price.version, usd: unitPriceText(price), steps: [], hours: [] };
}

function pricesOf(catalog: Catalog): readonly Price[] {
  const live = { sandbox: false };
  const byToken = [...catalog.models(live), ...catalog.embeddings(live)].flatMap(({ sale }) => tokenPrice(sale));
  return [...byToken, ...catalog.unitModels(live).map(({ sale }) => unitPrice(sale))];
}

const keptSchema = z.record(z.string(), z.unknown());

async function allKept(records: Records) {
  const record = await records.get(KIND, ID);
  if (record === null) return { kept: {}, version: 0 };
  return { kept: keptSchema.parse(JSON.parse(record.value)), version: record.version };
}

/** Keeps what is not kept yet; a version that is there stays as it was first sold. */
async function keepAll(records: Records, catalog: Catalog): Promise<void> {
  const firstSold = `${new Date(systemClock.epochMs()).toISOString().slice(0, 19)}Z`;
  const prices = pricesOf(catalog);
  for (let tries = 0; tries < TRIES; tries++) {
    const { kept, version } = await allKept(records);
    const fresh = prices.filter((price) => !Object.hasOwn(kept, price.version));
    if (fresh.length === 0) return;
    const added = fresh.map((price): [string, KeptPrice] => [price.version, { ...price, first_sold: firstSold }]);
    const value = JSON.stringify({ ...kept, ...Object.fromEntries(added) });
    const put = { kind: KIND, id: ID, payer: null, value, ttlMs: null, ifVersion: version };
    if ((await records.put(put)) !== null) return;
  }
}

/** What a version of a price was; null: none of that name was sold here. */
export async function keptPrice(records: Records, version: string): Promise<KeptPrice | null> {
  const { kept } = await allKept(records);
  return Object.hasOwn(kept, version) ? (kept[version] as KeptPrice) : null;
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
  const note = () => {
    last = last.then(() => keepAll(records, catalog())).catch(onBroken);
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
