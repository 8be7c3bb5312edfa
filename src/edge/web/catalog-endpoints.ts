// GET /catalog and the pages below it: the catalog for people, its searches, and the details of each entry.

import type { CatalogAction } from "../../actions/run/action-catalog.ts";
import { noSuchAction, notFound } from "../../actions/run/nearest.ts";
import { type DailyCatalog, keptToday } from "../../actions/run/once-per-day.ts";
import { tableOf } from "../../actions/run/params-schema.ts";
import { answerWith, type ReadyAnswer, readyAnswer } from "../../actions/run/ready-answer.ts";
import type { Search } from "../../actions/run/search-index.ts";
import { nameIn } from "../../actions/run/table-params.ts";
import { type Catalog, EVERYBODY } from "../../catalog/catalog.ts";
import type { Answer, Endpoint, GatewayRequest } from "../../core/endpoint.ts";
import type { GatewayError } from "../../core/errors.ts";
import { inSlices } from "../../core/slices.ts";
import { envelopeErrors } from "../../models/formats/envelope/errors.ts";
import type { Figures } from "../../platform/observe/figures.ts";
import { actionDetails, modelDetails, type Site, tierDetails } from "./catalog-details.ts";
import { comparison, measuredIn } from "./catalog-models.ts";
import { type Counts, catalogPage, entryPage, PAGE_HEADERS, viewPart } from "./catalog-page.ts";
import { type Asked, catalogView, foundFor, sectionSizes, type ViewParts } from "./catalog-view.ts";
import type { Html } from "./html.ts";
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

const HTML_TYPE = "text/html; charset=utf-8";
const WORDS_CHARS_MAX = 500;

/** The content of an entry's page. */
interface Told {
  readonly title: string;
  readonly description: string;
  readonly body: Html;
}

/** The pages of one day's catalog. Pages that are the same for all readers are rendered once in a while, on request. */
interface DayPages {
  readonly parts: Omit<ViewParts, "measured" | "tries">;
  readonly categories: ReadonlyMap<string, number>;
  readonly counts: Counts;
  readonly kept: Map<string, { readonly atMs: number; readonly made: Promise<ReadyAnswer> }>;
}

/** Pages have figures, so they are rendered anew after this time. */
const FRESH_MS = 10 * 60_000;

function countsOf(actions: readonly CatalogAction[], catalog: Catalog): Counts {
  const models = catalog.listed(EVERYBODY);
  return {
    actions: actions.length,
    models: models.length,
    actionsConfigured: actions.filter(({ configured }) => configured).length,
    modelsConfigured: models.filter(({ offers }) => offers.length > 0).length,
  };
}

/** An open page requests only the part that changes, with `?part=1`. */
function isPart({ query }: GatewayRequest): boolean {
  return query.has("part");
}

function askedOf({ query }: GatewayRequest, categories: ReadonlyMap<string, number>): Asked {
  const category = query.get("category") ?? "";
  return {
    words: (query.get("q") ?? "").trim().slice(0, WORDS_CHARS_MAX),
    category: categories.has(category) ? category : "",
    configuredOnly: query.has("configured"),
  };
}

function pageAnswer(text: string): ReadyAnswer {
  return readyAnswer(text, HTML_TYPE, PAGE_HEADERS);
}

/** Rendered for one caller and not cached. */
function passingAnswer(text: string): Answer {
  return {
    status: 200,
    body: text,
    headers: { "content-type": HTML_TYPE, "cache-control": "no-store", ...PAGE_HEADERS },
  };
}

/** `GET /catalog`, `/catalog/models`, `/catalog/actions/...`, `/catalog/models/...` and `/catalog/tiers/{id}`. */
export function catalogEndpoints(daily: CatalogPageParts): readonly Endpoint[] {
  const { search } = daily;
  const pagesOf = keptToday(daily, (actions): DayPages => {
    const catalog = daily.catalog();
    return {
      parts: { actions, catalog, x402: daily.payTo !== null, search: (words, max) => search(EVERYBODY, words, max) },
      categories: sectionSizes(actions, catalog),
      counts: countsOf(actions, catalog),
      kept: new Map(),
    };
  });

  function kept({ kept: answers }: DayPages, name: string, make: () => Promise<string>): Promise<ReadyAnswer> {
    const nowMs = daily.clock.epochMs();
    const known = answers.get(name);
    if (known !== undefined && nowMs - known.atMs < FRESH_MS) return known.made;
    const made = (async () => pageAnswer(await make()))();
    answers.set(name, { atMs: nowMs, made });
    made.catch(() => answers.delete(name));
    return made;
  }

  const measured = async () => measuredIn(await daily.figures.days());

  async function viewAnswer(request: GatewayRequest): Promise<Answer> {
    const today = pagesOf(EVERYBODY);
    const { categories, counts } = today;
    const asked = askedOf(request, categories);
    const make = async (): Promise<string> => {
      const parts = { ...today.parts, measured: await measured(), tries: daily.site().pages };
      const view = await inSlices(catalogView(parts, asked, await foundFor(parts, asked)));
      return isPart(request)
        ? viewPart(view).text
        : catalogPage(view, asked, { categories, counts, site: daily.site() });
    };
    if (asked.words !== "") return passingAnswer(await make());
    const name = `view ${asked.category} ${asked.configuredOnly} ${isPart(request)}`;
    return answerWith(await kept(today, name, make), request);
  }

  /** The page of an entry by its canonical name; `told` returns its content. */
  async function entryAnswer(request: GatewayRequest, name: string, told: () => Told | Promise<Told>): Promise<Answer> {
    const make = async () => (isPart(request) ? (await told()).body.text : entryPage(await told()));
    return answerWith(await kept(pagesOf(EVERYBODY), `${name} ${isPart(request)}`, make), request);
  }

  function actionAnswer(request: GatewayRequest): Answer | Promise<Answer> | GatewayError {
    const { service = "", action: last = "" } = request.params;
    const id = `${service}/${last}`;
    const action = pagesOf(EVERYBODY).parts.actions.find((one) => one.id === id);
    if (action === undefined) return noSuchAction(id, daily.actionCatalog, EVERYBODY);
    const table = tableOf(action);
    const asked = table === null ? null : request.query.get(table.param);
    const row = table === null || asked === null ? null : nameIn(table.rows, asked);
    if (table !== null && asked !== null && row === null) {
      return notFound(`${id} has no ${table.param} ${asked.slice(0, 120)}`, asked, Object.keys(table.rows));
    }
    return entryAnswer(request, `action ${id} ${row ?? ""}`, () => actionDetails(action, row, daily.site()));
  }

  function modelAnswer(request: GatewayRequest): Answer | Promise<Answer> | GatewayError {
    const { slug = "" } = request.params;
    const { catalog } = pagesOf(EVERYBODY).parts;
    const all = [...catalog.models(EVERYBODY), ...catalog.embeddings(EVERYBODY)];
    const model = all.find((one) => one.slug === slug);
    if (model === undefined) {
      return notFound(
        `There is no model ${slug.slice(0, 120)}`,
        slug,
        all.map((one) => one.slug),
      );
    }
    return entryAnswer(request, `model ${slug}`, async () => ({
      title: slug,
      description: `${model.kind === "chat" ? "A language model" : "An embedding model"} of ${slug.split("/")[0]}, by the token.`,
      body: modelDetails(model, { catalog, measured: await measured(), site: daily.site() }),
    }));
  }

  function tierAnswer(request: GatewayRequest): Answer | Promise<Answer> | GatewayError {
    const { id = "" } = request.params;
    const { catalog } = pagesOf(EVERYBODY).parts;
    const tiers = tiersShown(catalog, EVERYBODY);
    const shown = tiers.find(({ tier }) => tier.id === id);
    if (shown === undefined) {
      return notFound(
        `There is no tier ${id.slice(0, 120)}`,
        id,
        tiers.map(({ tier }) => tier.id),
      );
    }
    return entryAnswer(request, `tier ${id}`, async () => ({
      title: `core/${id}`,
      description: shown.tier.purpose,
      body: tierDetails(shown, { catalog, measured: await measured(), site: daily.site() }),
    }));
  }

  async function comparisonAnswer({ query }: GatewayRequest): Promise<Answer> {
    const body = comparison(query, pagesOf(EVERYBODY).parts.catalog, await measured());
    const description = "Prices, limits and measured speed of all models, to filter, sort and compare.";
    return passingAnswer(entryPage({ title: "Models", description, body }));
  }

  const open = (
    path: string,
    answer: (request: GatewayRequest) => Answer | Promise<Answer> | GatewayError,
  ): Endpoint => ({
    method: "GET",
    path,
    auth: "none",
    bodyBytesMax: 0,
    errors: envelopeErrors,
    answer: ({ request }) => answer(request),
  });
  return [
    open("/catalog", viewAnswer),
    open("/catalog/actions/{service}/{action}", actionAnswer),
    open("/catalog/models", comparisonAnswer),
    open("/catalog/models/{slug...}", modelAnswer),
    open("/catalog/tiers/{id}", tierAnswer),
  ];
}
