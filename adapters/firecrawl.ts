// Firecrawl: pages, whole sites, maps of sites, web search and extraction. A credit is counted as a tenth of a cent.
import { action, bearer, defineAdapter, z } from "#adapter";

const CREDIT_CENTS = 0.1;
/** The vendor passes these on to others at thirty credits a page. */
const DEAR = /^([^.]+\.)*(x\.com|twitter\.com|t\.co|linkedin\.com|lnkd\.in)$/i;
const dear = (url: string) => DEAR.test(URL.parse(url)?.hostname ?? "");

const page = z.url({ protocol: /^https?$/ }).refine((url) => !dear(url), "is of a social network: see tikhub/fetch");
const words = z.string().min(1);
const list = z.array(words).min(1).max(50).optional();
const format = z.enum(["markdown", "html", "rawHtml", "links", "images", "screenshot", "summary"]);
const reading = {
  formats: z.array(format).min(1).default(["markdown"]).describe("What to return of a page"),
  onlyMainContent: z.boolean().default(true).describe("Leave out navigation, headers and footers"),
};
const scrape = z.strictObject({
  url: page.describe("The page"),
  ...reading,
  waitFor: z.int().min(0).max(60_000).default(0).describe("Milliseconds to wait before reading"),
  includeTags: list.describe("Only these tags, classes or ids"),
  excludeTags: list.describe("Not these tags, classes or ids"),
  mobile: z.boolean().optional().describe("Read it as a phone would"),
  maxAge: z.int().min(0).optional().describe("How old a stored copy may be, in milliseconds; 0 reads anew"),
});
const crawl = z.strictObject({
  url: page.describe("Where to begin"),
  limit: z.int().min(1).max(1_000).default(10).describe("Pages at most; beyond ten each costs a tenth of a cent"),
  maxDepth: z.int().min(0).max(20).optional().describe("How many links away from the first page"),
  includePaths: list.describe("Regular expressions: only pages whose path one of them finds"),
  excludePaths: list.describe("Regular expressions: no pages whose path one of them finds"),
  ...reading,
});
const map = z.strictObject({
  url: page.describe("The site"),
  search: words.optional().describe("Words that put matching addresses first"),
  limit: z.int().min(1).max(5_000).default(5_000).describe("Addresses at most"),
  sitemap: z.enum(["skip", "include", "only"]).optional().describe("How to use the site's own map"),
  includeSubdomains: z.boolean().optional().describe("Subdomains too; true unless set"),
});
const search = z.strictObject({
  query: words.max(500).describe("What to search for"),
  limit: z.int().min(1).max(50).default(10).describe("Results at most"),
  tbs: z.string().optional().describe("How recent: qdr:h, qdr:d, qdr:w, qdr:m or qdr:y"),
  country: z.string().length(2).optional().describe("Where to search from, two letters"),
});
const whole = page.refine((url) => !url.includes("*"), "names a whole site");
const extract = z
  .strictObject({
    urls: z.array(whole).min(1).max(10).describe("The pages; each costs a cent"),
    prompt: words.optional().describe("What to extract, in words"),
    schema: z.record(z.string(), z.json()).optional().describe("JSON Schema of what to extract"),
  })
  .refine((one) => one.prompt !== undefined || one.schema !== undefined, {
    path: ["prompt"],
    message: "needs a prompt, a schema or both",
  });

const cent = { mode: "fixed", cents: 1 } as const;
// Every page of a PDF is a credit.
const pdf = (maxPages: number) => [{ type: "pdf", maxPages }];
const read = { markdown: "# Example Domain", metadata: { title: "Example Domain", statusCode: 200 } };
const skip = z.int().min(0).optional().describe("Pages to leave out: the number in the address that `next` holds");
const [url, id] = ["https://example.com", "9f2c1c9e-5b8e-4c36-a0d2-0c0b4c1f7c11"];

function status(kind: string, more: z.ZodRawShape, answer: z.core.util.JSONType) {
  return action({
    description: `Says how far a job of firecrawl/${kind} is, and what it has found. A failed job is free.`,
    category: "scraping",
    keywords: ["poll", "job", "progress"],
    effect: "read",
    params: z.strictObject({ id: words.describe("The id of the job"), ...more }),
    price: { ...cent, freeOnMiss: true },
    upstreamCents: 0,
    request: { method: "GET", path: `/${kind}/{id}` },
    rules: [{ at: "/status", is: ["failed", "cancelled"], means: "miss" }],
    requires: [{ kind, param: "id" }],
    example: { params: { id }, answers: [answer] },
  });
}

export default defineAdapter({
  name: "Firecrawl",
  docs: "https://docs.firecrawl.dev/api-reference/v2-introduction",
  origin: "https://api.firecrawl.dev/v2",
  auth: bearer,
  rules: [{ at: "/success", is: false, means: "provider_server_error" }],
  actions: {
    scrape: action({
      description: "Reads one page, its scripts run, as markdown, HTML, links or a screenshot. An error page is free.",
      category: "scraping",
      keywords: ["read a page", "fetch url", "html to markdown", "screenshot of a website"],
      effect: "read",
      params: scrape,
      price: { ...cent, freeOnMiss: true },
      upstreamCents: 10 * CREDIT_CENTS,
      request: { method: "POST", path: "/scrape", fixed: { parsers: pdf(10), timeout: 90_000 } },
      rules: [{ at: "/data/metadata/statusCode", matches: /^[45]\d\d$/, means: "miss" }],
      timeoutMs: 100_000,
      example: { params: { url }, answers: [{ success: true, data: read }] },
    }),
    crawl: action({
      description: "Reads the pages of a site, following its links. Returns an id for firecrawl/crawl-status.",
      category: "scraping",
      keywords: ["whole site", "spider", "follow links"],
      effect: "write",
      params: crawl,
      price: {
        mode: "ranged",
        cents: 100,
        minCents: 1,
        unit: "page",
        quoteCents: ({ limit }) => Math.max(10, limit) / 10,
      },
      upstreamCents: ({ limit }) => limit * CREDIT_CENTS,
      request: {
        method: "POST",
        path: "/crawl",
        names: {
          maxDepth: "maxDiscoveryDepth",
          formats: "scrapeOptions/formats",
          onlyMainContent: "scrapeOptions/onlyMainContent",
        },
        fixed: { scrapeOptions: { parsers: pdf(1) } },
      },
      issues: [{ kind: "crawl", at: "/id" }],
      example: {
        params: { url, limit: 5 },
        answers: [{ success: true, id, url: `https://api.firecrawl.dev/v2/crawl/${id}` }],
      },
    }),
    "crawl-status": status("crawl", { skip }, { status: "completed", data: [read] }),
    map: action({
      description: "Lists the addresses of a site without reading the pages.",
      category: "scraping",
      keywords: ["sitemap", "all urls", "links of a site"],
      effect: "read",
      params: map,
      price: cent,
      upstreamCents: CREDIT_CENTS,
      request: { method: "POST", path: "/map" },
      example: { params: { url }, answers: [{ success: true, links: [{ url, title: "Example Domain" }] }] },
    }),
    search: action({
      description: "Searches the web: title, description and address of each result.",
      category: "search",
      keywords: ["web search", "google"],
      effect: "read",
      params: search,
      price: cent,
      upstreamCents: ({ limit }) => Math.ceil(limit / 10) * 2 * CREDIT_CENTS,
      request: { method: "POST", path: "/search" },
      example: {
        params: { query: "example" },
        answers: [{ success: true, data: { web: [{ url, title: "Example" }] }, creditsUsed: 2 }],
      },
    }),
    extract: action({
      description:
        "Takes structured facts out of pages, by a prompt or a JSON Schema. Returns an id for firecrawl/extract-status.",
      category: "scraping",
      keywords: ["structured data", "json from page", "scrape fields"],
      effect: "write",
      params: extract,
      price: { mode: "ranged", cents: 10, minCents: 1, unit: "page", quoteCents: ({ urls }) => urls.length },
      upstreamCents: ({ urls }) => urls.length * 10 * CREDIT_CENTS,
      mayCostMore: "the vendor counts the tokens of its model and says how many only when the job is done",
      request: {
        method: "POST",
        path: "/extract",
        fixed: { enableWebSearch: false, ignoreSitemap: true, scrapeOptions: { parsers: [] } },
      },
      issues: [{ kind: "extract", at: "/id" }],
      example: { params: { urls: [url], prompt: "The title" }, answers: [{ success: true, id, invalidURLs: [] }] },
    }),
    "extract-status": status("extract", {}, { success: true, status: "completed", data: { title: "Example Domain" } }),
  },
});
