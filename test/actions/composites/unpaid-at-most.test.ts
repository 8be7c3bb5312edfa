// Verifies the number in docs/guides/budgets.md: the maximum that a new account can cost us per day beyond what it pays, at current prices
// and limits.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { Params } from "../../../src/catalog/said.ts";
import { Opened } from "../../../src/gateway/drain.ts";
import { openComposites } from "../../../src/gateway/open-actions.ts";
import type { Foundation } from "../../../src/gateway/open-foundation.ts";
import { readConfig } from "../../../src/platform/config.ts";

/** An account's initial credit, and its maximum number of concurrent calls. */
const WELCOME_CENTS = 200;
const IN_FLIGHT_MAX = 64;

const never = () => {
  throw new Error("nothing is run here");
};
const config = readConfig({});
const UNPAID_CENTS = Math.round(config.unpaidCostNano / 1e7);
const foundation = {
  ...{ config, options: {}, stores: { records: {}, shared: false }, catalog: { current: never }, log: { logger: {} } },
  opened: new Opened(),
};
const { actions } = openComposites(foundation as unknown as Foundation, never);

/** The most expensive params of a composite: the maximum number of pages. */
const PARAMS: Readonly<Record<string, Params>> = {
  onescrape: { urls: Array.from({ length: 10 }, (_, at) => `https://a.example/${at}`) },
};

/** How much concurrent calls can cost above their prices, which the account must cover. */
function underWayCents(): number {
  const flat = actions.filter(({ launches }) => launches === undefined);
  const each = flat.map(({ action, price, upstreamCentsMax, example }) => {
    const params = PARAMS[action] ?? (example.params as Params);
    const cents = price.mode === "ranged" ? (price.quoteCents?.(params) ?? price.cents) : price.cents;
    if (cents === 0) return 0;
    const calls = Math.min(IN_FLIGHT_MAX, Math.floor(WELCOME_CENTS / cents));
    return calls * Math.max(0, (upstreamCentsMax?.(params) ?? 0) - cents);
  });
  // Models: their hold is their maximum cost, and the account has no more credit; one more route may be paid for a call. Jobs cost their
  // hold, plus the shared limit for all of an account's jobs.
  return Math.max(2 * WELCOME_CENTS, ...each) + UNPAID_CENTS;
}

it("what a fresh account can cost us a day beyond what it pays is the number that the operators' page says", () => {
  const cents = UNPAID_CENTS + underWayCents();
  const page = readFileSync(new URL("../../../docs/guides/budgets.md", import.meta.url), "utf8");
  expect(page).toContain(`**${cents} cents**`);
});
