// Compares one model's price here with a list's: what differs, by how much, and whether that is credible.
import { parseUsdPerMillion } from "../../core/money.ts";
import type { TokenPrice, TokenRates } from "../catalog.ts";
import { compilePrice } from "../price.ts";
import type { TokenPriceSpec } from "../token-price.ts";
import { parseUnitPrice, type UnitPriceSpec } from "../unit-price.ts";
import { BadList, type ListedUnits, type Rates, ratesOf } from "./list.ts";

/** A price that changes by more than this factor, up or down, needs the operator's approval. */
export const MOVE_MAX = 3;
/** A price that changes by more than this factor is in other units. */
const UNITS_MOVE = 100;
/** A unit price that differs by less than this fraction was rounded. */
const ROUNDED = 0.001;

/** The list's price merged over ours. `held`: why it needs the operator's approval. */
export interface ComparedPrice<Price> {
  readonly price: Price;
  readonly held: string | null;
}

/** Throws if a list's price is not valid. `ours` is the price that it is compared with. */
function checked(where: string, text: string, ours: string | undefined): string {
  const usd = text.length > 30 ? null : parseUsdPerMillion(text);
  if (usd === null) throw new BadList(`${where} has no price: ${text.slice(0, 30)}`);
  if (usd === 0 && ours !== undefined && Number(ours) > 0)
    throw new BadList(`${where} costs nothing there, and ${ours} here`);
  return text;
}

/** Merges their rates over ours, bucket by bucket. A cache read price of zero means that the list has no price for that bucket. */
function ratesOver(where: string, ours: Rates | undefined, theirs: Rates): Rates {
  const cached = (text: string | undefined, own: string | undefined) => {
    if (text !== undefined && Number(text) > 0) return checked(where, text, own);
    // A bucket that cost the same as input continues to cost the same as input.
    return own === ours?.input ? undefined : own;
  };
  return ratesOf({
    cacheRead: cached(theirs.cacheRead, ours?.cacheRead),
    cacheWrite: cached(theirs.cacheWrite, ours?.cacheWrite),
    input: checked(where, theirs.input, ours?.input),
    output: checked(where, theirs.output, ours?.output),
  });
}

/** Our step that corresponds to one of theirs: some lists say "from 200,000 on" and mean "above 199,999". */
function stepLike(ours: TokenPriceSpec, promptTokens: number) {
  return ours.steps?.find((own) => Math.abs(own.promptTokens - promptTokens) <= 1);
}

function stepsOver(where: string, ours: TokenPriceSpec, theirs: TokenPriceSpec) {
  return (theirs.steps ?? []).map((step) => {
    const own = stepLike(ours, step.promptTokens);
    return { promptTokens: own?.promptTokens ?? step.promptTokens, ...ratesOver(where, own, step) };
  });
}

/** Lists have hours but not weekdays. */
function hoursOver(where: string, ours: TokenPriceSpec, theirs: TokenPriceSpec) {
  return theirs.hours?.map((one) => {
    const own = ours.hours?.find(({ from, until }) => from === one.from && until === one.until);
    const days = own?.weekdaysOnly === undefined ? {} : { weekdaysOnly: own.weekdaysOnly };
    return { from: one.from, until: one.until, ...days, ...ratesOver(where, own, one) };
  });
}

const BUCKETS = ["input", "output", "cacheRead", "cacheWrite"] as const;

function moveOf(ours: number, theirs: number): number {
  if (ours === theirs) return 1;
  return Math.min(ours, theirs) === 0 ? Number.POSITIVE_INFINITY : Math.max(ours / theirs, theirs / ours);
}

/** The largest factor between the rates of two prices: 3 if one is three times the other. */
function largestMove(ours: TokenPrice, theirs: TokenPrice): number {
  const ofRates = (a: TokenRates, b: TokenRates) => BUCKETS.map((bucket) => moveOf(a[bucket], b[bucket]));
  const steps = theirs.steps.flatMap((step) => {
    const own = ours.steps.find(({ promptTokens }) => promptTokens === step.promptTokens);
    return own === undefined ? [] : ofRates(own, step);
  });
  return Math.max(...ofRates(ours, theirs), ...steps);
}

function movedWords(move: number): string | null {
  if (move <= MOVE_MAX) return null;
  return Number.isFinite(move) ? `it moves by ${Math.round(move * 10) / 10} times` : "it had no price in one place";
}

/** Which of our price distinctions (by hour, or by prompt length) the list lacks; null if none. */
function untold(ours: TokenPriceSpec, theirs: TokenPriceSpec): string | null {
  if (ours.hours !== undefined && theirs.hours === undefined)
    return "the list does not say what it costs at which hour";
  const missing = ours.steps?.some((own) => !theirs.steps?.some((step) => stepLike(ours, step.promptTokens) === own));
  return missing === true ? "the list does not say what long prompts cost" : null;
}

/** The list's price from `since` on; null if it is ours. Throws BadList if it cannot be this model's price. */
export function comparedPrice(
  where: string,
  ours: TokenPriceSpec,
  theirs: TokenPriceSpec,
  { onlyInput, since }: { readonly onlyInput: boolean; readonly since: string },
): ComparedPrice<TokenPriceSpec> | null {
  const rates = ratesOver(where, ours, onlyInput ? { ...theirs, output: ours.output } : theirs);
  const own = compilePrice(ours, where);
  const listed = compilePrice({ since, ...rates }, where);
  const why = untold(ours, theirs);
  if (why !== null && BUCKETS.every((bucket) => own[bucket] === listed[bucket])) return null;
  // A model without output has one price, whatever the prompt length.
  const steps = onlyInput ? [] : stepsOver(where, ours, theirs);
  const { thousandCalls } = ours;
  const hours = hoursOver(where, ours, theirs);
  const price: TokenPriceSpec = {
    since,
    ...rates,
    ...(thousandCalls === undefined ? {} : { thousandCalls }),
    ...(steps.length === 0 ? {} : { steps }),
    ...(hours === undefined ? {} : { hours }),
  };
  const compiled = compilePrice(price, where);
  if (isSame(own, compiled)) return null;
  const move = largestMove(own, compiled);
  if (move > UNITS_MOVE && Number.isFinite(move)) {
    throw new BadList(
      `${where} costs ${Math.round(move)} times more or less there: its prices are in other units, or another model's`,
    );
  }
  return { price, held: why ?? movedWords(move) };
}

function isSame(a: TokenPrice, b: TokenPrice): boolean {
  const plain = ({ version: _version, since: _since, ...rest }: TokenPrice): unknown => ({
    ...rest,
    hours: rest.hours.map((one) => ({ ...one, price: plain(one.price) })),
  });
  return JSON.stringify(plain(a)) === JSON.stringify(plain(b));
}

/** The same for a unit price: compares the units that both have. */
export function comparedUnits(
  where: string,
  ours: UnitPriceSpec,
  theirs: ListedUnits,
  since: string,
): ComparedPrice<UnitPriceSpec> | null {
  const { taken: _taken, ...own } = ours;
  const changed: Partial<Record<keyof ListedUnits, string>> = {};
  let largest = 1;
  for (const [name, text] of Object.entries(theirs)) {
    const unit = name as keyof ListedUnits;
    const was = own[unit];
    if (was === undefined) continue;
    const usd = parseUnitPrice(unit, text);
    if (usd === null) throw new BadList(`${where} has no price: ${text.slice(0, 30)}`);
    if (usd === 0 && Number(was) > 0) throw new BadList(`${where} costs nothing there, and ${was} here`);
    const move = moveOf(parseUnitPrice(unit, was) ?? 0, usd);
    if (move > UNITS_MOVE && Number.isFinite(move))
      throw new BadList(`${where} has its prices in other units there, or is another model`);
    // A list with one price for all token types does not say anything about this type; an hourly price was derived from a price per second.
    if (move < 1 + ROUNDED || (unit !== "textIn" && /In$/.test(unit) && text === theirs.textIn)) continue;
    changed[unit] = text;
    largest = Math.max(largest, move);
  }
  if (Object.keys(changed).length === 0) return null;
  return { price: { ...own, ...changed, since }, held: movedWords(largest) };
}
