// The indexed fields of actions, endpoints, and their rows.
import type { CatalogAction } from "./action-catalog.ts";
import type { OwnEndpoint } from "./own-endpoints.ts";
import { paramNamesOf, tableOf } from "./params-schema.ts";
import { termsOf } from "./search-words.ts";
import type { TellingWords } from "./telling-words.ts";
import type { MeantWord } from "./word-index.ts";

interface Phrase<Owner> {
  readonly owner: Owner;
  readonly terms: readonly string[];
}

/** The phrases of all owners by their terms, so that a query is compared only with phrases that share a term. */
export class UserPhrases<Owner> {
  readonly #byTerm = new Map<string, Phrase<Owner>[]>();
  readonly #words: TellingWords<Owner>;

  constructor(words: TellingWords<Owner>) {
    this.#words = words;
  }

  /** `asked`: phrases, separated by semicolons. */
  read(owner: Owner, asked: string): void {
    for (const text of asked.split(";")) {
      const phrase = { owner, terms: termsOf(text) };
      for (const term of phrase.terms) {
        const known = this.#byTerm.get(term);
        if (known === undefined) this.#byTerm.set(term, [phrase]);
        else known.push(phrase);
      }
    }
  }

  /** The similarity of each owner's nearest phrase, from 0 to 1: shared weight, squared, over both weights. */
  nearest(meant: readonly MeantWord[], queryWeight: number): ReadonlyMap<Owner, number> {
    const shares = new Map<string, number>();
    for (const { term, share } of meant) shares.set(term, Math.max(share, shares.get(term) ?? 0));
    const shared = new Map<Phrase<Owner>, number>();
    for (const [term, share] of shares) {
      const weight = share * this.#words.weight([term]);
      for (const phrase of this.#byTerm.get(term) ?? []) shared.set(phrase, (shared.get(phrase) ?? 0) + weight);
    }
    const nearest = new Map<Owner, number>();
    for (const [phrase, weight] of shared) {
      const near = (weight * weight) / (queryWeight * this.#words.weight(phrase.terms));
      nearest.set(phrase.owner, Math.max(nearest.get(phrase.owner) ?? 0, Math.min(1, near)));
    }
    return nearest;
  }
}

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
