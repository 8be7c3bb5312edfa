// core/onescrape: up to five pages, read side by side by the cheap rungs of the ladder (contract 4.2).
import { z } from "zod";
import { type LocalAction, type LocalCall, localAction } from "../catalog/local-action.ts";
import type { PagesWanted } from "../catalog/tier.ts";
import { GatewayError } from "../errors.ts";
import { bounded } from "./bounded.ts";
import { formatParams, pageUrls } from "./pages/page-params.ts";
import { GrowingRow, type Hop, type PageRow } from "./pages/page-row.ts";
import { pagesOf } from "./pages/page-url.ts";
import type { PageParts } from "./pages/parts.ts";
import { type RungOutcome, readRung, rungAction } from "./pages/read-rung.ts";

const URLS_MAX = 5;
const CENTS_EACH = 2;
/** For each URL: what the cheap rungs may cost us together. */
const UPSTREAM_CENTS_EACH = 4;
const WHOLE_MS_MAX = 60_000;
const RUNG_MS_MAX = 20_000;

interface Params {
  readonly urls: readonly string[];
  readonly format: "markdown" | "html";
  readonly main_content: boolean;
}

const NEXT_UNREAD =
  "Pages without content met a wall here. core/onescrape-deep reads them through all rungs; poll it with core/result.";

/** The calls of all rows, each with its page. */
export function callsOf(rows: readonly PageRow[]): readonly (Hop & { readonly url: string })[] {
  return rows.flatMap(({ url, hops }) => hops.map((hop) => ({ url, ...hop })));
}

async function readPage(url: string, params: Params, call: LocalCall, parts: PageParts): Promise<GrowingRow> {
  const { clock } = parts;
  const wanted: PagesWanted = { urls: [url], format: params.format, mainContent: params.main_content };
  const row = new GrowingRow(url, wanted);
  const ladder = parts.ladder();
  const endMs = clock.elapsedMs() + WHOLE_MS_MAX;
  const rungParts = parts.rungParts(call.payer, ladder, (one) => call.call(one));
  for (const rung of ladder.rungs.filter(({ hard }) => hard !== true)) {
    if (row.isDone || call.signal.aborted) break;
    const fromMs = clock.elapsedMs();
    const action = rungAction(rung, params.format);
    const late: RungOutcome = { kind: "failed", action, id: null, why: "it took too long" };
    const leftMs = endMs - fromMs;
    const outcome =
      leftMs <= 0
        ? ({ kind: "skipped", action, why: "time" } as const)
        : await bounded((signal) => readRung(rung, wanted, signal, rungParts), late, {
            msMax: Math.min(RUNG_MS_MAX, leftMs),
            signal: call.signal,
          });
    row.note(rung, outcome, clock.elapsedMs() - fromMs, rung.cents);
  }
  return row;
}

export function onescrapeAction(parts: PageParts): LocalAction {
  return localAction({
    service: "core",
    action: "onescrape",
    description:
      "Reads 1 to 5 pages as markdown or HTML by the cheapest way that works, up to a renderer and anti-bot scraping. Free if no page could be read.",
    category: "core",
    keywords: ["read a page", "scrape", "fetch url", "web page to markdown", "several URLs"],
    effect: "read",
    params: z.strictObject({
      urls: pageUrls(parts, URLS_MAX).describe("The pages, 1 to 5; `example.com` will do"),
      ...formatParams,
    }),
    price: {
      mode: "ranged",
      cents: URLS_MAX * CENTS_EACH,
      minCents: CENTS_EACH,
      unit: "URL",
      quoteCents: ({ urls }) => pagesOf(urls).length * CENTS_EACH,
    },
    upstreamCentsMax: ({ urls }) => pagesOf(urls).length * UPSTREAM_CENTS_EACH,
    async run(params, call) {
      const urls = pagesOf(params.urls);
      const read = await Promise.all(urls.map((url) => readPage(url, params, call, parts)));
      const document = read.find(({ noPage }) => noPage === "onescrape_document");
      if (document !== undefined) {
        const detail = { detail: `${document.url} is a document and no page, by what its server says` };
        return new GatewayError("onescrape_document", { param: "urls", detail });
      }
      const rows = read.map((row) => row.end());
      const readCount = rows.filter(({ content }) => content !== null).length;
      const calls = callsOf(rows);
      if (readCount === 0) {
        const detail = { detail: "every way that was tried met a wall, an empty page or an error." };
        return new GatewayError("all_blocked", { detail, data: { calls } });
      }
      return {
        url_count: urls.length,
        row_count: rows.length,
        read_count: readCount,
        format: params.format,
        hard: false,
        rows,
        calls,
        next: readCount < rows.length ? NEXT_UNREAD : "",
      };
    },
    example: { params: { urls: ["https://example.com"], format: "markdown" } },
  });
}
