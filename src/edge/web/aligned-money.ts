// Money in a column of the catalog's page: written so that the points of all rows stand below each other.

import type { PriceShown } from "../../actions/run/descriptor.ts";
import { type PicoPerToken, usdPerMillionText } from "../../core/money.ts";
import { type Html, html } from "./html.ts";

/** An amount taken apart at its point. */
export interface Money {
  /** Words before it: `up to `, `1 to `. */
  readonly before: string;
  readonly whole: string;
  /** From the point on, with the unit where that comes last: `.5¢`. */
  readonly fraction: string;
}

function parts(text: string): readonly [whole: string, fraction: string] {
  const [whole = "", fraction = ""] = text.split(".");
  return [whole, fraction];
}

/** The most that a call costs, in cents, after the least. */
export function centsMoney({ cents, min_cents = 0, max_cents = 0 }: PriceShown): Money {
  const most = cents ?? max_cents;
  if (most === 0) return { before: "", whole: "Free", fraction: "" };
  const spoken = (amount: number) => String(Number(amount.toFixed(4)));
  const [whole, fraction] = parts(spoken(most));
  const isOne = cents !== undefined || min_cents === most;
  const before = isOne ? "" : min_cents === 0 ? "up to " : `${spoken(min_cents)} to `;
  return { before, whole, fraction: `${fraction === "" ? "" : `.${fraction}`}¢` };
}

/** A price in USD per million tokens, with two decimals at least. */
export function usdMoney(price: PicoPerToken): Money {
  const [whole, fraction] = parts(usdPerMillionText(price));
  return { before: "", whole: `$${whole}`, fraction: `.${fraction.padEnd(2, "0")}` };
}

/** The amount in its cell; the class of `fractionClass` around the column gives all fractions one width. */
export function moneyHtml({ before, whole, fraction }: Money): Html {
  return html`${before}<b>${whole}</b><i>${fraction}</i>`;
}

/** The class, known to the style, that makes room for the longest fraction. */
export function fractionClass(column: readonly Money[]): string {
  return `fraction-${Math.max(0, ...column.map(({ fraction }) => fraction.length))}`;
}
