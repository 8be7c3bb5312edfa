// core/onescrape: up to five pages, read in parallel by the cheap rungs of the ladder (contract 4.2).
import { z } from "zod";
import { type LocalAction, type LocalCall, localAction } from "../../catalog/local-action.ts";
import type { PageLadderSpec, RungSpec } from "../../catalog/page-ladder.ts";
import { GatewayError } from "../../core/errors.ts";
import { formatParams, pageUrls } from "./pages/page-params.ts";
import { pagesOf } from "./pages/page-url.ts";
import type { PageParts } from "./pages/parts.ts";
import { readPages } from "./pages/read-pages.ts";
import { neededBy, type SkipReason } from "./pages/read-rung.ts";

const URLS_MAX = 5;
const CENTS_EACH = 2;
/** What the cheap rungs together may cost us per URL. */
const UPSTREAM_CENTS_EACH = 4;
const WHOLE_MS_MAX = 60_000;

interface Params {
  readonly urls: readonly string[];
  readonly format: "markdown" | "html";
  readonly main_content: boolean;
}

const NEXT_UNREAD =
  "Pages without content met a wall here. core/onescrape-deep reads them through all rungs; poll it with core/result.";

const UNABLE: ReadonlySet<string> = new Set<SkipReason>(["not_configured", "off", "format"]);

function cheapRungs({ rungs }: PageLadderSpec): readonly RungSpec[] {
  return rungs.filter(({ hard }) => hard !== true);
}

function readAll(
  urls: readonly string[],
  { format, main_content: mainContent }: Params,
  call: LocalCall,
  parts: PageParts,
) {
  const { clock } = parts;
  const ladder = parts.ladder();
  const bounds = { clock, untilMs: clock.elapsedMs() + WHOLE_MS_MAX, signal: call.signal };
  const order = { urls, wanted: { format, mainContent }, rungs: cheapRungs(ladder), bounds };
  return readPages(order, parts.rungParts(call.payer, ladder, call));
}

export function onescrapeAction(parts: PageParts): LocalAction {
  return localAction({
    service: "core",
    action: "onescrape",
    asked:
      "read a web page; get the text of a link; open this url; what does this page say; page to markdown; copy the content of an article; grab the html; fetch a site; screenshot of a page; turn a website into text",
    description:
      "Reads 1 to 5 pages as markdown or HTML by the cheapest way that works, up to a renderer and anti-bot scraping. Free if no page could be read.",
    category: "core",
    keywords: "read a page; scrape; fetch url; web page to markdown; several URLs",
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
    needs: () => neededBy(cheapRungs(parts.ladder()), parts),
    mayBeLong: true,
    async run(params, call) {
      const urls = pagesOf(params.urls);
      const read = await readAll(urls, params, call, parts);
      const document = read.find(({ noPage }) => noPage === "onescrape_document");
      if (document !== undefined) {
        const detail = `${document.url} is a document and no page, by what its server says`;
        return new GatewayError("onescrape_document", { param: "urls", detail });
      }
      const rows = read.map((row) => row.end());
      const readCount = rows.filter(({ content }) => content !== null).length;
      const calls = rows.flatMap(({ url, hops }) => hops.map((hop) => ({ url, ...hop })));
      const unable = calls.filter(({ skipped }) => skipped !== undefined && UNABLE.has(skipped));
      if (unable.length > 0 && unable.length === calls.length) {
        const detail = `rungs that read pages as ${params.format}`;
        return new GatewayError("upstream_not_configured", { detail, data: { calls } });
      }
      if (readCount === 0) {
        const detail = "every way that was tried met a wall, an empty page or an error.";
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
