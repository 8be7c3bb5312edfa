// The free action core/discover: ranks the actions that do what a caller wants, with their prices.
import { z } from "zod";
import type { Audience as CatalogAudience } from "../../catalog/catalog.ts";
import { type LocalAction, type LocalCall, localAction } from "../../catalog/local-action.ts";
import { getOrMake } from "../../core/maps.ts";
import { eachOf, inSlices } from "../../core/slices.ts";
import { isCallable, modelAllowed } from "../../money/accounts/allowed.ts";
import type { ActionCatalog, CatalogAction } from "./action-catalog.ts";
import {
  type ActionStatus,
  descriptorOf,
  endpointOf,
  priceCentsMax,
  priceCentsMin,
  rowPrice,
  statusOf,
} from "./descriptor.ts";
import { questioned, withAnswers } from "./natural-questions.ts";
import type { OwnEndpoint } from "./own-endpoints.ts";
import { paramsSchema, requiredParams, rowSchema, tableOf } from "./params-schema.ts";
import type { Found, FoundAny, FoundEndpoint, SearchAll } from "./search-index.ts";

const params = z.strictObject({
  query: z
    .string()
    .max(500)
    .regex(/\S/, "must not be blank")
    .trim()
    .meta({ description: "What should be done, in a few words" }),
  limit: z.int().min(1).max(50).default(10),
});

/** A row of the answer. `params` selects a row of the action's table, where it has one. */
export interface Discovered {
  readonly service: string;
  readonly action: string;
  readonly endpoint: string;
  /** The most and the least that one call can cost; null for models, which are priced by usage. */
  readonly price_cents: number | null;
  readonly price_min_cents: number | null;
  readonly required_params: readonly string[];
  readonly description: string;
  readonly category: string;
  readonly status: ActionStatus;
  /** Present where it is not POST. */
  readonly method?: "GET";
  /** For a model endpoint: some of the models that this key may use. */
  readonly models?: readonly string[];
  readonly params?: { readonly [param: string]: string };
}

const MODELS_NAMED = 5;

function endpointRow({ endpoint, row }: FoundEndpoint, models: readonly string[]): Discovered {
  const { service, action, path, method, description, required } = endpoint;
  const isFree = service === "account" || endpoint.models === "moderation";
  return {
    service,
    action,
    endpoint: path,
    price_cents: isFree ? 0 : null,
    price_min_cents: isFree ? 0 : null,
    required_params: required,
    description,
    category: service === "llm" ? "models" : "account",
    status: service === "account" || models.length > 0 ? "available" : "not_configured",
    ...(method === "GET" ? { method } : {}),
    ...(row === null
      ? service === "llm"
        ? { models: models.slice(0, MODELS_NAMED) }
        : {}
      : { params: { model: row } }),
  };
}

function actionRow({ action, row }: Found): Discovered {
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

export interface DiscoverDeps {
  readonly searchAll: SearchAll;
  readonly find: ActionCatalog["find"];
  /** The models of an endpoint that a configured provider serves, in order of preference. */
  readonly models: (endpoint: OwnEndpoint, audience: CatalogAudience) => readonly string[];
}

/** The number of results to search for a key with allowlists, because the results that it may not call are dropped. */
const LOOKED_THROUGH = 1_000;

/** The coverage that our answering composites claim for a question. */
const ANSWERS_COVER = 0.5;

/** The results for a query, best first; a question also gets our own composites. */
export async function discovered(
  { searchAll, find }: Pick<DiscoverDeps, "searchAll" | "find">,
  audience: CatalogAudience,
  query: string,
  countMax: number,
): Promise<readonly FoundAny[]> {
  const found = await searchAll(audience, query, countMax);
  const { isQuestion, answeredBy } = questioned(query);
  const answers = answeredBy.flatMap((id): FoundAny[] => {
    const action = find(id, audience);
    return action === null ? [] : [{ action, row: null, score: 0, covered: isQuestion ? ANSWERS_COVER : 0 }];
  });
  const named = new Set<CatalogAction>();
  return withAnswers(found, answers, isQuestion).filter((one) => {
    if (!("action" in one) || one.row !== null) return true;
    const isFirst = !named.has(one.action);
    named.add(one.action);
    return isFirst;
  });
}

/** What the key may call of the results, best first. */
async function rowsFor(
  { query, limit }: { readonly query: string; readonly limit: number },
  { payer, allows }: Pick<LocalCall, "payer" | "allows">,
  deps: DiscoverDeps,
): Promise<readonly Discovered[]> {
  const isBounded = allows.services !== null || allows.models !== null;
  const found = await discovered(deps, payer, query, isBounded ? LOOKED_THROUGH : limit);
  /** The models that the key may use, by endpoint. */
  const known = new Map<OwnEndpoint, readonly string[]>();
  const modelsOf = (endpoint: OwnEndpoint) => deps.models(endpoint, payer).filter((slug) => modelAllowed(allows, slug));
  const rowOf = (one: FoundAny): Discovered | null => {
    if ("action" in one) return isCallable(allows, one.action) ? actionRow(one) : null;
    const { endpoint, row } = one;
    if (endpoint.models === null) return endpointRow(one, []);
    const models = getOrMake(known, endpoint, modelsOf);
    if (allows.models !== null && models.length === 0) return null;
    return row === null || models.includes(row) ? endpointRow(one, models) : null;
  };
  // The first use of an action builds its schema, which takes as long as a few calls.
  const rows = await inSlices(eachOf(found, rowOf));
  return rows.filter((row) => row !== null).slice(0, limit);
}

export function discoverAction(deps: () => DiscoverDeps): LocalAction {
  return localAction({
    service: "core",
    action: "discover",
    asked:
      "which action; what can you do; what is offered; which tools are there; list of services; search the catalog",
    description:
      "Finds the actions, models and endpoints that do what you need, best first, of those that your key may call, with endpoint, price and required params. Free.",
    category: "core",
    keywords: "which action; catalog; list of services; tools; what can I call; price of an action",
    effect: "read",
    params,
    price: { mode: "fixed", cents: 0 },
    anyKey: true,
    run: (given, call) => rowsFor(given, call, deps()),
    example: { params: { query: "recent news about a company" } },
  });
}
