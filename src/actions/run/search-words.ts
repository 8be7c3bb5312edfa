// Normalises words for the search: drops stop words, stems the rest, and maps synonyms (search-words.json).
import { readFileSync } from "node:fs";
import { getOrMake } from "../../core/maps.ts";

/** Each group is words with spaces between them. */
interface WordGroups {
  /** Words that do not tell actions apart. */
  readonly silent: readonly string[];
  /** Words for one thing: the first stands for all of them. */
  readonly same: readonly string[];
  /** Words with a related meaning: each also finds the others, at less weight. */
  readonly near: readonly string[];
}

const GROUPS: WordGroups = JSON.parse(readFileSync(new URL("search-words.json", import.meta.url), "utf8"));
const SILENT = new Set(GROUPS.silent.flatMap((group) => group.split(" ")));

/** Endings and their replacements, longest first. Crude, but queries and entries are stemmed alike. */
const ENDINGS: readonly (readonly [RegExp, string])[] = [
  [/(ss|[xz]|[cs]h)es$/, "$1"],
  [/([a-z]{2})ies$/, "$1y"],
  [/([^s])s$/, "$1"],
];
const FORMS: readonly RegExp[] = [
  /(?<=[a-z]{3})ful$/,
  /(?<=[a-z]{3})ly$/,
  /(?<=[a-z]{3})ations?$/,
  /(?<=[a-z]{4})ate$/,
  /(?<=[a-z]{3})ing$/,
  /(?<=[a-z]{3})ed$/,
];

/** A word without its ending: `charities`, `charity` -> `charity`; `scraping`, `scraped`, `scrape` -> `scrap`. */
export function stem(word: string): string {
  if (word.length < 4 || /\d/.test(word)) return word;
  let stemmed = word;
  const plural = ENDINGS.find(([ending]) => ending.test(stemmed));
  if (plural !== undefined && !/(us|is)$/.test(stemmed)) stemmed = stemmed.replace(plural[0], plural[1]);
  const form = FORMS.find((ending) => ending.test(stemmed));
  if (form !== undefined) stemmed = stemmed.replace(form, "");
  stemmed = stemmed.replace(/([bdgmnprt])\1$/, "$1");
  return stemmed.length > 3 ? stemmed.replace(/e$/, "") : stemmed;
}

/** The words of a text, in lower case and without accents: `camelCase` and `snake_case` are two, `10-K` is one. */
export function wordsOf(text: string): readonly string[] {
  const plain = text
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .normalize("NFD")
    .replace(/\p{Mn}/gu, "")
    .toLowerCase();
  return plain.replace(/\b(\d+)-([a-z])\b/g, "$1$2").match(/[\p{L}\p{N}]+/gu) ?? [];
}

const FIRST_OF_SAME: ReadonlyMap<string, string> = new Map(
  GROUPS.same.flatMap((group) => {
    const [first = "", ...others] = group.split(" ").map(stem);
    return others.map((other) => [other, first] as const);
  }),
);

/** The term that a word is indexed by; null: a stop word. */
function termOf(word: string): string | null {
  if (SILENT.has(word)) return null;
  const stemmed = stem(word);
  return FIRST_OF_SAME.get(stemmed) ?? stemmed;
}

/** The terms of a text, with repeats. `known` caches the term of each word across texts. */
export function allTermsOf(text: string, known = new Map<string, string | null>()): readonly string[] {
  return wordsOf(text).flatMap((word) => getOrMake(known, word, termOf) ?? []);
}

/** The same, without repeats. */
export function termsOf(text: string): readonly string[] {
  return [...new Set(allTermsOf(text))];
}

function synonymsByTerm(): ReadonlyMap<string, readonly string[]> {
  const byTerm = new Map<string, readonly string[]>();
  for (const group of GROUPS.near) {
    const terms = [...new Set(group.split(" ").flatMap((word) => termOf(word) ?? []))];
    for (const term of terms)
      byTerm.set(term, [...(byTerm.get(term) ?? []), ...terms.filter((other) => other !== term)]);
  }
  return byTerm;
}

export const SYNONYM_TERMS = synonymsByTerm();
