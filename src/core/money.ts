// The only arithmetic on money: integer nano-USD amounts, integer pico-USD-per-token prices, one rounding up per call.

/** An amount in nano-USD (1e-9 USD). Always a safe integer, so exact up to about 9 million dollars. */
export type Nano = number & { readonly __unit: "nano-usd" };

/** A price in pico-USD (1e-12 USD) per token, which is the same number as micro-USD per million tokens. */
export type PicoPerToken = number & { readonly __unit: "pico-usd-per-token" };

export const NANO_PER_CENT = 10_000_000;
export const NANO_PER_USD = 1_000_000_000;
export const ZERO = 0 as Nano;
const MINUTES_PER_HOUR = 60;

/** Whole nano-USD in reports: a number, or text beyond exact numbers. Below zero: a loss. */
export type NanoSum = number | string;

/** The most that an account may be granted: beyond it doubles stop being exact (Redis scripts compute in doubles). */
export const GRANTED_NANO_MAX = 9_000_000_000_000_000 as Nano;

const DECIMAL = /^(\d{1,9})(?:\.(\d{1,12}))?$/;

/** Parses a non-negative decimal string into an integer of `10^-digits`; null where it is not a decimal or not exact. */
function parseDecimal(text: string, digits: number): number | null {
  const match = DECIMAL.exec(text);
  if (!match) return null;
  const fraction = (match[2] ?? "").replace(/(?<!0)0+$/, "");
  if (fraction.length > digits) return null;
  const value = Number(match[1]) * 10 ** digits + Number(fraction.padEnd(digits, "0") || "0");
  return Number.isSafeInteger(value) ? value : null;
}

/** Parses a price in USD per million tokens, such as "0.15"; null unless it is an exact whole of pico-USD per token. */
export function parseUsdPerMillion(text: string): PicoPerToken | null {
  return parseDecimal(text, 6) as PicoPerToken | null;
}

/** A USD price for `units` of something, such as "0.36" for 3,600 seconds, in pico-USD for one, rounded up; null where invalid. */
export function parseUsdPer(units: number, text: string): PicoPerToken | null {
  const nanoUsd = parseDecimal(text, 9);
  if (nanoUsd === null || nanoUsd > Number.MAX_SAFE_INTEGER / 1000) return null;
  return Math.ceil((nanoUsd * 1000) / units) as PicoPerToken;
}

/** Parses a decimal amount of USD, such as "12.5"; null unless it is an exact whole of nano-USD. */
export function parseUsd(text: string): Nano | null {
  return parseDecimal(text, 9) as Nano | null;
}

/** Checks that a number is a whole, safe, non-negative count of nano-USD. Throws RangeError otherwise: that is our bug. */
export function nano(value: number): Nano {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`not an amount in nano-USD: ${value}`);
  return value as Nano;
}

/** Whole or fractional cents as nano-USD, rounded up. */
export function nanoFromCents(cents: number): Nano {
  const exact = cents * NANO_PER_CENT;
  return nano(Number.isSafeInteger(exact) ? exact : Math.ceil(Number(exact.toFixed(3))));
}

/** An amount in cents, fractions included. */
export function centsOf(amount: Nano): number {
  return amount / NANO_PER_CENT;
}

/** Cents that a report shows as whole nano-USD; they may be below zero. */
export function sumOfCents(cents: number): NanoSum {
  return Math.round(cents * NANO_PER_CENT);
}

/** The exact sum of report amounts. */
export function sumOf(all: readonly NanoSum[]): string {
  return String(all.reduce<bigint>((sum, one) => sum + BigInt(one), 0n));
}

/** `a - b`, exactly, also below zero. */
export function lessOf(a: NanoSum, b: NanoSum): string {
  return String(BigInt(a) - BigInt(b));
}

/** How many whole days a balance lasts at the rate of `spent` in `days`; null where nothing was spent. */
export function daysLasting(balance: NanoSum, spent: NanoSum, days: number): number | null {
  return BigInt(spent) <= 0n ? null : Number((BigInt(balance) * BigInt(days)) / BigInt(spent));
}

export function add(a: Nano, b: Nano): Nano {
  return nano(a + b);
}

/** `a - b`, never below zero. */
export function minus(a: Nano, b: Nano): Nano {
  return nano(Math.max(0, a - b));
}

/** One of `count` equal parts, rounded down; 0 for a negative amount. */
export function part(amount: Nano, count: number): Nano {
  return Math.max(0, Math.floor(amount / count)) as Nano;
}

/** The cost of `minutes` at a price per hour, rounded up. */
export function minutesAt(perHour: Nano, minutes: number): Nano {
  return nano(Math.ceil((perHour * minutes) / MINUTES_PER_HOUR));
}

/** Converts an amount from one hourly price to another, rounded up. */
export function atOtherPrice(amount: Nano, perHour: Nano, otherPerHour: Nano): Nano {
  return nano(Number((BigInt(amount) * BigInt(otherPerHour) + BigInt(perHour) - 1n) / BigInt(perHour)));
}

/** A percentage of an amount, rounded up. The product can exceed exact numbers. */
export function percentOf(amount: Nano, percent: number): Nano {
  return nano(Number((BigInt(amount) * BigInt(percent) + 99n) / 100n));
}

export function least(a: Nano, b: Nano): Nano {
  return a < b ? a : b;
}

export function most(a: Nano, b: Nano): Nano {
  return a > b ? a : b;
}

/** The sum of count x price, in nano-USD, rounded up once. Exact for any count: falls back to BigInt. */
export function costOf(counts: readonly number[], prices: readonly PicoPerToken[]): Nano {
  if (counts.length !== prices.length) throw new RangeError("each count has a price");
  let sum = 0;
  for (let at = 0; at < counts.length; at++) sum += priced(counts, at) * priced(prices, at);
  if (sum <= Number.MAX_SAFE_INTEGER) return nano(Math.ceil(sum / 1000));
  let exact = 0n;
  for (let at = 0; at < counts.length; at++) exact += BigInt(priced(counts, at)) * BigInt(priced(prices, at));
  return nano(Number((exact + 999n) / 1000n));
}

/** What is missing would be given away if it counted as nothing. */
function priced(amounts: readonly number[], at: number): number {
  const amount = amounts[at];
  if (amount === undefined) throw new RangeError("each count has a price");
  return amount;
}

/** How many units at `price` the amount pays for. A price of zero affords any number: null. */
export function affordable(amount: Nano, price: PicoPerToken): number | null {
  return price === 0 ? null : Number((BigInt(amount) * 1000n) / BigInt(price));
}

/** How many calls of `each` the amount pays for; 0 where a call costs nothing, which no amount limits. */
export function callsAffordable(amount: Nano, each: Nano): number {
  return each === 0 ? 0 : Math.floor(amount / each);
}

/** A price raised by a whole or fractional percentage, rounded up to a whole pico-USD. */
export function markUp(price: PicoPerToken, percent: number): PicoPerToken {
  const basisPoints = BigInt(Math.round(percent * 100));
  return Number((BigInt(price) * (10_000n + basisPoints) + 9_999n) / 10_000n) as PicoPerToken;
}

/** Cents that show an amount never smaller than it is (holds, spend). */
export function centsUp(amount: Nano): number {
  return Math.ceil(amount / NANO_PER_CENT);
}

/** Cents that show an amount never larger than it is (what is left). */
export function centsDown(amount: Nano): number {
  return Math.floor(amount / NANO_PER_CENT);
}

/**
 * The cents that a posting of `amount` adds to an account that has spent `spentBefore`: the difference of the two
 * cumulative spends rounded up. So an account's cents always add up to the cents of its spend.
 */
export function chargedCents(spentBefore: Nano, amount: Nano): number {
  return centsUp(add(spentBefore, amount)) - centsUp(spentBefore);
}

export function usdText(amount: Nano): string {
  return decimalText(amount, 9);
}

/** The same of a sum, such as one over all accounts, or a loss. */
export function usdTextOfSum(nano: NanoSum): string {
  return decimalText(nano, 9);
}

/** A price per token as an exact decimal string of USD per token, such as "0.00000015". */
export function usdPerTokenText(price: PicoPerToken): string {
  return decimalText(price, 12);
}

/** A price of one unit as a decimal string of USD for `units` of it, such as "0.36" for 3,600 seconds: to six places, because one is rounded up. */
export function usdPerText(units: number, price: PicoPerToken): string {
  return decimalText(String((BigInt(price) * BigInt(units)) / 1_000_000n), 6);
}

/** A price as an exact decimal string of USD per million tokens, such as "0.15". */
export function usdPerMillionText(price: PicoPerToken): string {
  return decimalText(price, 6);
}

/** An amount as the JSON number of USD that usage objects carry. For reading by people and SDKs, never for arithmetic. */
export function usdNumber(amount: Nano): number {
  return amount / NANO_PER_USD;
}

function decimalText(value: number | string, digits: number): string {
  const signed = String(value);
  const sign = signed.startsWith("-") ? "-" : "";
  const text = signed.slice(sign.length).padStart(digits + 1, "0");
  const whole = `${sign}${text.slice(0, -digits)}`;
  const fraction = text.slice(-digits).replace(/(?<!0)0+$/, "");
  return fraction ? `${whole}.${fraction}` : whole;
}
