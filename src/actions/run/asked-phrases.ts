// How near a query is to the phrases by which people ask for actions and endpoints, which stand apart from the words that these have of themselves.
import { termsOf } from "./search-words.ts";
import type { TellingWords } from "./telling-words.ts";
import type { MeantWord } from "./word-index.ts";

interface Phrase<Owner> {
  readonly owner: Owner;
  readonly terms: readonly string[];
}

/** The phrases of all owners, by the words in them: only those that share a word with a query are looked at. */
export class AskedPhrases<Owner> {
  readonly #byTerm = new Map<string, Phrase<Owner>[]>();
  readonly #words: TellingWords<Owner>;

  constructor(words: TellingWords<Owner>) {
    this.#words = words;
  }

  /** `asked`: phrases with a semicolon between them. */
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

  /** How near the nearest phrase of each owner is, from 0 to 1: what the phrase and the words that a query may mean share, of what both tell. */
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
