// Prices a call of an action: its bound before it runs, and its cost afterwards.
import type { ActionSpec, PriceSpec } from "../../catalog/action.ts";
import type { TableEndpoint } from "../../catalog/endpoint-table.ts";
import type { Params } from "../../catalog/said.ts";
import { add, least, most, type Nano, nanoFromCents, ZERO } from "../../core/money.ts";
import type { Cost } from "../../core/plan.ts";
import type { Reading } from "../../core/route.ts";
import { atPointer } from "../../upstream/json-pointer.ts";
import { rowCents, rowUpstreamCents } from "./table-params.ts";

/** The most that a call with these params can cost, in cents. Throws where the price exceeds its own bound, which is a bug of ours. */
export function quoteCents(price: PriceSpec, params: Params, row: TableEndpoint | null): number {
  const cents = row === null ? (price.quoteCents?.(params) ?? price.cents) : rowCents(row, params, price.cents);
  if (!(cents >= 0 && cents <= price.cents)) throw new RangeError(`a quote of ${cents} cents, above ${price.cents}`);
  return cents;
}

/** Whether no call can ever cost anything. */
export function isFree(price: PriceSpec): boolean {
  return price.mode === "fixed" && price.cents === 0;
}

function countIn(answer: unknown, at: string): number {
  const value = at === "" ? answer : atPointer(answer, at);
  if (Array.isArray(value)) return value.length;
  const count = Number(value);
  return Number.isFinite(count) && count > 0 ? count : 0;
}

/** What an answer costs the caller; never more than `quoteNano`. */
function chargeNano(price: PriceSpec, quoteNano: Nano, reading: Reading): Nano {
  if (price.paid !== undefined) {
    const feeNano = nanoFromCents(reading.miss === true ? 0 : (price.paid.feeCents ?? 0));
    return least(quoteNano, add(reading.upstreamCostNano ?? ZERO, feeNano));
  }
  if (reading.miss === true && price.freeOnMiss === true) return ZERO;
  if (price.counted === undefined) return quoteNano;
  const { at, centsEach, baseCents = 0 } = price.counted;
  // Cap the vendor's count at the price's maximum, so that the sum stays small enough to be exact.
  const counted = nanoFromCents(Math.min(baseCents + countIn(reading.answer, at) * centsEach, price.cents));
  return least(quoteNano, most(counted, nanoFromCents(price.minCents ?? 0)));
}

/** What an answered call cost us, in cents. Vendors may charge less, or nothing, when they find nothing. */
export function upstreamCentsTaken(spec: ActionSpec, params: Params, row: TableEndpoint | null, miss: boolean): number {
  return (miss ? spec.upstreamMissCents : undefined) ?? upstreamCentsOf(spec, params, row);
}

export function upstreamCentsOf({ upstreamCents }: ActionSpec, params: Params, row: TableEndpoint | null): number {
  const ofRow = rowUpstreamCents(row, params);
  if (ofRow !== null) return ofRow;
  return typeof upstreamCents === "number" ? upstreamCents : upstreamCents(params);
}

export interface CostParts {
  readonly price: PriceSpec;
  readonly priceVersion: string;
  readonly quoteNano: Nano;
  /** The vendor's action that served, with its params; null where we served the call ourselves. */
  readonly served: { readonly spec: ActionSpec; readonly params: Params; readonly row: TableEndpoint | null } | null;
  readonly reading: Reading;
}

function upstreamNano(charged: Nano, price: PriceSpec, served: CostParts["served"], reading: Reading): Nano {
  const { needsMaxCost, paid } = price;
  if (reading.upstreamCostNano !== null) return reading.upstreamCostNano;
  if (served === null) return ZERO;
  if (paid !== undefined) return ZERO;
  // The answer states such a price. Without an answer, assume the vendor charged the most it can.
  if (needsMaxCost === true && reading.answer !== undefined) return charged;
  return nanoFromCents(upstreamCentsTaken(served.spec, served.params, served.row, reading.miss === true));
}

export function actionCost({ price, priceVersion, quoteNano, served, reading }: CostParts): Cost {
  const charged = chargeNano(price, quoteNano, reading);
  return {
    chargeNano: charged,
    upstreamNano: upstreamNano(charged, price, served, reading),
    usage: null,
    estimated: false,
    priceVersion,
  };
}
