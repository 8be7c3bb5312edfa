// What the catalog's page shows for a search, a category and a filter: sections of entries, limited in number.

import type { CatalogAction } from "../../actions/run/action-catalog.ts";
import type { Found } from "../../actions/run/search-index.ts";
import { CATEGORIES } from "../../catalog/action.ts";
import { type Catalog, EVERYBODY } from "../../catalog/catalog.ts";
import { eachOf, type Steps } from "../../core/slices.ts";
import { actionCard, type CardParts, tierCard } from "./catalog-entry.ts";
import { modelTable, type Sold } from "./catalog-models.ts";
import { type Html, html } from "./html.ts";
import { tiersShown } from "./tiers-shown.ts";

/** The reader's query; an empty search and an empty category exclude nothing. */
export interface Asked {
  readonly words: string;
  readonly category: string;
  readonly configuredOnly: boolean;
}

export interface ViewParts extends CardParts {
  readonly actions: readonly CatalogAction[];
  readonly catalog: Catalog;
  /** The search of core/discover. */
  readonly search: (words: string, max: number) => Promise<readonly Found[]>;
}

export interface View {
  readonly body: Html;
  /** The number of entries shown, and of all: `12 of 166`. */
  readonly count: string;
}

/** The most entries on the initial page, over all sections. More would load slowly on a phone. */
const ENTRIES_MAX = 400;
export const FOUND_MAX = 30;
/** The most results that it examines where a filter excludes some. */
const FOUND_BEFORE_FILTERS_MAX = 300;

interface Section {
  readonly id: string;
  readonly title: string;
  /** Its number of entries without a filter. */
  readonly total: number;
  /** How many the filters leave. */
  readonly size: number;
  /** The first of them. */
  readonly write: (most: number) => Steps<Html>;
}

/** The ids in page order: what most readers want comes before the categories of vendors' actions, one of which is called models. */
export const SECTIONS: readonly string[] = [...new Set(["core", "tiers", "language-models", ...CATEGORIES])];

export function titleOf(id: string): string {
  return id.replaceAll("-", " ");
}

function cards<Item>(id: string, total: number, items: readonly Item[], made: (one: Item) => Html): Section {
  return {
    id,
    title: id === "tiers" ? "Model tiers" : titleOf(id),
    total,
    size: items.length,
    *write(most) {
      return html`<div class="list">${yield* eachOf(items.slice(0, most), made)}</div>`;
    },
  };
}

function models(total: number, left: readonly Sold[], parts: ViewParts): Section {
  return {
    ...cards("language-models", total, left, () => html``),
    // biome-ignore lint/correctness/useYield: the table is short.
    *write(most) {
      return html`<p class="all"><a href="/catalog/models">Filter, sort and compare all models</a></p>${modelTable(left.slice(0, most), parts)}`;
    },
  };
}

/** Only letters and digits: `gpt5` finds `gpt-5`. */
function plain(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}

function hasWords(text: string, words: string): boolean {
  const own = plain(text);
  return words.split(/\s+/).every((word) => own.includes(plain(word)));
}

/** All sections in page order. `found`: the search results, best first, which come before the models unless the words name a model. */
function sectionsOf(parts: ViewParts, asked: Asked, found: readonly Found[]): readonly Section[] {
  const { catalog, actions } = parts;
  const { words, category, configuredOnly } = asked;
  const isLeft = (configured: boolean) => configured || !configuredOnly;
  const card = (one: Pick<Found, "action" | "row">) => actionCard(one, parts);
  const tiers = tiersShown(catalog, EVERYBODY);
  const tiersLeft = tiers.filter(
    ({ tier, configured }) => hasWords(`core/${tier.id} tier ${tier.purpose}`, words) && isLeft(configured > 0),
  );
  const listed = catalog.listed(EVERYBODY);
  const modelsLeft = listed.filter(
    ({ slug, kind, offers }) => hasWords(`${slug} ${kind} model`, words) && isLeft(offers.length > 0),
  );
  const ofModels = [
    cards("tiers", tiers.length, tiersLeft, (one) => tierCard(one, parts)),
    models(listed.length, modelsLeft, parts),
  ];
  if (words !== "") {
    const left = found
      .filter(({ action }) => category === "" || action.facts.category === category)
      .filter(({ action }) => isLeft(action.configured));
    const section = cards("actions", actions.length, left.slice(0, FOUND_MAX), card);
    return listed.some(({ slug }) => hasWords(slug, words)) ? [...ofModels, section] : [section, ...ofModels];
  }
  const ofActions = CATEGORIES.map((id) => {
    const own = actions.filter(({ facts }) => facts.category === id);
    const left = own.filter(({ configured }) => isLeft(configured));
    return cards(
      id,
      own.length,
      left.map((action) => ({ action, row: null })),
      card,
    );
  });
  return [...ofActions, ...ofModels].toSorted((a, b) => SECTIONS.indexOf(a.id) - SECTIONS.indexOf(b.id));
}

/** All categories in page order, each with its number of entries. */
export function categorySizes(parts: ViewParts): ReadonlyMap<string, number> {
  const sections = sectionsOf(parts, { words: "", category: "", configuredOnly: false }, []);
  return new Map(sections.filter(({ total }) => total > 0).map(({ id, total }) => [id, total]));
}

/** How many entries each section may show: small sections show all, and what they leave goes to the larger ones. */
export function sharesOf(sizes: readonly number[], max: number): readonly number[] {
  const shares = sizes.map(() => 0);
  let left = max;
  const smallestFirst = sizes.map((size, at) => ({ size, at })).sort((a, b) => a.size - b.size);
  smallestFirst.forEach(({ size, at }, done) => {
    const share = Math.min(size, Math.floor(left / (sizes.length - done)));
    shares[at] = share;
    left -= share;
  });
  return shares;
}

/** Runs the search for a view, and returns its results. */
export async function foundFor({ search }: ViewParts, { words, category, configuredOnly }: Asked) {
  if (words === "") return [];
  return search(words, category === "" && !configuredOnly ? FOUND_MAX : FOUND_BEFORE_FILTERS_MAX);
}

function* writeSection({ id, title, total, size, write }: Section, share: number, asked: Asked): Steps<Html> {
  const query = new URLSearchParams({ category: id, ...(asked.configuredOnly ? { configured: "1" } : {}) });
  const all = size <= share ? "" : html`<p class="all"><a href="/catalog?${String(query)}">Show all ${size}</a></p>`;
  const count = size === total ? total : `${size} of ${total}`;
  return html`<section id="${id}"><h2>${title} <small>${count}</small></h2>${yield* write(share)}${all}</section>
`;
}

/** `found`: the search results for this query. */
export function* catalogView(parts: ViewParts, asked: Asked, found: readonly Found[]): Steps<View> {
  const { words, category } = asked;
  const sections = sectionsOf(parts, asked, found);
  const isWanted = ({ id }: Section) => category === "" || id === category || (words !== "" && id === "actions");
  const wanted = sections.filter(({ size }) => size > 0).filter(isWanted);
  const sizes = wanted.map(({ size }) => size);
  const shares = category === "" ? sharesOf(sizes, ENTRIES_MAX) : sizes;
  const shown = sizes.reduce((sum, size) => sum + size, 0);
  const total = sections.reduce((sum, one) => sum + one.total, 0);
  const written: Html[] = [];
  for (const [at, one] of wanted.entries()) written.push(yield* writeSection(one, shares[at] ?? 0, asked));
  const none = html`<p class="none">Nothing matches. Try fewer or other words.</p>`;
  const body = wanted.length === 0 ? none : html`${written}`;
  return { body, count: shown === total ? `${total} entries` : `${shown} of ${total}` };
}
