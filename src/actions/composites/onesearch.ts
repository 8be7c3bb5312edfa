// core/onesearch: searches many kinds of sources for one question, and answers with evidence that cites its sources.
import type { FacetsSpec, SearchWanted } from "../../catalog/facets.ts";
import { type LocalAction, type LocalCall, localAction } from "../../catalog/local-action.ts";
import type { JsonObject } from "../../catalog/said.ts";
import type { Clock } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import { classify, type Intent } from "./classify.ts";
import { type Evidence, merged } from "./evidence.ts";
import { pagesOf } from "./pages/page-url.ts";
import type { PageParts } from "./pages/parts.ts";
import { neededBy } from "./pages/read-rung.ts";
import { type FacetFound, searchFacet } from "./search-facet.ts";
import { type ReadPage, readArchived, readPages, rungsOf } from "./search-pages.ts";
import { hasFrame, type SearchParams, searchParams } from "./search-params.ts";
import { SourceCalls, type SourceDeps } from "./source-calls.ts";

export interface OnesearchDeps extends SourceDeps {
  readonly clock: Clock;
  readonly pages: PageParts;
  /** From the current catalog. */
  facets(): FacetsSpec;
}

const PRICE_CENTS = 5;
/** What its calls together may cost us. */
const UPSTREAM_CENTS_MAX = 15;
const MS_MAX = 60_000;
const RESULTS = 10;
const FULL_TEXTS_MAX = 5;
const DAY_MS = 86_400_000;

/** The decisions that shape a search, and who made them. */
interface Frame {
  readonly facets: readonly string[];
  readonly timeCritical: boolean;
  readonly fidelityRequired: boolean;
  readonly by: Intent["by"] | "caller";
}

function frameOf({ facets, timeCritical = false, fidelityRequired = false, urls }: SearchParams): Frame {
  const byDefault = urls === undefined ? "web" : "scrape";
  return { facets: [...new Set(facets ?? [byDefault])], timeCritical, fidelityRequired, by: "caller" };
}

const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

function wantedOf(query: string, params: SearchParams, isWhole: boolean, nowMs: number): SearchWanted {
  const { recencyDays, domains = [], excludeDomains = [], maxResults = RESULTS, platform = "twitter" } = params;
  return {
    query,
    count: maxResults,
    today: dayOf(nowMs),
    since: recencyDays === undefined ? null : dayOf(nowMs - recencyDays * DAY_MS),
    domains,
    excludeDomains,
    fullText: isWhole,
    platform,
  };
}

class Onesearch {
  readonly #params: SearchParams;
  readonly #call: LocalCall;
  readonly #deps: OnesearchDeps;
  readonly #spec: FacetsSpec;
  readonly #calls: SourceCalls;

  constructor(params: SearchParams, call: LocalCall, deps: OnesearchDeps) {
    this.#params = params;
    this.#call = call;
    this.#deps = deps;
    this.#spec = deps.facets();
    this.#calls = new SourceCalls(call, deps, MS_MAX);
  }

  async run(): Promise<object | GatewayError> {
    const { query, urls } = this.#params;
    if (urls !== undefined) return this.#read(pagesOf(urls), frameOf(this.#params));
    const text = query ?? "";
    const frame = hasFrame(this.#params) ? frameOf(this.#params) : await classify(text, this.#spec, this.#call);
    return this.#search(text, frame);
  }

  async #search(query: string, frame: Frame): Promise<object | GatewayError> {
    const nowMs = this.#deps.clock.epochMs();
    const one = async (name: string): Promise<FacetFound> => {
      const spec = this.#spec.facets[name];
      if (spec === undefined) return { evidence: [], answered: false, raw: null };
      const isWhole = this.#params.asOf === undefined && (frame.fidelityRequired || spec.fullText === true);
      const wanted = wantedOf(query, this.#params, isWhole, nowMs);
      return searchFacet({ name, spec, wanted, races: frame.timeCritical }, this.#calls);
    };
    const found = await Promise.all(frame.facets.map(one));
    if (!found.some(({ answered }) => answered)) return this.#failed();
    const ranked = merged(
      found.map(({ evidence }) => evidence),
      this.#params.maxResults ?? RESULTS,
    );
    const evidence = await this.#whole(ranked, frame);
    const posts = found.flatMap(({ raw }) => (raw === null ? [] : [raw]));
    return this.#answer(frame, evidence, { query, ...(posts.length === 0 ? {} : { posts }) });
  }

  async #whole(evidence: readonly Evidence[], frame: Frame): Promise<readonly Evidence[]> {
    const { asOf } = this.#params;
    const isWhole = ({ facet }: Evidence) =>
      asOf !== undefined || frame.fidelityRequired || this.#spec.facets[facet]?.fullText === true;
    const lacking = evidence.filter((one) => isWhole(one) && (asOf !== undefined || one.content === undefined));
    const urls = lacking.slice(0, FULL_TEXTS_MAX).flatMap(({ url }) => url ?? []);
    if (urls.length === 0) return evidence;
    const read = await this.#fetch("scrape", urls, this.#spec.scrape);
    return evidence.map((one) => {
      const page = lacking.includes(one) ? read.get(one.url ?? "") : undefined;
      if (page === undefined) return one;
      const { content, format, truncated, source, transaction_id } = page;
      const also = [...(one.also ?? []), { facet: "scrape", source, transaction_id }];
      const text = content === undefined || format === undefined ? {} : { content, format };
      return { ...one, ...text, ...(truncated === undefined ? {} : { truncated }), also };
    });
  }

  #fetch(facet: string, urls: readonly string[], tags: readonly string[]): Promise<ReadonlyMap<string, ReadPage>> {
    const { asOf } = this.#params;
    const { clock, pages } = this.#deps;
    const reading = { clock, pages, calls: this.#calls, call: this.#call };
    if (asOf !== undefined) return readArchived(facet, urls, asOf, { ...reading, archive: this.#spec.archive });
    return readPages(facet, urls, tags, reading);
  }

  async #read(urls: readonly string[], frame: Frame): Promise<object | GatewayError> {
    const isHard = frame.facets.includes("scrape-hard");
    const facet = frame.facets[0] ?? "scrape";
    const read = await this.#fetch(facet, urls, isHard ? this.#spec.scrapeHard : this.#spec.scrape);
    if (read.size === 0) return this.#failed();
    const evidence = urls.flatMap((url): Evidence[] => {
      const page = read.get(url);
      return page === undefined ? [] : [{ facet, url, snippet: page.content?.slice(0, 300) ?? null, ...page }];
    });
    const unread = urls.filter((url) => !read.has(url));
    return this.#answer(frame, evidence, { urls, ...(unread.length === 0 ? {} : { unread }) });
  }

  #answer({ facets, timeCritical, fidelityRequired, by }: Frame, evidence: readonly Evidence[], more: object): object {
    return {
      ...more,
      facets,
      timeCritical,
      fidelityRequired,
      chosen_by: by,
      result_count: evidence.length,
      evidence,
      calls: this.#calls.records,
    };
  }

  /** No source answered; the caller pays nothing. */
  #failed(): GatewayError {
    const { records } = this.#calls;
    const data = { calls: records };
    if (records.every(({ skipped }) => skipped === "not_configured" || skipped === "not_possible"))
      return new GatewayError("upstream_not_configured", { detail: "its sources", data });
    const detail = "no source has answered; `calls` says what came of each.";
    return new GatewayError("upstream_error", { status: 500, detail, data });
  }
}

/** One of these actions suffices; null where pages can be read without any vendor. */
function neededFor({ facets, pages }: OnesearchDeps): readonly string[] | null {
  const { facets: named, scrape, archive } = facets();
  const needed = neededBy(rungsOf(scrape, pages.ladder()), pages);
  const sources = Object.values(named).flatMap((facet) => facet.sources.map(({ action }) => action));
  return needed === null ? null : [...needed, archive.action, ...sources];
}

const EXAMPLE: JsonObject = { query: "recent advances in battery recycling" };

function searchAction(action: string, description: string, deps: OnesearchDeps): LocalAction {
  return localAction<SearchParams>({
    service: "core",
    action,
    description,
    category: "core",
    asked:
      "answer a question; who, what, when, where, why, how; facts about anything; tell me about; find out; look into; evidence with sources; news, papers, courts, funding, companies, code, docs; background on a company; competitors; market size; how much money did a startup raise; valuation; investors; is it true; fact check; weather, sports, scores, recipes, travel, history, population, capital",
    keywords:
      "web search; many kinds of sources; one question; research; evidence; citations; news; academic; filings; legal; funding; stock price history; market data",
    effect: "read",
    params: searchParams,
    price: { mode: "fixed", cents: PRICE_CENTS },
    upstreamCentsMax: () => UPSTREAM_CENTS_MAX,
    needs: () => neededFor(deps),
    mayBeLong: true,
    run: (params, call) => new Onesearch(params, call, deps).run(),
    example: { params: EXAMPLE },
  });
}

export function onesearchActions(deps: OnesearchDeps): readonly LocalAction[] {
  return [
    searchAction(
      "onesearch",
      "Searches web, docs, news, papers, code, filings, funding, financials, courts, nonprofits, rules and sanctions at once, or reads pages; one list of evidence with its sources.",
      deps,
    ),
    searchAction("supersearch", "The older name of core/onesearch; it is the same.", deps),
  ];
}
