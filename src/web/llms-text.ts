// GET /llms.txt: a short guide for agents: how to find, price, bound and call an action.
import type { CatalogAction } from "../run/action-catalog.ts";
import { descriptorOf } from "../run/descriptor.ts";
import { OWN_ENDPOINTS, type OwnEndpoint } from "../run/own-endpoints.ts";
import { priceWords } from "./words.ts";

function byCategory(actions: readonly CatalogAction[]): string {
  const services = new Map<string, Set<string>>();
  for (const { service, facts } of actions) {
    services.set(facts.category, (services.get(facts.category) ?? new Set()).add(service));
  }
  return [...services]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([category, names]) => `- ${category}: ${[...names].join(", ")}`)
    .join("\n");
}

/** Our own actions, which ask many vendors at one price: what sets us apart. */
function ownActions(actions: readonly CatalogAction[]): string {
  return actions
    .filter(({ service }) => service === "core")
    .map(
      (action) =>
        `- \`${action.id}\` (${priceWords(descriptorOf(action).price)}): ${firstSentence(action.facts.description)}`,
    )
    .join("\n");
}

function firstSentence(text: string): string {
  return /^.*?[.;:](?=\s|$)/.exec(text)?.[0].replace(/[.;:]$/, "") ?? text;
}

function endpoints(service: OwnEndpoint["service"]): string {
  return OWN_ENDPOINTS.filter((one) => one.service === service)
    .map(({ method, path, description }) => `- ${method} ${path}: ${description}`)
    .join("\n");
}

/** The guide, in Markdown. */
export function llmsText(actions: readonly CatalogAction[], publicUrl: string): string {
  return `# Tollgate

> One HTTP interface to many metered actions (search, scraping, people, records, media, files) and to language models.
> Paid per call from a balance, in cents, and only when a call succeeds.

Base URL ${publicUrl}. Every call needs a key: \`Authorization: Bearer tg_sk_...\`. Reading the catalog needs none.

## Find

- POST /api/run/core/discover with \`{"query": "recent news about a company"}\`: the actions, models and endpoints that do it, best first, with price and required params. Free, for any key.
- GET /api/run: every action in brief; If-None-Match with the last ETag tells cheaply that nothing changed.
- GET /api/run/{service}/{action}: params as JSON Schema, an example, the price (\`fixed\`; \`ranged\`: the params decide; \`capped\`: the answer decides), and \`status\` for the key that asks: \`available\`, \`not_configured\` (503, free) or \`not_allowed\`. \`sandbox\`: whether a key that begins with tg_sk_test_ is answered. Where it has a \`table\`, add \`?<param>=<name>\`.

## Call an action

- POST /api/run/{service}/{action} with the params as a JSON body.
- Success: \`{"ok": true, "data": ..., "charged_cents": 1, "balance_remaining_cents": 199, "transaction_id": "..."}\`.
- Failure: \`{"ok": false, "error": "<code>", "message": "...", "hint": "what to do next"}\`, and nothing is charged. On 429 and 503 wait for Retry-After.
- \`max_cost_cents\` in the body: what could cost more is refused with 402. \`Idempotency-Key\` header: a retry gets the first answer and no second charge.

## Our own actions

${ownActions(actions)}

A deep action answers a \`job_id\`; ask core/result for it every 3 to 5 seconds, free.

## Models (clients of OpenAI's wires: base URL ${publicUrl}/v1)

Model: \`core/cheap\`, \`core/mid\`, \`core/best\`, or a slug of GET /v1/models.

${endpoints("llm")}

## Your account (free)

${endpoints("account")}

## Services

${byCategory(actions)}

## More

- [OpenAPI 3.1](${publicUrl}/openapi.json), [catalog as JSON](${publicUrl}/api/catalog), [as a page](${publicUrl}/catalog), [prices of models](${publicUrl}/api/llm/v1/pricing)
`;
}
