// Money in a column of the catalog's page, aligned at the decimal points.

import type { PriceShown } from "../../actions/run/descriptor.ts";
import { type PicoPerToken, usdPerMillionText } from "../../core/money.ts";
import { type Html, html } from "./html.ts";

/** An amount split at its decimal point. */
export interface Money {
  /** The words before it: `up to `, `1 to `. */
  readonly before: string;
  readonly whole: string;
  /** From the decimal point on, with the unit where it comes last: `.5¢`. */
  readonly fraction: string;
}

function parts(text: string): readonly [whole: string, fraction: string] {
  const [whole = "", fraction = ""] = text.split(".");
  return [whole, fraction];
}

/** The highest price of a call, in cents, preceded by the lowest. */
export function centsMoney({ cents, min_cents = 0, max_cents = 0 }: PriceShown): Money {
  const most = cents ?? max_cents;
  if (most === 0) return { before: "", whole: "Free", fraction: "" };
  const spoken = (amount: number) => String(Number(amount.toFixed(4)));
  const [whole, fraction] = parts(spoken(most));
  const isOne = cents !== undefined || min_cents === most;
  const before = isOne ? "" : min_cents === 0 ? "up to " : `${spoken(min_cents)} to `;
  return { before, whole, fraction: `${fraction === "" ? "" : `.${fraction}`}¢` };
}

/** A price in USD per million tokens, with at least two decimals. */
export function usdMoney(price: PicoPerToken): Money {
  const [whole, fraction] = parts(usdPerMillionText(price));
  return { before: "", whole: `$${whole}`, fraction: `.${fraction.padEnd(2, "0")}` };
}

/** The amount in its cell; the column's `fractionClass` gives all fractions the same width. */
export function moneyHtml({ before, whole, fraction }: Money): Html {
  return html`${before}<b>${whole}</b><i>${fraction}</i>`;
}

/** The CSS class that makes room for the longest fraction. */
export function fractionClass(column: readonly Money[]): string {
  return `fraction-${Math.max(0, ...column.map(({ fraction }) => fraction.length))}`;
}
