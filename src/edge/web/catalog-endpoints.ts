// GET /catalog and the pages below it: the catalog for people, its searches, and a page for each entry.

import { noSuchAction, notFound } from "../../actions/run/nearest.ts";
import { type DailyCatalog, keptToday } from "../../actions/run/once-per-day.ts";
import { tableOf } from "../../actions/run/params-schema.ts";
import { answerWith, type ReadyAnswer, readyAnswer } from "../../actions/run/ready-answer.ts";
import type { Search } from "../../actions/run/search-index.ts";
import { nameIn } from "../../actions/run/table-params.ts";
import { type Catalog, EVERYBODY } from "../../catalog/catalog.ts";
import type { Endpoint, GatewayRequest } from "../../core/endpoint.ts";
import { inSlices } from "../../core/slices.ts";
import { envelopeErrors } from "../../models/formats/envelope/errors.ts";
import type { Figures } from "../../platform/observe/figures.ts";
import { actionDetails, modelDetails, tierDetails } from "./catalog-details.ts";
import { comparison, measuredIn } from "./catalog-models.ts";
import { catalogPage, entryPage, PAGE_HEADERS, type Site } from "./catalog-page.ts";
import { type Asked, catalogView, foundFor, SECTIONS, type ViewParts } from "./catalog-view.ts";
import { tiersShown } from "./tiers-shown.ts";

export interface CatalogPageParts extends DailyCatalog {
  readonly catalog: () => Catalog;
  /** The search of core/discover. */
  readonly search: Search;
  /** Called when the first page is rendered. */
  readonly site: () => Site;
  readonly figures: Pick<Figures, "days">;
  /** The recipient of payments without a key; null: calls need a key. */
  readonly payTo: string | null;
}

const WORDS_CHARS_MAX = 500;
/** Pages have figures, so they are rendered anew after this time. */
const FRESH_MS = 10 * 60_000;

function askedOf({ query }: GatewayRequest): Asked {
  const category = query.get("category") ?? "";
  return {
    words: (query.get("q") ?? "").trim().slice(0, WORDS_CHARS_MAX),
    category: SECTIONS.includes(category) ? category : "",
    configuredOnly: query.has("configured"),
  };
}

/** The entry with this name; throws a 404 with the nearest names. */
function named<Item>(kind: string, name: string, all: readonly Item[], nameOf: (one: Item) => string): Item {
  const found = all.find((one) => nameOf(one) === name);
  if (found === undefined) throw notFound(`There is no ${kind} ${name.slice(0, 120)}`, name, all.map(nameOf));
  return found;
}

/** A page, and the name under which it is kept for all readers; null: it is not kept. */
interface Made {
  readonly name: string | null;
  readonly text: () => Promise<string>;
}

/** `GET /catalog`, `/catalog/models`, `/catalog/actions/...`, `/catalog/models/...` and `/catalog/tiers/{id}`. */
export function catalogEndpoints(daily: CatalogPageParts): readonly Endpoint[] {
  const { search, site } = daily;
  const pagesOf = keptToday(daily, (actions) => ({
    actions,
    catalog: daily.catalog(),
    kept: new Map<string, { readonly atMs: number; readonly made: Promise<ReadyAnswer> }>(),
  }));
  const measured = async () => measuredIn(await daily.figures.days());

  async function readyOf({ name, text }: Made): Promise<ReadyAnswer> {
    const { kept } = pagesOf(EVERYBODY);
    const atMs = daily.clock.epochMs();
    const known = name === null ? undefined : kept.get(name);
    if (known !== undefined && atMs - known.atMs < FRESH_MS) return known.made;
    const headers = name === null ? { "cache-control": "no-store" } : {};
    const made = text().then((page) => readyAnswer(page, "text/html; charset=utf-8", { ...PAGE_HEADERS, ...headers }));
    if (name !== null) {
      kept.set(name, { atMs, made });
      made.catch(() => kept.delete(name));
    }
    return made;
  }

  function viewOf(request: GatewayRequest): Made {
    const { actions, catalog } = pagesOf(EVERYBODY);
    const asked = askedOf(request);
    return {
      name: asked.words === "" ? `view ${asked.category} ${asked.configuredOnly}` : null,
      async text() {
        const parts: ViewParts = {
          actions,
          catalog,
          measured: await measured(),
          x402: daily.payTo !== null,
          tries: site().pages,
          search: (words, max) => search(EVERYBODY, words, max),
        };
        const view = await inSlices(catalogView(parts, asked, await foundFor(parts, asked)));
        return catalogPage(view, asked, parts, site());
      },
    };
  }

  function actionOf({ params, query }: GatewayRequest): Made {
    const id = `${params.service}/${params.action}`;
    const action = pagesOf(EVERYBODY).actions.find((one) => one.id === id);
    if (action === undefined) throw noSuchAction(id, daily.actionCatalog, EVERYBODY);
    const table = tableOf(action);
    const asked = table === null ? null : query.get(table.param);
    const row = table === null || asked === null ? null : nameIn(table.rows, asked);
    if (table !== null && asked !== null && row === null)
      throw notFound(`${id} has no ${table.param} ${asked.slice(0, 120)}`, asked, Object.keys(table.rows));
    return { name: `action ${id} ${row ?? ""}`, text: async () => entryPage(actionDetails(action, row, site())) };
  }

  function modelOf({ params: { slug = "" } }: GatewayRequest): Made {
    const { catalog } = pagesOf(EVERYBODY);
    const all = [...catalog.models(EVERYBODY), ...catalog.embeddings(EVERYBODY)];
    const model = named("model", slug, all, (one) => one.slug);
    const text = async () => entryPage(modelDetails(model, { catalog, measured: await measured(), site: site() }));
    return { name: `model ${slug}`, text };
  }

  function tierOf({ params: { id = "" } }: GatewayRequest): Made {
    const { catalog } = pagesOf(EVERYBODY);
    const tier = named("tier", id, tiersShown(catalog, EVERYBODY), (one) => one.tier.id);
    const text = async () => entryPage(tierDetails(tier, { catalog, measured: await measured(), site: site() }));
    return { name: `tier ${id}`, text };
  }

  function comparisonOf({ query }: GatewayRequest): Made {
    const description = "Prices, limits and measured speed of all models, to filter, sort and compare.";
    const body = async () => comparison(query, pagesOf(EVERYBODY).catalog, await measured());
    return { name: null, text: async () => entryPage({ title: "Models", description, body: await body() }) };
  }

  const pages: Readonly<Record<string, (request: GatewayRequest) => Made>> = {
    "": viewOf,
    "/actions/{service}/{action}": actionOf,
    "/models": comparisonOf,
    "/models/{slug...}": modelOf,
    "/tiers/{id}": tierOf,
  };
  return Object.entries(pages).map(([path, made]) => ({
    method: "GET",
    path: `/catalog${path}`,
    auth: "none",
    bodyBytesMax: 0,
    errors: envelopeErrors,
    answer: async ({ request }) => answerWith(await readyOf(made(request)), request),
  }));
}
