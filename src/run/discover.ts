// The free action core/discover: says in order which actions do what somebody wants, with their prices.
import { z } from "zod";
import { type LocalAction, localAction } from "../catalog/local-action.ts";
import { descriptorOf, endpointOf, priceCentsMax, priceCentsMin, rowPrice, statusOf } from "./descriptor.ts";
import { paramsSchema, requiredParams, rowSchema, tableOf } from "./params-schema.ts";
import type { Found, Search } from "./search-index.ts";

const params = z.strictObject({
  query: z
    .string()
    .max(500)
    .regex(/\S/, "must not be blank")
    .trim()
    .meta({ description: "What should be done, in a few words" }),
  limit: z.int().min(1).max(50).default(10),
});

/** A row of the answer. `params` is there where an action must be told which of its endpoints is meant. */
export interface Discovered {
  readonly service: string;
  readonly action: string;
  readonly endpoint: string;
  /** The most that one call can cost, and the least. */
  readonly price_cents: number;
  readonly price_min_cents: number;
  readonly required_params: readonly string[];
  readonly description: string;
  readonly category: string;
  readonly status: "available" | "not_configured";
  readonly params?: { readonly [param: string]: string };
}

function rowOf({ action, row }: Found): Discovered {
  const shared = {
    service: action.service,
    action: action.action,
    endpoint: endpointOf(action),
    category: action.facts.category,
    status: statusOf(action),
  };
  const table = tableOf(action);
  const found = row === null ? undefined : table?.rows[row];
  if (row === null || table === null || found === undefined) {
    const { description } = descriptorOf(action);
    const required_params = requiredParams(paramsSchema(action));
    const prices = { price_cents: priceCentsMax(action), price_min_cents: priceCentsMin(action) };
    return { ...shared, ...prices, required_params, description };
  }
  const { cents = 0, min_cents = cents, max_cents = cents } = rowPrice(found, action.facts.price);
  return {
    ...shared,
    price_cents: max_cents,
    price_min_cents: min_cents,
    required_params: requiredParams(rowSchema(table, row, found)),
    description: found.summary,
    params: { [table.param]: row },
  };
}

export function discoverAction(search: Search): LocalAction {
  return localAction({
    service: "core",
    action: "discover",
    description: "Finds the actions that do what you need, best first, with endpoint, price and required params. Free.",
    category: "core",
    keywords: ["which action", "catalog", "list of services", "tools", "what can I call", "price of an action"],
    effect: "read",
    params,
    price: { mode: "fixed", cents: 0 },
    run: ({ query, limit }, { payer }) => search(payer, query, limit).map(rowOf),
    example: { params: { query: "recent news about a company" } },
  });
}
