// Searches everything that can be called: actions, the rows of their tables, endpoints and models.
import type { Audience } from "../../catalog/catalog.ts";
import { type FormKind, formsIn } from "../../catalog/text-patterns.ts";
import { ownSlice, type Steps } from "../../core/slices.ts";
import type { CatalogAction } from "./action-catalog.ts";
import { type DailyCatalog, oncePerDay } from "./once-per-day.ts";
import type { OwnEndpoint } from "./own-endpoints.ts";
import {
  actionEntries,
  BOOST,
  type Entry,
  endpointEntries,
  isAction,
  type Owner,
  OwnerWords,
} from "./search-entries.ts";
import { allTermsOf, SYNONYM_TERMS, termsOf } from "./search-words.ts";
import { type IndexedField, type MeantWord, WordIndex } from "./word-index.ts";

/** An action, or one row of its table. */
export interface Found {
  readonly action: CatalogAction;
  /** The name of a row; null: the action itself. */
  readonly row: string | null;
  readonly score: number;
}

/** An endpoint other than an action, or one of its models. */
export interface FoundEndpoint {
  readonly endpoint: OwnEndpoint;
  /** The slug of a model; null: the endpoint itself. */
  readonly row: string | null;
  readonly score: number;
}

export interface SearchedEndpoint {
  readonly endpoint: OwnEndpoint;
  readonly models: readonly string[];
}

/** `covered`: the share of the query that its words match, from 0 to 1. */
export type FoundAny = (Found | FoundEndpoint) & { readonly covered: number };

interface Hit {
  readonly owner: Owner;
  readonly row: string | null;
  readonly score: number;
  readonly covered: number;
}

/** The weight of a synonym relative to the word itself, for score and coverage. */
const NEAR_SHARE = 0.4;
/** Boost of an entry where the query contains one of its key phrases whole. */
const PHRASE_WEIGHT = 1.5;
/** Boost of an entry where the query equals one of the phrases that people use for it. */
const ASKED_WEIGHT = 3;
/** Configured actions come first at about the same score. */
const UNCONFIGURED_WEIGHT = 0.9;
const ROW_WEIGHT = 0.6;
/** The share of its action's score that a row adds to its own. */
const PARENT_WEIGHT = 0.8;
/** Rows of one action that may come before other results. */
const ROWS_FIRST = 2;
const QUERY_TERMS_MAX = 24;

/** A term of the query with its possible meanings: itself, its synonyms, and for an unknown term those spelled like it. */
interface QueryTerm {
  readonly term: string;
  readonly meant: readonly MeantWord[];
}

const FORM_WORDS: Readonly<Record<FormKind, string>> = {
  email: "email address",
  linkedin: "linkedin profile",
  url: "url page",
  wallet: "wallet address chain",
  iban: "iban bank account",
  doi: "doi paper",
  cve: "vulnerability cve",
  phone: "phone number",
  subreddit: "reddit",
  profile: "profile account",
  audio: "audio file",
  video: "video file",
  document: "document file",
  image: "image file",
  domain: "website domain",
  year: "old year history",
  flight: "flight",
  house: "address house",
};
/** Forms whose text may contain search terms, such as the name of a network. */
const NAMING: ReadonlySet<FormKind> = new Set(["url", "domain"]);
/** Parts that most addresses share. */
const OF_ALL = /\b(https?|www|com|org|net|html?|example)\b/g;

function queryTerms(query: string, index: WordIndex): readonly QueryTerm[] {
  const { forms, rest } = formsIn(query);
  const letters = forms.flatMap(({ kind, text }) => (NAMING.has(kind) ? [text.replace(OF_ALL, " ")] : []));
  const known = termsOf(letters.join(" ")).filter((term) => index.knows(term));
  const text = [rest, ...forms.map(({ kind }) => FORM_WORDS[kind])].join(" ");
  return [...new Set([...termsOf(text), ...known])].slice(0, QUERY_TERMS_MAX).map((term) => {
    const near = (SYNONYM_TERMS.get(term) ?? []).map((other) => ({ term: other, share: NEAR_SHARE }));
    const like = index.knows(term) ? [] : index.nearTo(term);
    return { term, meant: [{ term, share: 1 }, ...like, ...near] };
  });
}

export class SearchIndex {
  readonly #words = new OwnerWords();
  readonly #entries: { readonly owner: Owner; readonly row: string | null }[] = [];
  readonly #terms = new Map<string, string | null>();
  #index = new WordIndex();

  /** Takes half a second for a thousand entries whose schemas have not been read yet. */
  static *of(actions: readonly CatalogAction[], endpoints: Iterable<SearchedEndpoint> = []): Steps<SearchIndex> {
    const made = new SearchIndex();
    const fields: (readonly IndexedField[])[] = [];
    for (const action of actions) yield* made.#add(action, actionEntries(action), fields);
    for (const { endpoint, models } of endpoints) yield* made.#add(endpoint, endpointEntries(endpoint, models), fields);
    made.#index = yield* WordIndex.of(fields);
    return made;
  }

  *#add(owner: Owner, entries: Iterable<Entry>, all: (readonly IndexedField[])[]): Steps<void> {
    this.#words.add(owner);
    for (const entry of entries) {
      const fields = Object.entries(BOOST).map(([name, boost]) => {
        return { name, boost, terms: allTermsOf(entry[name as keyof typeof BOOST] ?? "", this.#terms) };
      });
      for (const { terms } of fields) for (const term of terms) this.#words.has(owner, term);
      this.#entries.push({ owner, row: entry.row });
      all.push(fields);
      yield;
    }
  }

  /** At most `max` actions, best first. Only the first few rows of an action may come before other results. */
  search(query: string, max: number): readonly Found[] {
    const hits = this.#ranked(query).flatMap(({ owner, ...hit }) => (isAction(owner) ? [{ owner, ...hit }] : []));
    return spread(hits, max).map(({ owner, row, score }) => ({ action: owner, row, score }));
  }

  /** The same, with other endpoints and their models. */
  searchAll(query: string, max: number): readonly FoundAny[] {
    return spread(this.#ranked(query), max).map(({ owner, ...hit }) =>
      isAction(owner) ? { action: owner, ...hit } : { endpoint: owner, ...hit },
    );
  }

  /** Everything that matches a term of the query or a synonym, best first. */
  #ranked(query: string): readonly Hit[] {
    const wanted = queryTerms(query, this.#index);
    const terms = wanted.map(({ term }) => term);
    const whole = this.#words.weight(terms);
    const near = this.#words.nearest(
      wanted.flatMap(({ meant }) => meant),
      whole,
    );
    const hits = this.#index.sums(wanted.map((term) => this.#weighed(term)));
    const all = [...hits].flatMap(([id, { score, coverage }]): Hit[] => {
      const entry = this.#entries[id];
      if (entry === undefined) return [];
      const { owner, row } = entry;
      const isConfigured = !isAction(owner) || owner.configured;
      const covered = coverage / whole;
      const plain = score * covered * (isConfigured ? 1 : UNCONFIGURED_WEIGHT);
      if (row !== null) return [{ owner, row, covered, score: plain * ROW_WEIGHT }];
      const phrased = 1 + PHRASE_WEIGHT * this.#words.phrased(owner, terms);
      return [{ owner, row, covered, score: plain * phrased * (1 + ASKED_WEIGHT * (near.get(owner) ?? 0)) }];
    });
    return withParents(all);
  }

  /** The weight of each meaning of a term, for the score and for the coverage of the query. */
  #weighed({ term, meant }: QueryTerm) {
    const weight = this.#words.weight([term]);
    return meant.map(({ term: meaning, share }) => ({
      term: meaning,
      score: share * this.#words.weight([meaning]),
      coverage: (share === 1 ? 1 : NEAR_SHARE) * weight,
    }));
  }
}

/** Adds part of an action's score to each of its rows. */
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

/** The first `max`, with all but the first few rows of each table last. An action whose rows are listed is not listed again. */
function spread<One extends Hit>(hits: readonly One[], max: number): readonly One[] {
  const rowsOf = new Map<Owner, number>();
  const first: One[] = [];
  const later: One[] = [];
  for (const hit of hits) {
    if (first.length >= max) break;
    const rows = rowsOf.get(hit.owner) ?? 0;
    if (hit.row === null && rows > 0) continue;
    rowsOf.set(hit.owner, rows + 1);
    (hit.row !== null && rows >= ROWS_FIRST ? later : first).push(hit);
  }
  return [...first, ...later].slice(0, max);
}

type Searching<Result> = (audience: Audience, query: string, max: number) => Promise<readonly Result[]>;

/** Finds at most `max` of the actions that an audience sees today, best first. */
export type Search = Searching<Found>;

/** The same, with other endpoints and their models. */
export type SearchAll = Searching<FoundAny>;

/** `endpoints`: what an audience sees besides the actions. */
export function searchIn(daily: DailyCatalog, endpoints: (audience: Audience) => Iterable<SearchedEndpoint>) {
  const index = oncePerDay(daily, (actions, audience: Audience) => SearchIndex.of(actions, endpoints(audience)));
  // All waiting searches wake in one turn of the event loop; each then runs in a turn of its own.
  const ready = async (audience: Audience) => {
    const made = await index(audience);
    await ownSlice();
    return made;
  };
  const search: Search = async (audience, query, max) => (await ready(audience)).search(query, max);
  const searchAll: SearchAll = async (audience, query, max) => (await ready(audience)).searchAll(query, max);
  return { search, searchAll };
}
