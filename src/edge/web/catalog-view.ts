// What the catalog's page shows for a search, a category and a filter: sections of entries, limited in number.

import type { CatalogAction } from "../../actions/run/action-catalog.ts";
import type { Found } from "../../actions/run/search-index.ts";
import { CATEGORIES } from "../../catalog/action.ts";
import { type Catalog, EVERYBODY } from "../../catalog/catalog.ts";
import { eachOf, type Steps } from "../../core/slices.ts";
import { actionCard, type CardParts, foundCard, tierCard } from "./catalog-entry.ts";
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
export const ENTRIES_MAX = 400;
/** The most actions that a search shows. */
export const FOUND_MAX = 30;
/** The most results that it examines where a filter excludes some. */
const FOUND_BEFORE_FILTERS_MAX = 300;

/** One section of the page before rendering. */
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

/** A section of cards. */
function cards<Item>(
  head: Pick<Section, "id" | "title" | "total">,
  items: readonly Item[],
  made: (one: Item) => Html,
): Section {
  return {
    ...head,
    size: items.length,
    *write(most) {
      return html`<div class="list">${yield* eachOf(items.slice(0, most), made)}</div>`;
    },
  };
}

function modelSection(total: number, models: readonly Sold[], { catalog, measured }: ViewParts): Section {
  return {
    id: "language-models",
    title: "Language models",
    total,
    size: models.length,
    // biome-ignore lint/correctness/useYield: the table is short.
    *write(most) {
      return html`<p class="all"><a href="/catalog/models">Filter, sort and compare all models</a></p>${modelTable(models.slice(0, most), { catalog, measured, hasIds: true })}`;
    },
  };
}

/** What most readers want comes before the categories of vendors' actions, one of which is called models. */
const FIRST_SECTIONS: readonly string[] = ["core", "tiers", "language-models"];

export function titleOf(id: string): string {
  return id.replaceAll("-", " ");
}

/** All sections in page order, each with its number of entries. */
export function sectionSizes(actions: readonly CatalogAction[], catalog: Catalog): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>(FIRST_SECTIONS.map((id) => [id, 0]));
  for (const id of CATEGORIES) sizes.set(id, actions.filter(({ facts }) => facts.category === id).length);
  sizes.set("tiers", tiersShown(catalog, EVERYBODY).length);
  sizes.set("language-models", catalog.listed(EVERYBODY).length);
  return new Map([...sizes].filter(([id, size]) => size > 0 || (id !== "core" && FIRST_SECTIONS.includes(id))));
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

/** Only letters and digits: `gpt5` finds `gpt-5`. */
function plain(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}

/** Whether a text contains all of the words. */
function hasWords(text: string, words: string): boolean {
  const own = plain(text);
  return words.split(/\s+/).every((word) => own.includes(plain(word)));
}

/** Tiers and models whose names contain the words and that pass the filter. */
function modelSections(parts: ViewParts, { words, configuredOnly }: Asked): readonly Section[] {
  const { catalog } = parts;
  const tiers = tiersShown(catalog, EVERYBODY);
  const models = catalog.listed(EVERYBODY);
  const tiersLeft = tiers.filter(
    ({ tier, configured }) =>
      hasWords(`core/${tier.id} tier ${tier.purpose}`, words) && (configured > 0 || !configuredOnly),
  );
  const modelsLeft = models.filter(
    ({ slug, kind, offers }) => hasWords(`${slug} ${kind} model`, words) && (offers.length > 0 || !configuredOnly),
  );
  return [
    cards({ id: "tiers", title: "Model tiers", total: tiers.length }, tiersLeft, (one) => tierCard(one, parts)),
    modelSection(models.length, modelsLeft, parts),
  ];
}

function inOrder(sections: readonly Section[]): readonly Section[] {
  const place = ({ id }: Section) => (FIRST_SECTIONS.includes(id) ? FIRST_SECTIONS.indexOf(id) : FIRST_SECTIONS.length);
  return sections.toSorted((a, b) => place(a) - place(b));
}

function actionSections(parts: ViewParts, { configuredOnly }: Asked): readonly Section[] {
  return CATEGORIES.map((id) => {
    const own = parts.actions.filter(({ facts }) => facts.category === id);
    const left = own.filter(({ configured }) => configured || !configuredOnly);
    return cards({ id, title: titleOf(id), total: own.length }, left, (one) => actionCard(one, parts));
  });
}

/** Runs the search for a view, and returns its results. */
export async function foundFor({ search }: ViewParts, { words, category, configuredOnly }: Asked) {
  if (words === "") return [];
  return search(words, category === "" && !configuredOnly ? FOUND_MAX : FOUND_BEFORE_FILTERS_MAX);
}

/** The search results, best first; before the models, unless the words name a model. */
function foundSections(parts: ViewParts, asked: Asked, all: readonly Found[]): readonly Section[] {
  const { words, category, configuredOnly } = asked;
  const others = modelSections(parts, asked);
  const found = all
    .filter(({ action }) => category === "" || action.facts.category === category)
    .filter(({ action }) => action.configured || !configuredOnly)
    .slice(0, FOUND_MAX);
  const actions = cards({ id: "actions", title: "Actions", total: parts.actions.length }, found, (one) =>
    foundCard(one, parts),
  );
  const named = parts.catalog.listed(EVERYBODY).some(({ slug }) => hasWords(slug, words));
  return named ? [...others, actions] : [actions, ...others];
}

/** The count's text where only a part is shown. */
function countOf(shown: number, total: number): string {
  return shown === total ? String(total) : `${shown} of ${total}`;
}

function* writeSection({ id, title, total, size, write }: Section, share: number, asked: Asked): Steps<Html> {
  const query = new URLSearchParams({ category: id, ...(asked.configuredOnly ? { configured: "1" } : {}) });
  const all = size <= share ? "" : html`<p class="all"><a href="/catalog?${String(query)}">Show all ${size}</a></p>`;
  return html`<section id="${id}"><h2>${title} <small>${countOf(size, total)}</small></h2>${yield* write(share)}${all}</section>
`;
}

/** `found`: the search results for this query. */
export function* catalogView(parts: ViewParts, asked: Asked, found: readonly Found[]): Steps<View> {
  const { words, category } = asked;
  const isSearch = words !== "";
  const sections = isSearch
    ? foundSections(parts, asked, found)
    : inOrder([...actionSections(parts, asked), ...modelSections(parts, asked)]);
  const isWanted = ({ id }: Section) => category === "" || id === category || (isSearch && id === "actions");
  const wanted = sections.filter(({ size }) => size > 0).filter(isWanted);
  const sizes = wanted.map(({ size }) => size);
  const shares = category === "" ? sharesOf(sizes, ENTRIES_MAX) : sizes;
  const shown = sizes.reduce((sum, size) => sum + size, 0);
  const total = sections.reduce((sum, one) => sum + one.total, 0);
  const none = html`<p class="none">Nothing matches. Try fewer or other words.</p>`;
  const written: Html[] = [];
  for (const [at, one] of wanted.entries()) written.push(yield* writeSection(one, shares[at] ?? 0, asked));
  const body = wanted.length === 0 ? none : html`${written}`;
  return { body, count: shown === total ? `${total} entries` : `${shown} of ${total}` };
}
