// GET /openapi.json: OpenAPI 3.1 of every action with one fixed price, and of the other public endpoints in brief.

import type { CatalogAction } from "../../actions/run/action-catalog.ts";
import { descriptorOf } from "../../actions/run/descriptor.ts";
import type { JsonSchema } from "../../actions/run/params-schema.ts";
import { eachOf } from "../../core/slices.ts";
import { COMPONENTS, MAX_COST, OTHER_PATHS, RESPONSES } from "./openapi-parts.ts";
import { dollars } from "./words.ts";

/** The params of an action with the fields that every call may have. */
export function bodySchema(params: JsonSchema): JsonSchema {
  const branches = (["anyOf", "oneOf"] as const).flatMap((choice) => {
    const some = params[choice];
    return Array.isArray(some) ? [[choice, some.map((one) => bodySchema(one as JsonSchema))] as const] : [];
  });
  if (params.properties === undefined) return { ...params, ...Object.fromEntries(branches) };
  return { ...params, properties: { ...params.properties, max_cost_cents: MAX_COST }, ...Object.fromEntries(branches) };
}

/** An action with one fixed price above zero: payable without a key. */
export function isPaidFixed({ facts: { price } }: CatalogAction): boolean {
  return price.mode === "fixed" && price.cents > 0;
}

/** `/.well-known/x402`: the URLs that accept payments, for crawlers that do not read OpenAPI. A call's 402 answer has its price. */
export function paidAddresses(actions: readonly CatalogAction[], publicUrl: string) {
  const resources = actions.filter(isPaidFixed).map((action) => `${publicUrl}${descriptorOf(action).endpoint}`);
  return { version: 1, resources };
}

function operation(action: CatalogAction, payTo: string | null) {
  const { service, action: name, description, category, price, params, example, deprecated } = descriptorOf(action);
  const cents = price.cents ?? 0;
  const withoutKey = payTo !== null && isPaidFixed(action);
  return {
    operationId: `${service}_${name}`.replaceAll("-", "_"),
    summary: `${service}/${name}`,
    description,
    tags: [category],
    security: withoutKey ? [{ bearer: [] }, {}] : [{ bearer: [] }],
    parameters: [{ $ref: "#/components/parameters/IdempotencyKey" }],
    requestBody: { required: true, content: { "application/json": { schema: bodySchema(params), example } } },
    responses: RESPONSES,
    "x-payment-info": {
      price: { mode: "fixed", currency: "USD", amount: dollars(cents) },
      ...(withoutKey ? { protocols: [{ x402: {} }] } : {}),
    },
    ...(deprecated === undefined ? {} : { deprecated: true }),
  };
}

const GUIDANCE =
  "POST /api/run/core/discover with {query} finds the action that does what you need, with its price; it is free. " +
  "GET /api/run/{service}/{action} describes one: params, price, example. POST the params to the same path to call it. " +
  "Only a success is charged. max_cost_cents in the body bounds what a call may cost; an Idempotency-Key header makes a " +
  "retry safe. Answers are {ok, data, charged_cents, balance_remaining_cents, transaction_id}; errors have ok false, a stable " +
  "error code and a hint. More: /llms.txt.";

/** The document for everything that can be called today. `payTo`: the recipient of payments without a key; null: calls need a key. */
export function* openApiDocument(actions: readonly CatalogAction[], publicUrl: string, payTo: string | null) {
  const fixed = actions.filter(({ facts }) => facts.price.mode === "fixed");
  const paths = yield* eachOf(
    fixed,
    (action) => [descriptorOf(action).endpoint, { post: operation(action, payTo) }] as const,
  );
  const categories = [...new Set(fixed.map(({ facts }) => facts.category))].sort();
  return {
    openapi: "3.1.0",
    info: {
      title: "Tollgate",
      version: "1.0.0",
      description:
        "A pay-per-call gateway. Every action with one fixed price is listed here; GET /api/run lists those whose price " +
        "depends on the call too.",
      "x-guidance": GUIDANCE,
    },
    servers: [{ url: publicUrl }],
    tags: [
      ...["catalog", "language models", "account"].map((name) => ({ name })),
      ...categories.map((name) => ({ name })),
    ],
    security: [{ bearer: [] }],
    paths: { ...OTHER_PATHS, ...Object.fromEntries(paths) },
    components: COMPONENTS,
  };
}
