// Describes an action to callers: what it does, its params, its price and its availability.

import type { PriceSpec } from "../../catalog/action.ts";
import type { TableEndpoint, TableParam } from "../../catalog/endpoint-table.ts";
import type { Json, JsonObject, Params } from "../../catalog/said.ts";
import { getOrMake } from "../../core/maps.ts";
import type { Allowed } from "../../core/plan.ts";
import { isCallable } from "../../money/accounts/allowed.ts";
import { type CatalogAction, waitsFor } from "./action-catalog.ts";
import { quoteCents } from "./action-price.ts";
import {
  type JsonSchema,
  paramNames,
  paramsSchema,
  requiredParams,
  rowSchema,
  type TableOf,
  tableOf,
} from "./params-schema.ts";

/** In cents, possibly fractional. `cents` where the price is fixed, else the minimum and maximum. */
export interface PriceShown {
  readonly mode: "fixed" | "ranged" | "capped";
  readonly cents?: number;
  readonly min_cents?: number;
  readonly max_cents?: number;
  readonly unit?: string;
  readonly free_on_miss: boolean;
  /** Calls must send `max_cost_cents`, else they get 402 `max_cost_required`. */
  readonly max_cost_required?: true;
  /** Where the params determine the price: what two calls cost. */
  readonly examples?: readonly { readonly params: JsonObject; readonly cents: number }[];
}

export type ActionStatus = "available" | "not_configured" | "not_allowed";

export interface Descriptor {
  readonly service: string;
  readonly action: string;
  readonly endpoint: string;
  readonly method: "POST";
  readonly description: string;
  readonly category: string;
  readonly price: PriceShown;
  readonly params: JsonSchema;
  /** Where the other params depend on a row of a table: how to get a row's description. */
  readonly table?: { readonly param: string; readonly count: number; readonly note: string };
  readonly example: JsonObject;
  /** For the requesting key, or a live account where there is none. `not_allowed`: the key's list of services lacks it. */
  readonly status: ActionStatus;
  readonly sandbox: boolean;
  /** Why it is not served, where the reason is more than a missing key. */
  readonly status_note?: string;
  readonly effect: "read" | "write";
  readonly payable_by: readonly string[];
  readonly deprecated?: { readonly announced: string; readonly sunset: string; readonly successor?: string };
}

const ANYTHING: Allowed = { services: null, models: null };

export function endpointOf({ id }: CatalogAction): string {
  return `/api/run/${id}`;
}

export function statusOf(action: CatalogAction, allows = ANYTHING): ActionStatus {
  if (!isCallable(allows, action)) return "not_allowed";
  return action.configured ? "available" : "not_configured";
}

export function priceCentsMax({ facts }: CatalogAction): number {
  return facts.price.cents;
}

export function priceCentsMin({ facts }: CatalogAction): number {
  const { mode, cents, minCents = 0 } = facts.price;
  return mode === "fixed" ? cents : minCents;
}

export function priceShown({ mode, cents, minCents, unit, freeOnMiss = false, needsMaxCost }: PriceSpec): PriceShown {
  const unitShown = unit === undefined ? {} : { unit };
  if (mode === "fixed") return { mode, cents, ...unitShown, free_on_miss: freeOnMiss };
  const required = needsMaxCost === undefined ? {} : { max_cost_required: needsMaxCost };
  return { mode, min_cents: minCents ?? 0, max_cents: cents, ...unitShown, free_on_miss: freeOnMiss, ...required };
}

/** Removes floating-point noise: 0.1 three times is 0.3. */
function tidy(cents: number): number {
  return Number(cents.toFixed(9));
}

/** The price of one row of a table, in the form of an action's price. */
export function rowPrice(row: TableEndpoint, price: PriceSpec): PriceShown {
  const each = row.cents ?? price.cents;
  const free_on_miss = price.freeOnMiss ?? false;
  if (row.per === undefined) return { mode: "fixed", cents: each, free_on_miss };
  const max_cents = tidy(each * Math.ceil(row.per.max));
  return { mode: "ranged", min_cents: each, max_cents, unit: row.per.unit, free_on_miss };
}

function tableNote({ param, count }: TableOf, action: CatalogAction): string {
  const more = `GET ${endpointOf(action)}?${param}=...`;
  return `${param} is one of ${count} names; each has further params. ${more} describes one; core/discover finds them.`;
}

function priceWithExamples({ facts, exampleParams }: CatalogAction): PriceShown {
  const { price, params: schema } = facts;
  const shown = priceShown(price);
  if (price.otherPrice === undefined) return shown;
  const examples = [exampleParams, price.otherPrice].map((params) => {
    return { params, cents: tidy(quoteCents(price, schema.parse(params) as Params, null)) };
  });
  return { ...shown, examples };
}

function build(action: CatalogAction): Descriptor {
  const { facts } = action;
  const table = tableOf(action);
  const note = waitsFor(action);
  return {
    service: action.service,
    action: action.action,
    endpoint: endpointOf(action),
    method: "POST",
    description: facts.description,
    category: facts.category,
    price: priceWithExamples(action),
    params: paramsSchema(action),
    ...(table === null ? {} : { table: { param: table.param, count: table.count, note: tableNote(table, action) } }),
    example: action.exampleParams,
    status: statusOf(action),
    sandbox: action.inSandbox,
    ...(note === undefined ? {} : { status_note: note }),
    effect: facts.effect,
    payable_by: ["balance"],
    ...(facts.retires === undefined ? {} : { deprecated: facts.retires }),
  };
}

const built = new WeakMap<CatalogAction, Descriptor>();

export function descriptorOf(action: CatalogAction): Descriptor {
  return getOrMake(built, action, build);
}

const SAMPLES: Readonly<Record<TableParam["type"], Json>> = {
  string: "...",
  integer: 1,
  number: 1,
  boolean: true,
  array: [],
  object: {},
};
const SAMPLE_URL = "https://example.com/file";

/** A sample value for a param: its default, its first allowed value, or a placeholder for its type. */
function sample({ type, format, default: usual, enum: some }: TableParam): Json {
  if (usual !== undefined) return usual;
  if (format === "uri") return type === "array" ? [SAMPLE_URL] : SAMPLE_URL;
  return some?.[0] ?? SAMPLES[type];
}

/** The descriptor of one row of an action's table; null where there is no such row. */
export function rowDescriptor(action: CatalogAction, name: string): Descriptor | null {
  const table = tableOf(action);
  const row = table === null || !Object.hasOwn(table.rows, name) ? undefined : table.rows[name];
  if (table === null || row === undefined) return null;
  const params = rowSchema(table, name, row);
  const example = requiredParams(params)
    .filter((key) => key !== table.param)
    .map((key) => [key, sample(row.params[key] ?? { type: "string" })] as const);
  const { table: _, ...whole } = descriptorOf(action);
  return {
    ...whole,
    description: row.summary,
    price: rowPrice(row, action.facts.price),
    params,
    example: { [table.param]: name, ...Object.fromEntries(example) },
  };
}

/** A row of the index: enough to choose by, without the schema. */
export function indexRow(action: CatalogAction, allows?: Allowed) {
  const { service, facts } = action;
  const schema = paramsSchema(action);
  const required = requiredParams(schema);
  return {
    service,
    action: action.action,
    endpoint: endpointOf(action),
    description: facts.description,
    category: facts.category,
    price_cents: priceCentsMax(action),
    price_min_cents: priceCentsMin(action),
    price_mode: facts.price.mode,
    required_params: required,
    optional_params: paramNames(schema).filter((name) => !required.includes(name)),
    effect: facts.effect,
    status: statusOf(action, allows),
    sandbox: action.inSandbox,
  };
}
