// The indexed fields of actions, endpoints, and their rows.
import type { CatalogAction } from "./action-catalog.ts";
import type { OwnEndpoint } from "./own-endpoints.ts";
import { paramNamesOf, tableOf } from "./params-schema.ts";

/** An action with the rows of its table, or an endpoint with its models. */
export type Owner = CatalogAction | OwnEndpoint;

export function isAction(owner: Owner): owner is CatalogAction {
  return "facts" in owner;
}

export function phrasesOf(list: string | readonly string[] = ""): readonly string[] {
  return typeof list === "string" ? list.split(";") : list;
}

/** The weight of a word by its field. */
export const BOOST = { name: 3, service: 2, keywords: 3, description: 2, params: 0.5, asked: 2 } as const;

/** The text of each field; an absent field is empty. */
export interface Entry extends Readonly<Partial<Record<keyof typeof BOOST, string>>> {
  /** The name of a row; null: the action or endpoint. */
  readonly row: string | null;
}

/** An action, then the rows of its table. */
export function* actionEntries(action: CatalogAction): Iterable<Entry> {
  const { facts, service } = action;
  yield {
    row: null,
    name: action.action,
    service: `${service} ${action.vendors[0]?.spec.name ?? ""}`,
    keywords: `${phrasesOf(facts.keywords).join(" ")} ${facts.category}`,
    description: facts.description,
    params: paramNamesOf(action).join(" "),
    asked: facts.asked ?? "",
  };
  for (const [row, { summary, params }] of Object.entries(tableOf(action)?.rows ?? {}))
    yield { row, name: row, description: summary, params: Object.keys(params).join(" ") };
}

export function endpointEntries(endpoint: OwnEndpoint, models: readonly string[]): readonly Entry[] {
  const { service, action, description, keywords, required, asked } = endpoint;
  const itself = {
    row: null,
    name: service === "llm" ? action : "",
    keywords,
    description,
    params: required.join(" "),
    asked,
  };
  return [itself, ...models.map((slug) => ({ row: slug, name: slug }))];
}
