// A full-text index (BM25 by field) that also suggests terms for a misspelled one. `minisearch` ranked some intents lower.
import { distance } from "../../core/edit-distance.ts";
import { getOrMake } from "../../core/maps.ts";
import type { Steps } from "../../core/slices.ts";

/** A possible meaning of a query term; `share` is its weight relative to the term itself, from 0 to 1. */
export interface MeantWord {
  readonly term: string;
  readonly share: number;
}

interface Posting {
  readonly id: number;
  readonly weight: number;
}

const LENGTH_NORM = 0.6;
const SATURATION = 1.2;
/** Words of these lengths may differ by one edit, or by two. */
const [SLIP_CHARS_MIN, SLIPS_CHARS_MIN] = [5, 8];
const PREFIX_CHARS_MIN = 4;
const [PREFIX_SHARE, SLIP_SHARE] = [0.5, 0.35];
/** The most suggestions for an unknown term. */
const NEAR_MAX = 8;

function timesOf(terms: readonly string[]): ReadonlyMap<string, number> {
  const times = new Map<string, number>();
  for (const term of terms) times.set(term, (times.get(term) ?? 0) + 1);
  return times;
}

const isNear = (a: string, b: string, changesMax: number) =>
  changesMax > 0 && Math.abs(a.length - b.length) <= changesMax && distance(a, b) <= changesMax;

export interface IndexedField {
  readonly name: string;
  readonly boost: number;
  readonly terms: readonly string[];
}

interface Sum {
  readonly score: number;
  /** The weight of the query terms that match. */
  readonly coverage: number;
}

interface WeighedWord extends Sum {
  readonly term: string;
}

function* usualLengths(entries: readonly (readonly IndexedField[])[]): Steps<ReadonlyMap<string, number>> {
  const sums = new Map<string, { words: number; entries: number }>();
  for (const fields of entries) {
    for (const { name, terms } of fields) {
      if (terms.length === 0) continue;
      const sum = sums.get(name) ?? { words: 0, entries: 0 };
      sums.set(name, { words: sum.words + terms.length, entries: sum.entries + 1 });
    }
    yield;
  }
  return new Map([...sums].map(([name, sum]) => [name, sum.words / sum.entries]));
}

/** An entry's id is its position. */
export class WordIndex {
  readonly #postings = new Map<string, Posting[]>();
  /** The known terms by their first letter. */
  readonly #byLetter = new Map<string, string[]>();

  static *of(entries: readonly (readonly IndexedField[])[]): Steps<WordIndex> {
    const index = new WordIndex();
    const usual = yield* usualLengths(entries);
    for (const [id, fields] of entries.entries()) {
      const weights = new Map<string, number>();
      for (const { name, boost, terms } of fields) {
        const long = 1 - LENGTH_NORM + (LENGTH_NORM * terms.length) / (usual.get(name) ?? 1);
        for (const [term, count] of timesOf(terms)) {
          const weight = (boost * count * (SATURATION + 1)) / (count + SATURATION * long);
          weights.set(term, (weights.get(term) ?? 0) + weight);
        }
      }
      for (const [term, weight] of weights) index.#put(term, { id, weight });
      yield;
    }
    return index;
  }

  #put(term: string, posting: Posting): void {
    const postings = getOrMake(this.#postings, term, () => {
      getOrMake(this.#byLetter, term.slice(0, 1), () => []).push(term);
      return [];
    });
    postings.push(posting);
  }

  /** The sums of each entry over the query terms. Of the meanings of a term only the best counts. */
  sums(terms: readonly (readonly WeighedWord[])[]): ReadonlyMap<number, Sum> {
    const sums = new Map<number, Sum>();
    for (const meant of terms) {
      const best = new Map<number, Sum>();
      for (const one of meant) {
        for (const { id, weight } of this.#postings.get(one.term) ?? []) {
          const { score = 0, coverage = 0 } = best.get(id) ?? {};
          best.set(id, { score: Math.max(score, one.score * weight), coverage: Math.max(coverage, one.coverage) });
        }
      }
      for (const [id, { score, coverage }] of best) {
        const sum = sums.get(id);
        sums.set(id, { score: score + (sum?.score ?? 0), coverage: coverage + (sum?.coverage ?? 0) });
      }
    }
    return sums;
  }

  knows(term: string): boolean {
    return this.#postings.has(term);
  }

  /** Known terms that an unknown one may mean: completions, and terms within a few edits. */
  nearTo(term: string): readonly MeantWord[] {
    const changesMax = term.length < SLIP_CHARS_MIN ? 0 : term.length < SLIPS_CHARS_MIN ? 1 : 2;
    if (term.length < PREFIX_CHARS_MIN) return [];
    const near: MeantWord[] = [];
    for (const known of this.#byLetter.get(term.slice(0, 1)) ?? []) {
      if (near.length >= NEAR_MAX) break;
      if (known.startsWith(term)) near.push({ term: known, share: (PREFIX_SHARE * term.length) / known.length });
      else if (isNear(term, known, changesMax)) near.push({ term: known, share: SLIP_SHARE });
    }
    return near;
  }
}
