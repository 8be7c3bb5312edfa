// core/onescrape-deep: up to fifty pages, listed or of a site, read through the whole ladder. A job, paid per page (contract 4.3, 8).
import { z } from "zod";
import type { JobEnd, JobKind, JobPart, RunningJob } from "../../catalog/job-kind.ts";
import { type LocalAction, launched, localAction } from "../../catalog/local-action.ts";
import type { PageLadderSpec, RungSpec } from "../../catalog/page-ladder.ts";
import { exactlyOne } from "../../catalog/params-rules.ts";
import type { AskEnd } from "./pages/page-batch.ts";
import { formatParams, pageUrl, pageUrls } from "./pages/page-params.ts";
import { GrowingRow, type Hop, type PageRow, type RanOut } from "./pages/page-row.ts";
import { pagesOf } from "./pages/page-url.ts";
import type { PageParts } from "./pages/parts.ts";
import { type Asked, askRung, noteAsked, PageReader } from "./pages/read-pages.ts";
import { cannotAsk, neededBy, type RungParts } from "./pages/read-rung.ts";
import { mapSite, pagesOfSite } from "./pages/site-map.ts";
import { endedBy, type RowDone, type RowsDeps, RowsJob } from "./rows-job.ts";
import { budgetCents } from "./step-budget.ts";

const NAME = "onescrape-deep";
const MS_MAX = 15 * 60_000;
const IN_FLIGHT_MAX = 3;
const URLS_MAX = 50;
const PAGES_DEFAULT = 20;
const GLOBS_MAX = 20;
const [BUDGET_CENTS_MIN, BUDGET_CENTS_MAX, URL_CENTS] = [10, 500, 10];

function paramsOf(parts: Pick<PageParts, "ladder" | "mayUsePort">) {
  const globs = z.array(z.string().min(1).max(500)).max(GLOBS_MAX).default([]);
  return z
    .strictObject({
      urls: pageUrls(parts, URLS_MAX).optional().describe("The pages, 1 to 50; `example.com` will do"),
      site: z
        .strictObject({
          url: pageUrl(parts).describe("The first page to read; only pages of its host are"),
          max_pages: z.int().min(1).max(URLS_MAX).default(PAGES_DEFAULT).describe("Pages at most"),
          include: globs.describe("Only pages whose address one of these matches; * is anything, without one a part"),
          exclude: globs.describe("No pages whose address one of these matches"),
        })
        .optional()
        .describe("A site whose pages are listed, for a cent, and read"),
      ...formatParams,
      budgetCents: budgetCents(BUDGET_CENTS_MIN, BUDGET_CENTS_MAX, "10 for each page, and 1 for the list of a site"),
    })
    .check(exactlyOne("urls", "site"));
}
type Start = z.infer<ReturnType<typeof paramsOf>>;

/** The hold where the caller names no budget. */
function defaultCents({ urls, site }: Start, { map }: PageLadderSpec): number {
  return site === undefined ? pagesOf(urls ?? []).length * URL_CENTS : site.max_pages * URL_CENTS + map.cents;
}

export function onescrapeDeep(parts: PageParts): LocalAction {
  return localAction({
    service: "core",
    action: NAME,
    description:
      "Reads up to 50 pages, or those of a site, through every way there is, past walls too, each page at the price of what read it. Starts a job; core/result tells what it read.",
    category: "core",
    asked: "read a whole site; download many pages; pages behind walls; scrape a list of urls; all articles of a blog",
    keywords: "scrape many pages; blocked page; crawl a site; unblock; anti-bot; whole website",
    effect: "read",
    params: paramsOf(parts),
    price: {
      mode: "capped",
      cents: BUDGET_CENTS_MAX + 1,
      quoteCents: (start) => start.budgetCents ?? defaultCents(start, parts.ladder()),
    },
    launches: { job: NAME, inFlightMax: IN_FLIGHT_MAX },
    needs: () => neededBy(parts.ladder().rungs, parts),
    run: (_, call) => launched(call),
    example: { params: { urls: ["https://example.com"], budgetCents: 10 } },
  });
}

interface Done extends RowDone {
  readonly isRead: boolean;
  readonly isBlocked: boolean;
  readonly hard: boolean;
  /** Present where one call asked for several pages, for the row that paid for the call; absent in jobs of earlier releases. */
  readonly batch?: Batch;
}

/** A call for several pages. After a crash the next runner requests the unfinished ones again, free of charge. */
interface Batch {
  readonly tag: string;
  readonly urls: readonly string[];
}

interface Before {
  /** The pages of a site, and the price of the list; null until they are listed. */
  readonly map: { readonly pages: readonly string[]; readonly cents: number } | null;
}

export interface OnescrapeDeepDeps extends RowsDeps {
  readonly parts: PageParts;
}

/** Calls that rows share. They are repeated after a crash as long as one of the rows is unfinished. */
interface RowCalls {
  readonly calls: JobPart;
  readonly rows: Set<GrowingRow>;
}

class PagesJob {
  readonly #job: RunningJob;
  readonly #deps: OnescrapeDeepDeps;
  readonly #start: Start;
  readonly #ladder: PageLadderSpec;
  readonly #rungParts: RungParts;
  readonly #rows: RowsJob<Done, Before>;
  readonly #reader: PageReader;
  /** Calls for rows that are not stored yet. */
  readonly #asked = new Set<RowCalls>();
  readonly #batchOf = new Map<GrowingRow, Batch>();
  /** Pages, by rung, that a dead process requested in a paid call. */
  readonly #paidBefore: ReadonlyMap<string, ReadonlySet<string>>;

  constructor(job: RunningJob, deps: OnescrapeDeepDeps) {
    this.#job = job;
    this.#deps = deps;
    this.#start = job.start as Start;
    this.#ladder = deps.parts.ladder();
    this.#rows = new RowsJob<Done, Before>(job, deps, { map: null }, ({ map }) => map?.cents ?? 0);
    this.#rungParts = deps.parts.rungParts(job.payer, this.#ladder, job);
    this.#paidBefore = paidPages(this.#rows.done);
    // Pages in one call cost one cent together, so each waits for the others.
    this.#reader = new PageReader({
      rungs: this.#ladder.rungs,
      ask: (rung, rows) => this.#ask(rung, rows),
      canAsk: (rung) => cannotAsk(rung, this.#start.format, this.#rungParts) === null,
      signal: job.signal,
      patienceMs: null,
    });
  }

  async run(): Promise<JobEnd> {
    const pages = await this.#pages();
    await this.#rows.each(pages, (url, at) => this.#row(url, at));
    return this.#end(pages);
  }

  async #pages(): Promise<readonly string[]> {
    const { urls = [], site } = this.#start;
    if (site === undefined) return pagesOf(urls);
    const { map } = this.#rows.before;
    if (map !== null) return map.pages;
    const { cents } = this.#ladder.map;
    const found = await this.#rows.paid(() => mapSite(site, this.#rungParts, this.#job.signal), []);
    const pages = await pagesOfSite(site, found, this.#ladder);
    const charged = found.length > 0 ? cents : 0;
    this.#rows.budget.charge(charged);
    await this.#rows.save({ map: { pages, cents: charged } });
    return pages;
  }

  async #row(url: string, at: number): Promise<void> {
    const { format, main_content: mainContent } = this.#start;
    const row = new GrowingRow(url, { format, mainContent });
    const ranOut: RanOut | null = await this.#reader.read(row);
    const told = row.end(endedBy(this.#job.signal) ?? ranOut);
    const name = await this.#rows.put(told);
    for (const asked of this.#asked) {
      if (!asked.rows.delete(row) || asked.rows.size > 0) continue;
      asked.calls.end();
      this.#asked.delete(asked);
    }
    const batch = this.#batchOf.get(row);
    this.#batchOf.delete(row);
    const { charged_cents: cents, content, error, hard, provider } = told;
    const plain: Done = { name, cents, isRead: content !== null, isBlocked: error === "blocked", hard };
    // Record the call as paid only in the row that carries its cost.
    const carries = batch !== undefined && batch.tag === provider && cents > 0;
    await this.#rows.keep(carries ? { ...plain, batch } : plain, at);
  }

  /** Asks one rung for some rows, within the budget: reserves its price, and spends it only where a page was read. */
  async #ask(rung: RungSpec, rows: readonly GrowingRow[]): Promise<AskEnd> {
    const { clock, rungParts } = this.#deps.parts;
    const { format, main_content: mainContent } = this.#start;
    const cannot = cannotAsk(rung, format, this.#rungParts);
    if (cannot !== null) {
      for (const row of rows) row.note(rung, cannot, 0, 0);
      return "asked";
    }
    // Begin nothing that can no longer be paid.
    const { budget } = this.#rows;
    if (this.#rows.stopped !== null) return this.#rows.stopped;
    const paid = this.#paidBefore.get(rung.tag);
    const price = rows.every(({ url }) => paid?.has(url)) ? 0 : rung.cents;
    if (!(await budget.setAside(price))) return "over budget";
    const calls = this.#job.part();
    this.#asked.add({ calls, rows: new Set(rows) });
    let spent = 0;
    try {
      const wanted = { urls: rows.map(({ url }) => url), format, mainContent };
      // The job's signal bounds the time.
      const bounds = { clock, untilMs: Number.POSITIVE_INFINITY, signal: this.#job.signal };
      const parts = rungParts(this.#job.payer, this.#ladder, calls);
      const asked = await this.#rows.paid<Asked | null>(() => askRung(rung, wanted, bounds, parts), null);
      if (asked === null) return this.#rows.stopped ?? "asked";
      if (rows.length > 1) {
        const batch = { tag: rung.tag, urls: rows.map(({ url }) => url) };
        for (const row of rows) this.#batchOf.set(row, batch);
      }
      const { spentCents, givenUpCents } = noteAsked(rung, rows, asked, price);
      // The payer has money, but unread pages have used up what they may cost us. That is not a wall; the rows get their own error.
      if (asked.outcome.kind === "skipped" && asked.outcome.why === "cost_bound") return "unpaid_costs";
      spent = spentCents;
      // The row now pays for this rung, so the budget gets back what it had paid for an earlier one.
      budget.charge(-givenUpCents);
    } finally {
      budget.settle(price, spent);
    }
    return "asked";
  }

  /** Reads each row again, one at a time, because earlier processes' calls are not in memory. */
  async #calls(): Promise<readonly Hop[]> {
    const calls: (Hop & { readonly url: string })[] = [];
    for (const { name } of this.#rows.done) {
      const [row] = (await this.#rows.read(name)) ?? [];
      const { url, hops } = (row ?? { url: "", hops: [] }) as PageRow;
      for (const hop of hops) calls.push({ url, ...hop });
    }
    return calls;
  }

  async #end(pages: readonly string[]): Promise<JobEnd> {
    const rows = this.#rows;
    const { done, spentCents } = rows;
    const readCount = rows.count(({ isRead }) => isRead);
    const blockedCount = rows.count(({ isBlocked }) => isBlocked);
    const chargedCents = readCount > 0 ? spentCents : 0;
    const { site } = this.#start;
    return rows.end(readCount > 0 ? "succeeded" : "failed", chargedCents, {
      url_count: pages.length,
      row_count: done.length,
      read_count: readCount,
      format: this.#start.format,
      hard: done.some(({ hard }) => hard),
      calls: await this.#calls(),
      next: "",
      ...(site === undefined ? {} : { site: { url: site.url, mapped_pages: rows.before.map?.pages.length ?? 0 } }),
      blocked_count: blockedCount,
      skipped_count: done.length - readCount - blockedCount,
      spent_cents: chargedCents,
      budget_cents: rows.budget.limitCents,
    });
  }
}

function paidPages(rows: readonly Done[]): ReadonlyMap<string, ReadonlySet<string>> {
  const paid = new Map<string, Set<string>>();
  for (const { batch } of rows) {
    if (batch === undefined) continue;
    const urls = paid.get(batch.tag) ?? new Set();
    for (const url of batch.urls) urls.add(url);
    paid.set(batch.tag, urls);
  }
  return paid;
}

export function onescrapeDeepJob(deps: OnescrapeDeepDeps): JobKind {
  return {
    name: NAME,
    msMax: MS_MAX,
    // The budget counts what pages charge. Our own cost, walls included, has a separate bound.
    counted: "upstream_cost",
    mayCostMore: true,
    run: (job) => new PagesJob(job, deps).run(),
  };
}
