// The search over everything that can be called: actions by what they say of themselves, and the rows of their tables.
import type { Audience } from "../../catalog/catalog.ts";
import { type FormKind, formsIn } from "../../catalog/said-forms.ts";
import { ownSlice, type Steps } from "../../core/slices.ts";
import type { CatalogAction } from "./action-catalog.ts";
import { AskedPhrases } from "./asked-phrases.ts";
import { type DailyCatalog, oncePerDay } from "./once-per-day.ts";
import type { OwnEndpoint } from "./own-endpoints.ts";
import { actionEntries, BOOST, type Entry, endpointEntries, isAction, type Owner } from "./search-entries.ts";
import { allTermsOf, SYNONYM_TERMS, termsOf } from "./search-words.ts";
import { TellingWords } from "./telling-words.ts";
import { type IndexedField, type MeantWord, WordIndex } from "./word-index.ts";

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

interface Hit {
  readonly owner: Owner;
  readonly row: string | null;
  readonly score: number;
  readonly covered: number;
}

/** How much of a query's word is said by one that means something near, for the score and for what is covered. */
const NEAR_SHARE = 0.4;
/** How much more an entry is worth one of whose keywords is in the query, whole. */
const PHRASE_WEIGHT = 1.5;
/** How much more one is worth where a phrase by which people ask for it is the query itself. */
const ASKED_WEIGHT = 3;
/** For actions that no configured provider serves: at about the same score the others come first. */
const UNCONFIGURED_WEIGHT = 0.9;
const ROW_WEIGHT = 0.6;
/** How much of its action's score a row has beside its own. */
const PARENT_WEIGHT = 0.8;
/** How many rows of one action come before everything else that was found. */
const ROWS_FIRST = 2;
const QUERY_TERMS_MAX = 24;

/** What a word of a query may mean: itself, words near it, or where it is not known those that it is like. */
interface Asked {
  readonly term: string;
  readonly meant: readonly MeantWord[];
}

/** What stands there by its form, as the search's words have it. */
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
/** Forms whose letters may say something too, such as the name of a network. */
const NAMING: ReadonlySet<FormKind> = new Set(["url", "domain"]);
/** Parts of addresses that all have. */
const OF_ALL = /\b(https?|www|com|org|net|html?|example)\b/g;

function askedFor(query: string, index: WordIndex): readonly Asked[] {
  const { forms, rest } = formsIn(query);
  const letters = forms.flatMap(({ kind, text }) => (NAMING.has(kind) ? [text.replace(OF_ALL, " ")] : []));
  const known = termsOf(letters.join(" ")).filter((term) => index.knows(term));
  const said = [rest, ...forms.map(({ kind }) => FORM_WORDS[kind])].join(" ");
  return [...new Set([...termsOf(said), ...known])].slice(0, QUERY_TERMS_MAX).map((term) => {
    const near = (SYNONYM_TERMS.get(term) ?? []).map((other) => ({ term: other, share: NEAR_SHARE }));
    const like = index.knows(term) ? [] : index.nearTo(term);
    return { term, meant: [{ term, share: 1 }, ...like, ...near] };
  });
}

/** What can be found, as it is read before there is an index of it. */
class Read {
  readonly words = new TellingWords<Owner>();
  readonly phrases = new AskedPhrases<Owner>(this.words);
  readonly entries: { readonly owner: Owner; readonly row: string | null }[] = [];
  readonly fields: (readonly IndexedField[])[] = [];
  readonly #stems = new Map<string, string | null>();

  *add(owner: Owner, entries: Iterable<Entry>): Steps<void> {
    const { keywords = [], asked = "" } = isAction(owner) ? owner.facts : owner;
    this.words.read(owner, keywords);
    this.phrases.read(owner, asked);
    for (const entry of entries) {
      const fields = Object.entries(BOOST).map(([name, boost]) => {
        return { name, boost, terms: allTermsOf(entry[name as keyof typeof BOOST] ?? "", this.#stems) };
      });
      for (const { terms } of fields) for (const term of terms) this.words.has(term);
      this.entries.push({ owner, row: entry.row });
      this.fields.push(fields);
      yield;
    }
  }
}

/** All that can be found, and the words by which it is. */
class Searched {
  readonly #words: TellingWords<Owner>;
  readonly #phrases: AskedPhrases<Owner>;
  readonly #entries: Read["entries"];
  readonly #index: WordIndex;

  constructor({ words, phrases, entries }: Read, index: WordIndex) {
    this.#words = words;
    this.#phrases = phrases;
    this.#entries = entries;
    this.#index = index;
  }

  /** Everything that has a word of the query or one near it, the best first. */
  ranked(query: string): readonly Hit[] {
    const asked = askedFor(query, this.#index);
    const terms = asked.map(({ term }) => term);
    const whole = this.#words.weight(terms);
    const near = this.#phrases.nearest(
      asked.flatMap(({ meant }) => meant),
      whole,
    );
    const hits = this.#index.sums(asked.map((one) => this.#weighed(one)));
    const all = [...hits].flatMap(([id, { score, told }]): Hit[] => {
      const entry = this.#entries[id];
      if (entry === undefined) return [];
      const { owner, row } = entry;
      const isConfigured = !isAction(owner) || owner.configured;
      const covered = told / whole;
      const plain = score * covered * (isConfigured ? 1 : UNCONFIGURED_WEIGHT);
      if (row !== null) return [{ owner, row, covered, score: plain * ROW_WEIGHT }];
      const phrased = 1 + PHRASE_WEIGHT * this.#words.phrased(owner, terms);
      return [{ owner, row, covered, score: plain * phrased * (1 + ASKED_WEIGHT * (near.get(owner) ?? 0)) }];
    });
    return withParents(all);
  }

  /** What each word that one may mean tells of an entry, and how much of the query is said by it. */
  #weighed({ term, meant }: Asked) {
    const weight = this.#words.weight([term]);
    return meant.map((one) => ({
      term: one.term,
      score: one.share * this.#words.weight([one.term]),
      told: (one.share === 1 ? 1 : NEAR_SHARE) * weight,
    }));
  }
}

/** Makes the index: half a second for a thousand entries whose schemas have not been read yet. */
export function* searchIndex(
  actions: readonly CatalogAction[],
  endpoints: Iterable<SearchedEndpoint> = [],
): Steps<SearchIndex> {
  const read = new Read();
  for (const action of actions) yield* read.add(action, actionEntries(action));
  for (const { endpoint, models } of endpoints) yield* read.add(endpoint, endpointEntries(endpoint, models));
  const searched = new Searched(read, yield* WordIndex.of(read.fields));
  return {
    search: (query, max) =>
      spread(
        searched.ranked(query).filter(({ owner }) => isAction(owner)),
        max,
      ).flatMap(({ owner, row, score }) => (isAction(owner) ? [{ action: owner, row, score }] : [])),
    searchAll: (query, max) =>
      spread(searched.ranked(query), max).map(({ owner, ...hit }) =>
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
export type Search = (audience: Audience, query: string, max: number) => Promise<readonly Found[]>;

/** Finds in all that is served: endpoints that are no actions, and their models, as well. */
export type SearchAll = (audience: Audience, query: string, max: number) => Promise<readonly FoundAny[]>;

export interface Searches {
  readonly search: Search;
  readonly searchAll: SearchAll;
}

/** `endpoints`: those that an audience sees beside the actions. */
export function searchIn(daily: DailyCatalog, endpoints: (audience: Audience) => Iterable<SearchedEndpoint>): Searches {
  const index = oncePerDay(daily, (actions, audience: Audience) => searchIndex(actions, endpoints(audience)));
  /** All who have waited for it have it in one turn of the loop: each looks in one of its own. */
  const ready = async (audience: Audience) => {
    const made = await index(audience);
    await ownSlice();
    return made;
  };
  return {
    search: async (audience, query, max) => (await ready(audience)).search(query, max),
    searchAll: async (audience, query, max) => (await ready(audience)).searchAll(query, max),
  };
}
