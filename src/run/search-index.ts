// The search over everything that can be called: actions by what they say of themselves, and the rows of their tables.
import MiniSearch, { type SearchOptions, type SearchResult } from "minisearch";
import type { Audience } from "../catalog/catalog.ts";
import type { CatalogAction } from "./action-catalog.ts";
import { type DailyCatalog, oncePerDay } from "./once-per-day.ts";
import type { OwnEndpoint } from "./own-endpoints.ts";
import { paramNames, paramsSchema, tableOf } from "./params-schema.ts";
import { SYNONYM_TERMS, termOf, wordsOf } from "./search-words.ts";
import { TellingWords } from "./telling-words.ts";

/** An action, or one row of its table. */
export interface Found {
  readonly action: CatalogAction;
  /** The name of a row; null: the action itself. */
  readonly row: string | null;
  readonly score: number;
}

/** An endpoint that is no action, or one of its models. */
export interface FoundEndpoint {
  readonly endpoint: OwnEndpoint;
  /** The slug of a model; null: the endpoint itself. */
  readonly row: string | null;
  readonly score: number;
}

/** An endpoint beside the actions, and the models that it takes. */
export interface SearchedEndpoint {
  readonly endpoint: OwnEndpoint;
  readonly models: readonly string[];
}

/** `covered`: how much of what was asked for its own words say, from 0 to 1. */
export type FoundAny = (Found | FoundEndpoint) & { readonly covered: number };

export interface SearchIndex {
  /** Actions, the best first, at most `max` of them. Of one action's rows no more than a few come before everything else. */
  search(query: string, max: number): readonly Found[];
  /** The same with endpoints that are no actions, and their models. */
  searchAll(query: string, max: number): readonly FoundAny[];
}

/** What has rows: an action with a table, or an endpoint with its models. */
type Owner = CatalogAction | OwnEndpoint;

interface Hit {
  readonly owner: Owner;
  readonly row: string | null;
  readonly score: number;
  readonly covered: number;
}

function isAction(owner: Owner): owner is CatalogAction {
  return "facts" in owner;
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
/** For actions that no configured provider serves: at about the same score the others come first. */
const UNCONFIGURED_WEIGHT = 0.9;
const ROW_WEIGHT = 0.6;
/** How much more an entry is worth one of whose phrases is in the query, whole. */
const PHRASE_WEIGHT = 1.5;
/** How much of its action's score a row has beside its own. */
const PARENT_WEIGHT = 0.8;
/** How many rows of one action come before everything else that was found. */
const ROWS_FIRST = 2;
const QUERY_TERMS_MAX = 24;

function actionEntry(id: number, action: CatalogAction): Entry {
  const { facts } = action;
  return {
    id,
    name: action.action,
    service: `${action.service} ${action.vendors[0]?.spec.name ?? ""}`,
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

function endpointEntry(id: number, { service, action, description, keywords, required }: OwnEndpoint): Entry {
  const name = service === "llm" ? action : "";
  return { id, name, service: "", keywords: keywords.join(" "), description, params: required.join(" ") };
}

function modelEntries(fromId: number, models: readonly string[]): readonly (Entry & { row: string })[] {
  const nothing = { service: "", keywords: "", description: "", params: "" };
  return models.map((slug, at) => ({ ...nothing, id: fromId + at, row: slug, name: slug }));
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
 * was found, and whether it is said in one phrase: four synonyms of one query term still count as that one term.
 */
function rescored(
  { score, queryTerms }: SearchResult,
  { terms, synonyms }: Asked,
  { words, owner, row }: { readonly words: TellingWords<Owner> } & Pick<Hit, "owner" | "row">,
): Pick<Hit, "score" | "covered"> {
  const exact = terms.filter((term) => queryTerms.includes(term));
  const near = new Set(queryTerms.flatMap((term) => synonyms.get(term) ?? []));
  const found =
    words.weight(exact) + SYNONYM_COVERAGE * words.weight([...near].filter((term) => !exact.includes(term)));
  const covered = found / words.weight(terms);
  const phrased = row === null ? 1 + PHRASE_WEIGHT * words.phrased(owner, terms) : 1;
  return { score: (score / queryTerms.length) * covered * terms.length * phrased, covered };
}

/** Makes the index; some ten milliseconds for a thousand entries. */
export function searchIndex(
  actions: readonly CatalogAction[],
  endpoints: readonly SearchedEndpoint[] = [],
): SearchIndex {
  const words = new TellingWords<Owner>();
  const found: { readonly owner: Owner; readonly row: string | null }[] = [];
  const index = new MiniSearch<Entry>({
    fields: [...FIELDS],
    tokenize: (text) => [...wordsOf(text)],
    processTerm(word) {
      const term = termOf(word);
      if (term !== null) words.has(term);
      return term;
    },
  });
  for (const action of actions) {
    words.read(action, action.facts.keywords ?? []);
    index.add(actionEntry(found.length, action));
    found.push({ owner: action, row: null });
    const rows = rowEntries(found.length, action);
    index.addAll(rows);
    for (const { row } of rows) found.push({ owner: action, row });
  }
  for (const { endpoint, models } of endpoints) {
    words.read(endpoint, endpoint.keywords);
    index.add(endpointEntry(found.length, endpoint));
    found.push({ owner: endpoint, row: null });
    const rows = modelEntries(found.length, models);
    index.addAll(rows);
    for (const { row } of rows) found.push({ owner: endpoint, row });
  }

  const entryOf = (id: number) => found[id] as (typeof found)[number];
  const weight = (id: number): number => {
    const { owner, row } = entryOf(id);
    const configured = !isAction(owner) || owner.configured;
    return (configured ? 1 : UNCONFIGURED_WEIGHT) * (row === null ? 1 : ROW_WEIGHT);
  };
  const options = (asked: number): SearchOptions => ({
    boost: BOOST,
    weights: WEIGHTS,
    tokenize: (text) => text.split(" "),
    processTerm: (term) => term,
    boostTerm: (_, at) => (at < asked ? 1 : SYNONYM_WEIGHT),
    boostDocument: weight,
    prefix: (term, at) => at < asked && term.length > 3 && !words.knows(term),
    fuzzy: (term, at) => (at < asked && term.length > 4 && !words.knows(term) ? 0.2 : false),
  });
  const ranked = (query: string): readonly Hit[] => {
    const asked = askedFor(query);
    const hits = index.search([...asked.terms, ...asked.synonyms.keys()].join(" "), options(asked.terms.length));
    return withParents(
      hits.map((hit) => {
        const entry = entryOf(hit.id);
        return { ...entry, ...rescored(hit, asked, { words, ...entry }) };
      }),
    );
  };
  return {
    search: (query, max) =>
      spread(
        ranked(query).filter(({ owner }) => isAction(owner)),
        max,
      ).flatMap(({ owner, row, score }) => (isAction(owner) ? [{ action: owner, row, score }] : [])),
    searchAll: (query, max) =>
      spread(ranked(query), max).map(({ owner, ...hit }) =>
        isAction(owner) ? { action: owner, ...hit } : { endpoint: owner, ...hit },
      ),
  };
}

/** A row is as likely meant as its own words and those of its action say together. */
function withParents(hits: readonly Hit[]): readonly Hit[] {
  const own = new Map(hits.flatMap((hit) => (hit.row === null ? [[hit.owner, hit] as const] : [])));
  const added = (hit: Hit): Hit => {
    const parent = hit.row === null ? undefined : own.get(hit.owner);
    if (parent === undefined) return hit;
    const covered = Math.min(1, hit.covered + parent.covered);
    return { ...hit, score: hit.score + PARENT_WEIGHT * parent.score, covered };
  };
  return hits.map(added).sort((a, b) => b.score - a.score);
}

/**
 * The first `max`, with the rows of one table that are beyond the first few put behind everything else. An action whose
 * rows are named is not named once more by itself.
 */
function spread(hits: readonly Hit[], max: number): readonly Hit[] {
  const rowsOf = new Map<Owner, number>();
  const first: Hit[] = [];
  const later: Hit[] = [];
  for (const hit of hits) {
    if (first.length >= max) break;
    const rows = rowsOf.get(hit.owner) ?? 0;
    if (hit.row === null && rows > 0) continue;
    rowsOf.set(hit.owner, rows + 1);
    (hit.row !== null && rows >= ROWS_FIRST ? later : first).push(hit);
  }
  return [...first, ...later].slice(0, max);
}

/** Finds in what an audience sees today, at most so many, the best first. */
export type Search = (audience: Audience, query: string, max: number) => readonly Found[];

/** Finds in all that is served: endpoints that are no actions, and their models, as well. */
export type SearchAll = (audience: Audience, query: string, max: number) => readonly FoundAny[];

export interface Searches {
  readonly search: Search;
  readonly searchAll: SearchAll;
}

/** `endpoints`: those that an audience sees beside the actions. */
export function searchIn(
  daily: DailyCatalog,
  endpoints: (audience: Audience) => readonly SearchedEndpoint[],
): Searches {
  const index = oncePerDay(daily, (actions, audience: Audience) => searchIndex(actions, endpoints(audience)));
  return {
    search: (audience, query, max) => index(audience).search(query, max),
    searchAll: (audience, query, max) => index(audience).searchAll(query, max),
  };
}
