// fastCRW: pages behind anti-bot walls, crawls of up to 100 pages, extraction with evidence. One credit is counted as 0.07 cents.
import { action, bearer, defineAdapter, neededWhen, needsOne, optional, pageJobs, withRules, z } from "#adapter";

const CREDIT_CENTS = 0.07;
const page = z.url({ protocol: /^https?$/ });
const words = z.string().min(1);
const list = z.array(words).min(1).max(50);
const schema = z.record(z.string(), z.json());
const limit = z.int().min(1).max(20).default(5).describe("Results at most");
const format = z.enum(["markdown", "html", "rawHtml", "plainText", "links", "images", "json", "screenshot"]);
/** Every page that was read has at least one of these. */
const READ = format.options.map((name) => `/data/${name}`);
const scrape = withRules(
  [
    neededWhen("jsonSchema", "formats", { contains: { const: "json" } }),
    neededWhen("jsonSchema", "basis", { const: true }),
  ],
  {
    url: page.describe("The page"),
    formats: z.array(format).min(1).default(["markdown"]).describe("What to return of it"),
    onlyMainContent: z.boolean().default(true).describe("Leave out navigation, headers and footers"),
    renderJs: optional(z.boolean(), "Run scripts or do not; unset, the page decides"),
    waitFor: optional(z.int().min(0).max(60_000), "Milliseconds to wait after scripts have run"),
    stealth: optional(z.boolean(), "Look like a person's browser"),
    country: optional(z.string().toLowerCase().length(2), "Two letters: read from a home in this country"),
    jsonSchema: optional(schema, "JSON Schema of what format json returns"),
    basis: optional(z.boolean(), "Evidence for each field of format json"),
    includeTags: optional(list, "Only these tags or CSS selectors"),
    excludeTags: optional(list, "Not these tags or CSS selectors"),
  },
);
const extract = withRules([needsOne("prompt", "schema"), neededWhen("schema", "basis", { const: true })], {
  urls: z.array(page).min(1).max(10).describe("The pages, up to ten"),
  prompt: optional(words, "What to extract, in words"),
  schema: optional(schema, "JSON Schema of what to extract"),
  basis: optional(z.boolean(), "Evidence for each field; needs a schema"),
});

const reads = { category: "scraping", effect: "read", price: { mode: "fixed", cents: 1, freeOnMiss: true } } as const;
const [url, id] = ["https://example.com", "3f6b2c1d-8a47-4f0e-9a55-2d1c7e8b9a10"];
const read = { markdown: "# Example Domain", metadata: { title: "Example Domain", sourceURL: url, statusCode: 200 } };
const results = [{ url, status: "completed", data: { title: "Example Domain" } }];

export default defineAdapter({
  name: "fastCRW",
  docs: "https://fastcrw.com/docs",
  origin: "https://api.fastcrw.com/v1",
  auth: bearer,
  keyEnv: ["CRW_API_KEY", "FASTCRW_API_KEY"],
  selfHosted: {},
  rules: [
    { status: 429, header: "x-fastcrw-credits-available", means: "provider_billing" },
    { at: "/success", is: false, means: "provider_server_error" },
  ],
  actions: {
    scrape: action(reads, {
      asked:
        "read a web page; get the text of a link; open this url; what does this page say; page to markdown; copy the content of an article; grab the html; fetch a site; screenshot of a page; turn a website into text",
      description:
        "Reads one page as a person's browser does, from the country you name. A page behind a wall is free.",
      keywords: "anti-bot; stealth; blocked page; javascript",
      params: scrape,
      upstreamCents: ({ formats }) => CREDIT_CENTS * (formats.includes("json") ? 5 : 1),
      request: { method: "POST", path: "/scrape", fixed: { deadlineMs: 50_000 } },
      content: READ,
      rules: [{ status: [200, 422], at: "/success", is: false, means: "miss" }],
      example: { params: { url, stealth: true }, answer: { success: true, data: { ...read, creditCost: 1 } } },
    }),
    crawl: action(pageJobs.launch("crawl"), {
      asked:
        "crawl a site; read every page of a website; download a whole site; mirror the docs; all pages of a domain; follow the links; archive our blog",
      description: "Reads up to 100 pages of a whole site, following links. Returns an id for fastcrw/crawl-status.",
      params: z.strictObject({
        url: page.describe("Where to begin; only pages of the same site are read"),
        maxPages: z.int().min(1).max(100).default(100).describe("Pages at most"),
        maxDepth: z.int().min(0).max(10).default(2).describe("How many links away from the first page"),
      }),
      price: { mode: "fixed", cents: 10 },
      upstreamCents: ({ maxPages }) => (1 + maxPages) * CREDIT_CENTS,
      request: { method: "POST", path: "/crawl" },
      example: { params: { url, maxPages: 20 }, answer: { success: true, id } },
    }),
    "crawl-status": pageJobs.status("fastcrw/crawl", "/crawl/{id}", {
      params: { id },
      answer: { success: true, status: "completed", total: 1, completed: 1, data: [read] },
    }),
    extract: action(pageJobs.launch("extract"), {
      asked:
        "prices from a shop page; structured data out of a page; product name, price, rating as json; fill a table from a website; fields from a listing; specs from a site; scrape data into a spreadsheet",
      description: "Takes structured data out of pages, with evidence. Returns an id for fastcrw/extract-status.",
      params: extract,
      price: { mode: "fixed", cents: 5 },
      upstreamCents: ({ urls }) => urls.length * 5 * CREDIT_CENTS,
      request: { method: "POST", path: "/extract" },
      example: { params: { urls: [url], prompt: "The title" }, answer: { success: true, id, status: "processing" } },
    }),
    map: action(reads, {
      asked: "sitemap; all links of a site; list of pages; urls of a domain; which pages does a site have",
      description: "Lists the addresses of all pages of a site, from its own map or by following links.",
      keywords: "sitemap; every link of a site; which pages a site has; all urls",
      params: z.strictObject({ url: page.describe("The site") }),
      upstreamCents: CREDIT_CENTS,
      request: { method: "POST", path: "/map", fixed: { timeout: 50 } },
      content: ["/data/links"],
      example: { params: { url }, answer: { success: true, data: { links: [url] } } },
    }),
    search: action(reads, {
      asked: "search the web; search results; google; find pages; look up on the internet",
      category: "search",
      description: "Searches the web: title, description and address of each result.",
      params: z.strictObject({ query: words.max(2_000).describe("What to search for"), limit }),
      upstreamCents: CREDIT_CENTS,
      request: { method: "POST", path: "/search" },
      content: ["/data"],
      example: {
        params: { query: "example" },
        answer: { success: true, data: [{ url, title: "Example Domain", description: "For documentation." }] },
      },
    }),
    "extract-status": pageJobs.status("fastcrw/extract", "/extract/{id}", {
      params: { id },
      answer: { success: true, id, status: "completed", results, creditsUsed: 5 },
    }),
  },
});
