// The search over everything that can be called: actions by what they say of themselves, and the rows of their tables.
import MiniSearch, { type SearchOptions, type SearchResult } from "minisearch";
import type { Audience } from "../catalog/catalog.ts";
import { type CatalogAction, vendorsOf } from "./action-catalog.ts";
import { type DailyCatalog, oncePerDay } from "./once-per-day.ts";
import { paramNames, paramsSchema, tableOf } from "./params-schema.ts";
import { SYNONYM_TERMS, termOf, wordsOf } from "./search-words.ts";

/** An action, or one row of its table. */
export interface Found {
  readonly action: CatalogAction;
  /** The name of a row; null: the action itself. */
  readonly row: string | null;
  readonly score: number;
}

export interface SearchIndex {
  /** The best first, at most `max` of them. Of one action's rows no more than a few come before everything else. */
  search(query: string, max: number): readonly Found[];
}

interface Entry {
  readonly id: number;
  readonly name: string;
  readonly service: string;
  readonly keywords: string;
  readonly description: string;
  readonly params: string;
}

const FIELDS = ["name", "service", "keywords", "description", "params"] as const;
const BOOST = { name: 3, service: 2, keywords: 3, description: 2, params: 0.5 };
/** Score weights for synonyms, prefix and fuzzy matches. */
const SYNONYM_WEIGHT = 0.6;
const WEIGHTS = { prefix: 0.4, fuzzy: 0.25 };
/** How much of a query term counts as found where only its synonyms are. */
const SYNONYM_COVERAGE = 0.3;
/** For actions that nobody is configured to serve: at about the same score the others come first. */
const UNCONFIGURED_WEIGHT = 0.9;
const ROW_WEIGHT = 0.6;
/** How much of its action's score a row has beside its own. */
const PARENT_WEIGHT = 0.8;
/** How many rows of one action come before everything else that was found. */
const ROWS_FIRST = 3;
const QUERY_TERMS_MAX = 24;

function actionEntry(id: number, action: CatalogAction): Entry {
  const { facts } = action;
  return {
    id,
    name: action.action,
    service: `${action.service} ${vendorsOf(action)[0]?.spec.name ?? ""}`,
    keywords: `${(facts.keywords ?? []).join(" ")} ${facts.category}`,
    description: facts.description,
    params: paramNames(paramsSchema(action)).join(" "),
  };
}

function rowEntries(fromId: number, action: CatalogAction): readonly (Entry & { row: string })[] {
  const rows = Object.entries(tableOf(action)?.rows ?? {});
  return rows.map(([row, { summary, params }], at) => ({
    id: fromId + at,
    row,
    name: row,
    service: "",
    keywords: "",
    description: summary,
    params: Object.keys(params).join(" "),
  }));
}

/** A query taken apart. */
interface Asked {
  /** What was asked for. */
  readonly terms: readonly string[];
  /** Synonyms, each with the query term that it stands for. */
  readonly synonyms: ReadonlyMap<string, string>;
}

function askedFor(query: string): Asked {
  const terms = [...new Set(wordsOf(query).flatMap((word) => termOf(word) ?? []))].slice(0, QUERY_TERMS_MAX);
  const near = terms.flatMap((term) => (SYNONYM_TERMS.get(term) ?? []).map((other) => [other, term] as const));
  return { terms, synonyms: new Map(near.filter(([other]) => !terms.includes(other))) };
}

/**
 * The library multiplies a score by the number of query terms that were found. What counts is how much of what was asked for
 * was found: four synonyms of one query term still count as that one term.
 */
function rescored({ score, queryTerms }: SearchResult, { terms, synonyms }: Asked): number {
  const exact = terms.filter((term) => queryTerms.includes(term));
  const near = new Set(queryTerms.flatMap((term) => synonyms.get(term) ?? []));
  const covered = exact.length + SYNONYM_COVERAGE * [...near].filter((term) => !exact.includes(term)).length;
  return (score / queryTerms.length) * covered;
}

/** Makes the index; some ten milliseconds for a thousand entries. */
export function searchIndex(actions: readonly CatalogAction[]): SearchIndex {
  const known = new Set<string>();
  const found: { readonly action: CatalogAction; readonly row: string | null }[] = [];
  const index = new MiniSearch<Entry>({
    fields: [...FIELDS],
    tokenize: (text) => [...wordsOf(text)],
    processTerm(word) {
      const term = termOf(word);
      if (term !== null) known.add(term);
      return term;
    },
  });
  for (const action of actions) {
    index.add(actionEntry(found.length, action));
    found.push({ action, row: null });
    const rows = rowEntries(found.length, action);
    index.addAll(rows);
    for (const { row } of rows) found.push({ action, row });
  }

  const entryOf = (id: number) => found[id] as (typeof found)[number];
  const weight = (id: number): number => {
    const { action, row } = entryOf(id);
    return (action.configured ? 1 : UNCONFIGURED_WEIGHT) * (row === null ? 1 : ROW_WEIGHT);
  };
  const options = (asked: number): SearchOptions => ({
    boost: BOOST,
    weights: WEIGHTS,
    tokenize: (text) => text.split(" "),
    processTerm: (term) => term,
    boostTerm: (_, at) => (at < asked ? 1 : SYNONYM_WEIGHT),
    boostDocument: weight,
    prefix: (term, at) => at < asked && term.length > 3 && !known.has(term),
    fuzzy: (term, at) => (at < asked && term.length > 4 && !known.has(term) ? 0.2 : false),
  });
  return {
    search(query, max) {
      const asked = askedFor(query);
      const hits = index.search([...asked.terms, ...asked.synonyms.keys()].join(" "), options(asked.terms.length));
      return spread(withParents(hits.map((hit) => ({ ...entryOf(hit.id), score: rescored(hit, asked) }))), max);
    },
  };
}

/** A row is as likely meant as its own words and those of its action say together. */
function withParents(hits: readonly Found[]): readonly Found[] {
  const own = new Map(hits.flatMap(({ action, row, score }) => (row === null ? [[action, score] as const] : [])));
  const added = (hit: Found): Found =>
    hit.row === null ? hit : { ...hit, score: hit.score + PARENT_WEIGHT * (own.get(hit.action) ?? 0) };
  return hits.map(added).sort((a, b) => b.score - a.score);
}

/**
 * The first `max`, with the rows of one table that are beyond the first few put behind everything else. An action whose
 * rows are named is not named once more by itself.
 */
function spread(hits: readonly Found[], max: number): readonly Found[] {
  const rowsOf = new Map<CatalogAction, number>();
  const first: Found[] = [];
  const later: Found[] = [];
  for (const hit of hits) {
    if (first.length >= max) break;
    const rows = rowsOf.get(hit.action) ?? 0;
    if (hit.row !== null) rowsOf.set(hit.action, rows + 1);
    if (hit.row === null && rows > 0) continue;
    (hit.row !== null && rows >= ROWS_FIRST ? later : first).push(hit);
  }
  return [...first, ...later].slice(0, max);
}

/** Finds in what an audience sees today, at most so many, the best first. */
export type Search = (audience: Audience, query: string, max: number) => readonly Found[];

export function searchIn(daily: DailyCatalog): Search {
  const index = oncePerDay(daily, searchIndex);
  return (audience, query, max) => index(audience).search(query, max);
}
