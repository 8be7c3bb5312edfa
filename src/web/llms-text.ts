// GET /llms.txt: a short guide for agents: how to find, price, bound and call an action.
import type { CatalogAction } from "../run/action-catalog.ts";

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

/** The guide, in Markdown. */
export function llmsText(actions: readonly CatalogAction[], publicUrl: string): string {
  return `# Tollgate

> One HTTP interface to many metered actions (search, scraping, records, media, files) and to language models.
> Calls are paid per call from a balance, in cents, and only when they succeed.

Every call needs a key: \`Authorization: Bearer tg_sk_...\`. Finding and pricing need none, but for core/discover.

## Find

- POST ${publicUrl}/api/run/core/discover with \`{"query": "recent news about a company"}\`: the actions that do it, best first, with price and required params. Free.
- GET ${publicUrl}/api/run: every action in brief. Send If-None-Match with the last ETag to learn cheaply that nothing changed.

## Price

- GET ${publicUrl}/api/run/{service}/{action}: params as JSON Schema, an example, and the price. \`price.mode\` is \`fixed\` (always \`cents\`), \`ranged\` (the params decide, between \`min_cents\` and \`max_cents\`) or \`capped\` (the answer decides, never above \`max_cents\`).
- \`status\` is \`available\` or \`not_configured\`, for the key that you send with the question, and without one for a live account; calling the latter is 503 and free. \`sandbox\`: whether a key that begins with tg_sk_test_ is answered.
- Where the descriptor has a \`table\`, add \`?<param>=<name>\` to read of one of its names.

## Call

- POST ${publicUrl}/api/run/{service}/{action} with the params as a JSON body.
- Success: \`{"ok": true, "data": ..., "charged_cents": 1, "balance_remaining_cents": 199, "transaction_id": "..."}\`.
- Failure: \`{"ok": false, "error": "<code>", "message": "...", "hint": "what to do next", "charged_cents": 0}\`, and nothing is charged.
- On 429 and 503 wait for Retry-After (seconds).

## Bound

- \`max_cost_cents\` in the body: a call that could cost more is refused with 402 and does not run.
- \`Idempotency-Key\` header: a retry with the same key and body gets the first answer and no second charge.
- A key can have a ceiling per day, week or month, and a list of what it may call: ${publicUrl}/api/v1/agents.

## Language models

- POST ${publicUrl}/api/llm/v1/chat/completions in OpenAI's wire format (base URL ${publicUrl}/v1); model \`core/cheap\`, \`core/mid\`, \`core/best\` or a slug of GET ${publicUrl}/v1/models.

## What there is

${byCategory(actions)}

## More

- [OpenAPI 3.1](${publicUrl}/openapi.json): every action with one fixed price
- [Catalog as JSON](${publicUrl}/api/catalog) and [as a page](${publicUrl}/catalog)
- [Prices of models](${publicUrl}/api/llm/v1/pricing)
`;
}
