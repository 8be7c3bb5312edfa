// GET /llms.txt: a short guide for agents: how to find, price, limit and call an action.
import type { CatalogAction } from "../../actions/run/action-catalog.ts";
import { descriptorOf } from "../../actions/run/descriptor.ts";
import { OWN_ENDPOINTS, type OwnEndpoint } from "../../actions/run/own-endpoints.ts";
import { priceWords } from "./words.ts";

const LLM = "/api/llm/v1";
/** The longest description on a line, in characters. */
const BRIEF_MAX = 60;

function byCategory(actions: readonly CatalogAction[]): string {
  const services = new Map<string, Set<string>>();
  for (const { service, facts } of actions) {
    if (service !== "core") services.set(facts.category, (services.get(facts.category) ?? new Set()).add(service));
  }
  return [...services]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([category, names]) => `- ${category}: ${[...names].join(", ")}`)
    .join("\n");
}

/** Not listed: the one is described elsewhere in the guide, the other is an alias. */
const UNTOLD = new Set(["core/discover", "core/supersearch"]);

/** Our own actions, which call many vendors at one price: what sets us apart. */
function ownActions(actions: readonly CatalogAction[]): string {
  return actions
    .filter(({ service, id }) => service === "core" && !UNTOLD.has(id))
    .map((action) => `- ${action.id} (${priceWords(descriptorOf(action).price)}): ${inBrief(action.facts.description)}`)
    .join("\n");
}

/** As many clauses as fit on a line; an agent can request the rest. */
function inBrief(text: string): string {
  const sentence = /^.*?[.;:(](?=\s|$|\w)/.exec(text)?.[0].slice(0, -1).trim() ?? text;
  const [first = "", ...clauses] = sentence.split(/(?=, )/);
  let told = first;
  for (const clause of clauses) {
    if (told.length + clause.length > BRIEF_MAX) break;
    told += clause;
  }
  return told;
}

function endpoints(service: OwnEndpoint["service"], base: string): string {
  return OWN_ENDPOINTS.filter((one) => one.service === service)
    .map(({ path, description }) => `- ${path.replace(base, "")}: ${inBrief(description)}`)
    .join("\n");
}

export function llmsText(actions: readonly CatalogAction[], publicUrl: string): string {
  return `# Tollgate

> One HTTP interface to many metered actions (search, scraping, people, records, media, files) and to language models.
> Paid per call from a balance, in cents, and only when a call succeeds.

Base URL ${publicUrl}. Every call needs a key: \`Authorization: Bearer tg_sk_...\`. Reading the catalog needs none.

## Find

- POST /api/run/core/discover with \`{"query": "recent news about a company"}\`: the actions, models and endpoints that do it, best first, with price and required params. Free, for any key.
- GET /api/run: every action in brief, with an ETag.
- GET /api/run/{service}/{action}: params as JSON Schema, an example, the price (\`ranged\`: the params decide, \`capped\`: the answer does), and \`status\` for the key that asks: \`available\`, \`not_configured\` (503, free) or \`not_allowed\`. Where it has a \`table\`, add \`?<param>=<name>\`.

## Call an action

- POST /api/run/{service}/{action} with the params as a JSON body.
- Success: \`{"ok": true, "data": ..., "charged_cents": 1, "transaction_id": "..."}\`.
- Failure: \`{"ok": false, "error": "<code>", "message": "...", "hint": "what to do next"}\`, and nothing is charged. On 429 and 503 wait for Retry-After.
- \`max_cost_cents\` in the body: what could cost more is refused with 402. \`Idempotency-Key\` header: a retry gets the first answer and no second charge.

## Our own actions

${ownActions(actions)}

A deep action answers a \`job_id\`; ask core/result for it every 3 to 5 seconds, free.

## Models

Base URL: ${publicUrl}/api/llm/v1 for OpenAI's clients, ${publicUrl}/api/llm for Anthropic's and Google's. Model: \`core/cheap\`, \`core/mid\`, \`core/best\`, or a slug of GET /v1/models. POST below /api/llm/v1:

${endpoints("llm", LLM)}

## Your account (GET, free)

${endpoints("account", "")}

## Services

${byCategory(actions)}

## More

- [OpenAPI 3.1](${publicUrl}/openapi.json), [catalog](${publicUrl}/api/catalog), [as a page](${publicUrl}/catalog), [prices of models](${publicUrl}/api/llm/v1/pricing)
`;
}
