// Firecrawl: pages, whole sites, maps of sites, web search and extraction. A credit is counted as a tenth of a cent.
import { action, bearer, defineAdapter, needsOne, z } from "#adapter";

const CREDIT_CENTS = 0.1;
/** What its better addresses cost beside the page. */
const ENHANCED_CREDITS = 4;
/** The vendor passes these on to others at thirty credits a page. */
const DEAR = /^https?:\/\/([^/:@]+\.)?(x\.com|twitter\.com|t\.co|linkedin\.com|lnkd\.in)([/:?#]|$)/i;
const optional = <S extends z.ZodType>(schema: S, about: string) => schema.optional().describe(about);
const page = z.url({ protocol: /^https?$/ }).refine((url) => !DEAR.test(url), "social networks: see tikhub/fetch");
const words = z.string().min(1);
const list = z.array(words).min(1).max(50);
const format = z.enum(["markdown", "html", "rawHtml", "links", "images", "screenshot", "summary"]);
/** One of these is in every page that was read. */
const READ = format.options.map((name) => `/data/${name}`);
const ERROR_PAGE = { at: "/data/metadata/statusCode", matches: /^[45]\d\d$/, sample: "404", means: "miss" } as const;
const single = z.strictObject({
  url: page.describe("The page"),
  formats: z.array(format).min(1).default(["markdown"]).describe("What to return of it"),
  onlyMainContent: z.boolean().default(true).describe("Leave out navigation, headers and footers"),
  waitFor: z.int().min(0).max(60_000).default(0).describe("Milliseconds to wait before reading"),
});
const extract = z
  .strictObject({
    urls: z
      .array(page.regex(/^[^*]*$/, "names a whole site"))
      .min(1)
      .max(10)
      .describe("The pages; each costs a cent"),
    prompt: optional(words, "What to extract, in words"),
    schema: optional(z.record(z.string(), z.json()), "JSON Schema of what to extract"),
  })
  .check(needsOne("prompt", "schema"));
const skip = optional(z.int().min(0), "Pages to leave out: the number in the address that `next` holds");

const reads = { category: "scraping", effect: "read", price: { mode: "fixed", cents: 1, freeOnMiss: true } } as const;
const ranged = { mode: "ranged", minCents: 1, unit: "page" } as const;
// Every page of a PDF is a credit.
const pdf = (maxPages: number) => ({ parsers: [{ type: "pdf", maxPages }] });
const [url, id] = ["https://example.com", "9f2c1c9e-5b8e-4c36-a0d2-0c0b4c1f7c11"];
const names = { maxDepth: "maxDiscoveryDepth" };
const read = { markdown: "# Example Domain", metadata: { title: "Example Domain", statusCode: 200 } };

const readsPages = {
  param: "url",
  puts: {
    "/data/markdown": "markdown",
    "/data/html": "html",
    "/data/metadata/title": "title",
    "/data/metadata/statusCode": "status",
  },
} as const;
const status = (kind: string, more: z.ZodRawShape, answer: z.core.util.JSONType) =>
  action({
    ...reads,
    description: `Says how far a job of firecrawl/${kind} is, and what it has found. A failed job is free.`,
    params: z.strictObject({ id: words.describe("The id of the job"), ...more }),
    upstreamCents: 0,
    request: { method: "GET", path: `/${kind}/{id}` },
    content: ["/status"],
    rules: [{ at: "/status", is: ["failed", "cancelled"], means: "miss" }],
    requires: [{ kind, param: "id" }],
    example: { params: { id }, answers: [answer] },
  });
const launch = (kind: string) => {
  const poll = {
    action: `${kind}-status`,
    param: "id",
    at: "/status",
    done: ["completed"],
    failed: ["failed", "cancelled"],
  };
  return { category: "scraping", effect: "write", issues: [{ kind, at: "/id", poll }] } as const;
};

export default defineAdapter({
  name: "Firecrawl",
  docs: "https://docs.firecrawl.dev/api-reference/v2-introduction",
  origin: "https://api.firecrawl.dev/v2",
  auth: bearer,
  rules: [{ at: "/success", is: false, means: "provider_server_error" }],
  actions: {
    scrape: action({
      ...reads,
      description: "Reads one page, its scripts run, as markdown, HTML, links or a screenshot. An error page is free.",
      keywords: ["read a page", "fetch url", "html to markdown"],
      params: single,
      upstreamCents: 10 * CREDIT_CENTS,
      request: { method: "POST", path: "/scrape", fixed: { ...pdf(10), timeout: 50_000 } },
      content: READ,
      rules: [ERROR_PAGE],
      example: { params: { url }, answers: [{ success: true, data: read }] },
      readsPages,
    }),
    unblock: action({
      ...reads,
      description: "Reads one page through better addresses, for sites that turn others away. An error page is free.",
      keywords: ["blocked page", "anti-bot", "enhanced proxy"],
      price: { ...reads.price, cents: 2 },
      params: single,
      upstreamCents: (10 + ENHANCED_CREDITS) * CREDIT_CENTS,
      request: { method: "POST", path: "/scrape", fixed: { ...pdf(10), timeout: 50_000, proxy: "enhanced" } },
      content: READ,
      rules: [ERROR_PAGE],
      example: { params: { url }, answers: [{ success: true, data: read }] },
      readsPages,
    }),
    crawl: action({
      ...launch("crawl"),
      description: "Reads the pages of a whole site, following its links. Returns an id for firecrawl/crawl-status.",
      params: z.strictObject({
        url: page.describe("Where to begin"),
        limit: z.int().min(1).max(1_000).default(10).describe("Pages at most; beyond ten each costs a tenth of a cent"),
        maxDepth: optional(z.int().min(0).max(20), "How many links away from the first page"),
        includePaths: optional(list, "Regular expressions: only pages whose path one of them finds"),
        excludePaths: optional(list, "Regular expressions: no pages whose path one of them finds"),
      }),
      price: { ...ranged, cents: 100, quoteCents: ({ limit }) => Math.max(10, limit) / 10 },
      upstreamCents: ({ limit }) => limit * CREDIT_CENTS,
      request: { method: "POST", path: "/crawl", names, fixed: { scrapeOptions: pdf(1) } },
      example: { params: { url, limit: 5 }, answers: [{ success: true, id }] },
    }),
    "crawl-status": status("crawl", { skip }, { status: "completed", total: 1, completed: 1, data: [read] }),
    map: action({
      ...reads,
      description: "Lists the addresses of all pages of a site, as a sitemap does, without reading the pages.",
      params: z.strictObject({
        url: page.describe("The site"),
        search: optional(words, "Words that put matching addresses first"),
      }),
      upstreamCents: CREDIT_CENTS,
      request: { method: "POST", path: "/map" },
      content: ["/links"],
      example: { params: { url }, answers: [{ success: true, links: [{ url, title: "Example Domain" }] }] },
    }),
    search: action({
      ...reads,
      category: "search",
      description: "Searches the web: title, description and address of each result.",
      params: z.strictObject({
        query: words.max(500).describe("What to search for"),
        limit: z.int().min(1).max(50).default(10).describe("Results at most"),
      }),
      upstreamCents: ({ limit }) => Math.ceil(limit / 10) * 2 * CREDIT_CENTS,
      request: { method: "POST", path: "/search" },
      content: ["/data"],
      example: { params: { query: "example" }, answers: [{ success: true, data: { web: [{ url }] }, creditsUsed: 2 }] },
    }),
    extract: action({
      ...launch("extract"),
      description:
        "Takes structured data out of pages, by prompt or schema. Returns an id for firecrawl/extract-status.",
      params: extract,
      price: { ...ranged, cents: 10, quoteCents: ({ urls }) => urls.length },
      upstreamCents: ({ urls }) => urls.length * 10 * CREDIT_CENTS,
      mayCostMore: "the vendor counts the tokens of its model and says how many only when the job is done",
      request: { method: "POST", path: "/extract", fixed: { enableWebSearch: false, ignoreSitemap: true } },
      example: { params: { urls: [url], prompt: "The title" }, answers: [{ success: true, id, invalidURLs: [] }] },
    }),
    "extract-status": status("extract", {}, { success: true, status: "completed", data: { title: "Example Domain" } }),
  },
});
