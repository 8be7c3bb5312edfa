// Firecrawl: pages, whole sites, site maps, web search and extraction. One credit is counted as a tenth of a cent.
import { action, bearer, defineAdapter, neededWhen, needsOne, optional, pageJobs, withRules, z } from "#adapter";

const CREDIT_CENTS = 0.1;
/** What enhanced proxies, and extraction by a model, cost on top of a page. */
const ENHANCED_CREDITS = 4;
const JSON_CREDITS = 4;
/** The vendor forwards these sites to others at thirty credits a page. */
const DEAR = /(^|\.)(x\.com|twitter\.com|t\.co|linkedin\.com|lnkd\.in)\.?$/;
const page = z
  .url({ protocol: /^https?$/ })
  .refine((url) => !DEAR.test(URL.parse(url)?.hostname ?? ""), "social networks: see tikhub/fetch");
const words = z.string().min(1);
const list = z.array(words).min(1).max(50);
const place = z.strictObject({
  country: z
    .string()
    .toUpperCase()
    .regex(/^[A-Z]{2}$/, "must be two letters"),
  languages: list.optional(),
});
const format = z.enum(["markdown", "html", "rawHtml", "links", "images", "screenshot", "summary", "json"]);
/** Every page that was read has at least one of these. */
const READ = format.options.map((name) => `/data/${name}`);
const ERROR_PAGE = { at: "/data/metadata/statusCode", matches: /^[45]\d\d$/, sample: "404", means: "miss" } as const;
/** The host does not resolve: no vendor can read it. */
const NO_HOST = { status: [200, 500], at: "/code", is: "SCRAPE_DNS_RESOLUTION_ERROR", means: "miss" } as const;
/** Errors about a page that the vendor cannot or will not read; another vendor may, and they do not count against this one. */
const OF_THE_PAGE = [
  { status: [200, 400, 403, 404, 408, 422, 500], at: "/code", matches: /^SCRAPE_/, sample: "SCRAPE_SITE_ERROR" },
  { status: 403, at: "/error", matches: /support th(is|ese) (web)?sites?/i, sample: "We do not support this site" },
  { status: 403, at: "/error", matches: /(web)?site (is )?not supported/i, sample: "This website is not supported" },
].map((rule) => ({ ...rule, means: "caller_unsupported" as const }));
const single = withRules([neededWhen("jsonSchema", "formats", { contains: { const: "json" } })], {
  url: page.describe("The page"),
  formats: z.array(format).min(1).default(["markdown"]).describe("What to return of it"),
  onlyMainContent: z.boolean().default(true).describe("Leave out navigation, headers and footers"),
  waitFor: z.int().min(0).max(60_000).default(0).describe("Milliseconds to wait before reading"),
  jsonSchema: optional(z.record(z.string(), z.json()), "JSON Schema of what format json takes out of the page"),
  includeTags: optional(list, "Only these tags or CSS selectors"),
  excludeTags: optional(list, "Not these tags or CSS selectors"),
  location: optional(place, 'Where to read from, such as {country: "DE"}'),
  maxAge: optional(z.int().min(0), "How old a stored copy may be, in milliseconds; two days unless set"),
});
const extract = withRules([needsOne("prompt", "schema")], {
  urls: z
    .array(page.regex(/^[^*]*$/, "names a whole site"))
    .min(1)
    .max(10)
    .describe("The pages; one cent per two pages, rounded up"),
  prompt: optional(words, "What to extract, in words"),
  schema: optional(z.record(z.string(), z.json()), "JSON Schema of what to extract"),
});
const skip = optional(z.int().min(0), "Pages to leave out: the number in the address that `next` holds");

/** With extraction by a model, fewer PDF pages are read, so that the price stays the same. */
const JSON_PDF_PAGES = 10 - JSON_CREDITS;
const singleWire = ({ formats, jsonSchema, ...rest }: z.infer<typeof single>) => ({
  ...rest,
  formats: formats.map((name) => (name === "json" ? { type: name, schema: jsonSchema } : name)),
  ...(formats.includes("json") ? pdf(JSON_PDF_PAGES) : null),
});

const reads = { category: "scraping", effect: "read", price: { mode: "fixed", cents: 1, freeOnMiss: true } } as const;
const ranged = { mode: "ranged", minCents: 1, unit: "page" } as const;
// Each PDF page costs one credit.
const pdf = (maxPages: number) => ({ parsers: [{ type: "pdf", maxPages }] });
const [url, id] = ["https://example.com", "9f2c1c9e-5b8e-4c36-a0d2-0c0b4c1f7c11"];
const names = { maxDepth: "maxDiscoveryDepth" };
const read = { markdown: "# Example Domain", metadata: { title: "Example Domain", statusCode: 200 } };

const crawled = { status: "completed", total: 1, completed: 1, data: [read] };

/** One page. */
const readsPage = {
  ...reads,
  params: single,
  content: READ,
  rules: [ERROR_PAGE, NO_HOST],
  example: { params: { url }, answer: { success: true, data: read } },
};

/** By default the vendor may retry a page with enhanced proxies, for five credits instead of one. */
const BASIC = "basic";

type Extract = z.infer<typeof extract>;
const CENT_CREDITS = 1 / CREDIT_CENTS;
/** One credit per page, plus the price of extraction by a model. */
const extractCents = ({ urls }: Pick<Extract, "urls">) => Math.ceil((urls.length * (1 + JSON_CREDITS)) / CENT_CREDITS);
/** PDF pages per document, at one credit each: what the price covers. Six if there is one document, and always at least one. */
const extractPdfPages = (asked: Pick<Extract, "urls">) =>
  Math.floor((extractCents(asked) * CENT_CREDITS) / asked.urls.length) - JSON_CREDITS;
const extractWire = ({ urls, ...asked }: Extract) => ({
  urls,
  formats: [{ type: "json", ...asked }],
  proxy: BASIC,
  ...pdf(extractPdfPages({ urls })),
});
const extracted = { json: { title: "Example Domain" }, metadata: { sourceURL: url, statusCode: 200 } };

export default defineAdapter({
  name: "Firecrawl",
  docs: "https://docs.firecrawl.dev/api-reference/v2-introduction",
  origin: "https://api.firecrawl.dev/v2",
  auth: bearer,
  // A self-hosted server has the same wire; only the vendor has enhanced proxies.
  selfHosted: { lacks: ["unblock"] },
  rules: [...OF_THE_PAGE, { at: "/success", is: false, means: "provider_server_error" }],
  actions: {
    scrape: action(readsPage, {
      asked:
        "read a web page; get the text of a link; open this url; what does this page say; page to markdown; copy the content of an article; grab the html; fetch a site; screenshot of a page; turn a website into text",
      description: "Reads one page, its scripts run, as markdown, HTML, links or a screenshot. An error page is free.",
      keywords: "read a page; fetch url; html to markdown; screenshot of a website",
      upstreamCents: 10 * CREDIT_CENTS,
      request: { method: "POST", path: "/scrape", params: singleWire, fixed: { ...pdf(10), timeout: 50_000 } },
    }),
    unblock: action(readsPage, {
      asked:
        "site blocks me; access denied; forbidden; get past cloudflare; behind a captcha; it thinks that I am a bot; page does not load for scrapers; bot wall; blocked; 403",
      description: "Reads one page through better addresses, for sites that turn others away. An error page is free.",
      keywords: "blocked page; anti-bot; enhanced proxy",
      price: { ...reads.price, cents: 2 },
      upstreamCents: (10 + ENHANCED_CREDITS) * CREDIT_CENTS,
      request: {
        method: "POST",
        path: "/scrape",
        params: singleWire,
        fixed: { ...pdf(10), timeout: 50_000, proxy: "enhanced" },
      },
    }),
    crawl: action(pageJobs.launch("crawl"), {
      asked:
        "crawl a site; read every page of a website; download a whole site; mirror the docs; all pages of a domain; follow the links; archive our blog",
      description: "Reads the pages of a whole site, following its links. Returns an id for firecrawl/crawl-status.",
      params: z.strictObject({
        url: page.describe("Where to begin"),
        limit: z.int().min(1).max(1_000).default(10).describe("Pages at most; beyond ten each costs a tenth of a cent"),
        maxDepth: optional(z.int().min(0).max(20), "How many links away from the first page"),
        includePaths: optional(list, "Regular expressions: only pages whose path one of them finds"),
        excludePaths: optional(list, "Regular expressions: no pages whose path one of them finds"),
      }),
      price: {
        ...ranged,
        cents: 100,
        quoteCents: ({ limit }) => Math.max(10, limit) / 10,
        otherPrice: { url: "https://example.com", limit: 200 },
      },
      upstreamCents: ({ limit }) => limit * CREDIT_CENTS,
      request: { method: "POST", path: "/crawl", names, fixed: { scrapeOptions: { ...pdf(1), proxy: BASIC } } },
      example: { params: { url, limit: 5 }, answer: { success: true, id } },
    }),
    "crawl-status": pageJobs.status("firecrawl/crawl", "/crawl/{id}", { params: { id }, answer: crawled }, { skip }),
    map: action(reads, {
      asked: "sitemap; all links of a site; list of pages; urls of a domain; which pages does a site have",
      description: "Lists the addresses of all pages of a site, as a sitemap does, without reading the pages.",
      keywords: "sitemap; every link of a site; which pages a site has; all urls",
      params: z.strictObject({
        url: page.describe("The site"),
        search: optional(words, "Words that put matching addresses first"),
        limit: optional(z.int().min(1).max(5_000), "Addresses at most; 5,000 unless set"),
      }),
      upstreamCents: CREDIT_CENTS,
      request: { method: "POST", path: "/map" },
      content: ["/links"],
      example: { params: { url }, answer: { success: true, links: [{ url, title: "Example Domain" }] } },
    }),
    search: action(reads, {
      asked: "search the web; search results; google; find pages; look up on the internet",
      category: "search",
      description: "Searches the web: title, description and address of each result.",
      params: z.strictObject({
        query: words.max(500).describe("What to search for"),
        limit: z.int().min(1).max(50).default(10).describe("Results at most"),
        sources: optional(z.array(z.enum(["web", "news", "images"])).length(1), "Where to look; the web unless set"),
        tbs: optional(words, "How new, such as qdr:d for a day, qdr:w for a week"),
        location: optional(words, "Where the results are for, such as Germany"),
      }),
      upstreamCents: ({ limit }) => Math.ceil(limit / 10) * 2 * CREDIT_CENTS,
      request: { method: "POST", path: "/search" },
      content: ["/data"],
      example: {
        params: { query: "example" },
        answer: {
          success: true,
          data: { web: [{ url, title: "Example Domain", description: "For documentation." }] },
          creditsUsed: 2,
        },
      },
    }),
    extract: action(pageJobs.launch("extract"), {
      asked:
        "prices from a shop page; structured data out of a page; product name, price, rating as json; fill a table from a website; fields from a listing; specs from a site; scrape data into a spreadsheet",
      description:
        "Takes structured data out of pages, by prompt or schema. Returns an id for firecrawl/extract-status.",
      params: extract,
      price: {
        ...ranged,
        cents: 5,
        quoteCents: extractCents,
        otherPrice: {
          urls: ["https://example.com", "https://example.org", "https://example.net"],
          prompt: "The title",
        },
      },
      upstreamCents: (params) => params.urls.length * (JSON_CREDITS + extractPdfPages(params)) * CREDIT_CENTS,
      // The vendor's /extract ends on 2026-12-10; a batch of pages with extraction by a model gives the same result.
      request: { method: "POST", path: "/batch/scrape", params: extractWire },
      example: { params: { urls: [url], prompt: "The title" }, answer: { success: true, id, invalidURLs: [] } },
    }),
    "extract-status": pageJobs.status("firecrawl/extract", "/batch/scrape/{id}", {
      params: { id },
      answer: { status: "completed", total: 1, data: [extracted] },
    }),
  },
});
