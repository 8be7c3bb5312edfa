// The indexed fields of actions, endpoints, and their rows; and the words of those.
import { getOrMake } from "../../core/maps.ts";
import type { CatalogAction } from "./action-catalog.ts";
import type { OwnEndpoint } from "./own-endpoints.ts";
import { paramNamesOf, tableOf } from "./params-schema.ts";
import { termsOf } from "./search-words.ts";
import type { MeantWord } from "./word-index.ts";

interface Phrase {
  readonly owner: Owner;
  readonly terms: readonly string[];
}

/** The weight of a term that no entry has, such as a name. A term that a tenth of the owners have weighs 2.4. */
const UNKNOWN_WEIGHT = 2;

/** The owners of entries: the terms of each, its key phrases, and the phrases that people use for it. */
export class OwnerWords {
  /** By term. An owner's rows count once: nine hundred rows do not make a term common. */
  readonly #owners = new Map<string, Set<Owner>>();
  readonly #keys = new Map<Owner, readonly (readonly string[])[]>();
  /** What people ask, by each term, so that a query is compared only with phrases that share a term. */
  readonly #asked = new Map<string, Phrase[]>();

  add(owner: Owner): void {
    const { keywords, asked = "" } = isAction(owner) ? owner.facts : owner;
    this.#keys.set(
      owner,
      phrasesOf(keywords)
        .map(termsOf)
        .filter(({ length }) => length > 1),
    );
    for (const text of asked.split(";")) {
      const phrase = { owner, terms: termsOf(text) };
      for (const term of phrase.terms) getOrMake(this.#asked, term, () => []).push(phrase);
    }
  }

  has(owner: Owner, term: string): void {
    getOrMake(this.#owners, term, () => new Set()).add(owner);
  }

  /** The inverse document frequency of terms together: a rare term weighs more than a common one. */
  weight(terms: readonly string[]): number {
    return terms.reduce((sum, term) => {
      const owners = this.#owners.get(term);
      return sum + (owners === undefined ? UNKNOWN_WEIGHT : Math.log(1 + this.#keys.size / owners.size));
    }, 0);
  }

  /** The weight of the owner's best key phrase within these terms, as a share of their weight, from 0 to 1. */
  phrased(owner: Owner, terms: readonly string[]): number {
    const whole = (this.#keys.get(owner) ?? []).filter((phrase) => phrase.every((term) => terms.includes(term)));
    return Math.max(0, ...whole.map((phrase) => this.weight(phrase))) / this.weight(terms);
  }

  /** The similarity of each owner's nearest phrase, from 0 to 1: shared weight, squared, over both weights. */
  nearest(meant: readonly MeantWord[], queryWeight: number): ReadonlyMap<Owner, number> {
    const shares = new Map<string, number>();
    for (const { term, share } of meant) shares.set(term, Math.max(share, shares.get(term) ?? 0));
    const shared = new Map<Phrase, number>();
    for (const [term, share] of shares) {
      const weight = share * this.weight([term]);
      for (const phrase of this.#asked.get(term) ?? []) shared.set(phrase, (shared.get(phrase) ?? 0) + weight);
    }
    const nearest = new Map<Owner, number>();
    for (const [phrase, weight] of shared) {
      const near = (weight * weight) / (queryWeight * this.weight(phrase.terms));
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

function phrasesOf(list: string | readonly string[] = ""): readonly string[] {
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
