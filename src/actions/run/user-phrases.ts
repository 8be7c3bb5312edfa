// Compares a query with the phrases that people use for actions and endpoints. They are indexed apart from the descriptions.
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
