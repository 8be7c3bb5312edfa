// Inverse document frequency: a rare term weighs more than a common one.
import { termsOf } from "./search-words.ts";

/** The weight of a term that no entry has, such as a name. A term that a tenth of the owners have weighs 2.4. */
const UNKNOWN_WEIGHT = 2;

/** How many owners (actions and endpoints) have each term. An owner's rows count once: nine hundred rows do not make a term common. */
export class TellingWords<Owner> {
  readonly #owners = new Map<string, Set<Owner>>();
  readonly #phrases = new Map<Owner, readonly (readonly string[])[]>();
  #reading: Owner | null = null;

  /** The terms that follow belong to this owner, which has these key phrases. */
  read(owner: Owner, phrases: readonly string[]): void {
    this.#reading = owner;
    const terms = phrases.map(termsOf);
    this.#phrases.set(
      owner,
      terms.filter(({ length }) => length > 1),
    );
  }

  has(term: string): void {
    if (this.#reading === null) return;
    const owners = this.#owners.get(term);
    if (owners === undefined) this.#owners.set(term, new Set([this.#reading]));
    else owners.add(this.#reading);
  }

  weight(terms: readonly string[]): number {
    const all = this.#phrases.size;
    return terms.reduce((sum, term) => {
      const owners = this.#owners.get(term);
      return sum + (owners === undefined ? UNKNOWN_WEIGHT : Math.log(1 + all / owners.size));
    }, 0);
  }

  /** The weight of the owner's best phrase within these terms, as a share of their weight, from 0 to 1. */
  phrased(owner: Owner, terms: readonly string[]): number {
    const whole = (this.#phrases.get(owner) ?? []).filter((phrase) => phrase.every((term) => terms.includes(term)));
    return Math.max(0, ...whole.map((phrase) => this.weight(phrase))) / this.weight(terms);
  }
}
