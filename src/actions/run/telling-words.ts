// How much a word of a query tells of what is meant: one that few have tells more than one that stands everywhere.
import { termsOf } from "./search-words.ts";

/** What a word tells that stands nowhere, such as the name of what is asked about; one that a tenth of all have tells 2.4. */
const UNKNOWN_WEIGHT = 2;

/** What is said of each owner, an action or an endpoint, whose rows count as one: that nine hundred of them have a word makes it no less telling of it. */
export class TellingWords<Owner> {
  readonly #owners = new Map<string, Set<Owner>>();
  readonly #phrases = new Map<Owner, readonly (readonly string[])[]>();
  /** Whose words are read now. */
  #reading: Owner | null = null;

  /** From now on words are of this one, of which these phrases are said. */
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

  knows(term: string): boolean {
    return this.#owners.has(term);
  }

  /** How much these tell together. */
  weight(terms: readonly string[]): number {
    const all = this.#phrases.size;
    return terms.reduce((sum, term) => {
      const owners = this.#owners.get(term);
      return sum + (owners === undefined ? UNKNOWN_WEIGHT : Math.log(1 + all / owners.size));
    }, 0);
  }

  /** How much of what these tell is one phrase of the owner's, from 0 to 1. */
  phrased(owner: Owner, terms: readonly string[]): number {
    const whole = (this.#phrases.get(owner) ?? []).filter((phrase) => phrase.every((term) => terms.includes(term)));
    return Math.max(0, ...whole.map((phrase) => this.weight(phrase))) / this.weight(terms);
  }
}
