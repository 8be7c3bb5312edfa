// fastCRW: pages behind walls, crawls of up to 100 pages, extraction with evidence. A credit is counted as 0.07 cents.
import { action, bearer, defineAdapter, z } from "#adapter";

const CREDIT_CENTS = 0.07;
const page = z.url({ protocol: /^https?$/ });
const words = z.string().min(1);
const list = z.array(words).min(1).max(50).optional();
const format = z.enum(["markdown", "html", "rawHtml", "plainText", "links", "images", "json", "screenshot"]);
const schema = z.record(z.string(), z.json()).optional();
const reading = {
  onlyMainContent: z.boolean().default(true).describe("Leave out navigation, headers and footers"),
  renderJs: z.boolean().optional().describe("Run scripts or do not; unset, the page decides"),
  waitFor: z.int().min(0).max(60_000).optional().describe("Milliseconds to wait after scripts have run"),
  country: z.string().toLowerCase().length(2).optional().describe("Two letters: read from a home in this country"),
};
const what = "What to return of a page";

const scrape = z
  .strictObject({
    url: page.describe("The page"),
    formats: z.array(format).min(1).default(["markdown"]).describe(what),
    ...reading,
    stealth: z.boolean().optional().describe("Look like a person's browser"),
    jsonSchema: schema.describe("JSON Schema of what format json returns"),
    basis: z.boolean().optional().describe("Evidence for each field of format json"),
    includeTags: list.describe("Only these tags or CSS selectors"),
    excludeTags: list.describe("Not these tags or CSS selectors"),
    cssSelector: words.optional().describe("Only what this CSS selector finds"),
  })
  .refine((one) => one.jsonSchema !== undefined || !(one.basis || one.formats.includes("json")), {
    path: ["jsonSchema"],
    message: "is required with format json and with basis",
  });
const crawl = z.strictObject({
  url: page.describe("Where to begin; only pages of the same site are read"),
  maxPages: z.int().min(1).max(100).default(100).describe("Pages at most"),
  maxDepth: z.int().min(0).max(10).default(2).describe("How many links away from the first page"),
  formats: z
    .array(format.exclude(["json", "screenshot"]))
    .min(1)
    .default(["markdown"])
    .describe(what),
  ...reading,
});
const extract = z
  .strictObject({
    urls: z.array(page).min(1).max(10).describe("The pages, up to ten"),
    prompt: words.optional().describe("What to extract, in words"),
    schema: schema.describe("JSON Schema of what to extract"),
    basis: z.boolean().optional().describe("Evidence for each field; needs a schema"),
  })
  .refine((one) => one.prompt !== undefined || one.schema !== undefined, {
    path: ["prompt"],
    message: "needs a prompt, a schema or both",
  })
  .refine((one) => !one.basis || one.schema !== undefined, { path: ["basis"], message: "needs a schema" });
const search = z.strictObject({
  query: words.max(2_000).describe("What to search for"),
  limit: z.int().min(1).max(20).default(5).describe("Results at most"),
  lang: z.string().optional().describe("Language of the results, such as en"),
  tbs: z.enum(["qdr:h", "qdr:d", "qdr:w", "qdr:m", "qdr:y"]).optional().describe("How recent"),
  sources: z
    .array(z.enum(["web", "news", "images"]))
    .min(1)
    .optional()
    .describe("Where to search"),
});

const cent = { mode: "fixed", cents: 1 } as const;
const [url, id] = ["https://example.com", "3f6b2c1d-8a47-4f0e-9a55-2d1c7e8b9a10"];
const read = { markdown: "# Example Domain", metadata: { title: "Example Domain", sourceURL: url, statusCode: 200 } };

function status(kind: string, answer: z.core.util.JSONType) {
  return action({
    description: `Says how far a job of fastcrw/${kind} is, and what it has found. A failed job is free.`,
    category: "scraping",
    keywords: ["poll", "job", "progress"],
    effect: "read",
    params: z.strictObject({ id: words.describe("The id of the job") }),
    price: { ...cent, freeOnMiss: true },
    upstreamCents: 0,
    request: { method: "GET", path: `/${kind}/{id}` },
    rules: [{ at: "/status", is: ["failed", "cancelled"], means: "miss" }],
    requires: [{ kind, param: "id" }],
    example: { params: { id }, answers: [answer] },
  });
}

export default defineAdapter({
  name: "fastCRW",
  docs: "https://fastcrw.com/docs",
  origin: "https://api.fastcrw.com/v1",
  auth: bearer,
  keyEnv: ["CRW_API_KEY", "FASTCRW_API_KEY"],
  rules: [
    { status: 429, header: "x-fastcrw-credits-available", means: "provider_billing" },
    { at: "/success", is: false, means: "provider_server_error" },
  ],
  actions: {
    scrape: action({
      description:
        "Reads one page behind a wall: a browser that looks like a person's, from a residential address of your choice. What stays behind the wall is free.",
      category: "scraping",
      keywords: ["anti-bot", "stealth", "blocked page", "javascript", "country"],
      effect: "read",
      params: scrape,
      price: { ...cent, freeOnMiss: true },
      upstreamCents: ({ formats }) => CREDIT_CENTS * (formats.includes("json") ? 5 : 1),
      request: { method: "POST", path: "/scrape", fixed: { deadlineMs: 60_000 } },
      // Walls, errors of the page and empty pages; the vendor takes nothing for them.
      rules: [{ status: [200, 422], at: "/success", is: false, means: "miss" }],
      timeoutMs: 90_000,
      example: { params: { url, stealth: true }, answers: [{ success: true, data: { ...read, creditCost: 1 } }] },
    }),
    crawl: action({
      description: "Reads up to 100 pages of a site, following its links. Returns an id for fastcrw/crawl-status.",
      category: "scraping",
      keywords: ["whole site", "spider", "follow links"],
      effect: "write",
      params: crawl,
      price: { mode: "fixed", cents: 10 },
      upstreamCents: ({ maxPages }) => (1 + maxPages) * CREDIT_CENTS,
      request: { method: "POST", path: "/crawl" },
      issues: [{ kind: "crawl", at: "/id" }],
      example: { params: { url, maxPages: 20 }, answers: [{ success: true, id }] },
    }),
    "crawl-status": status("crawl", { success: true, status: "completed", total: 1, completed: 1, data: [read] }),
    extract: action({
      description:
        "Takes structured facts out of up to ten pages, with evidence for each if asked. Returns an id for fastcrw/extract-status.",
      category: "scraping",
      keywords: ["structured data", "json from page", "citations", "scrape fields"],
      effect: "write",
      params: extract,
      price: { mode: "fixed", cents: 5 },
      upstreamCents: ({ urls }) => urls.length * 5 * CREDIT_CENTS,
      request: { method: "POST", path: "/extract" },
      issues: [{ kind: "extract", at: "/id" }],
      example: {
        params: { urls: [url], prompt: "The title" },
        answers: [{ success: true, id, status: "processing", urls: 1 }],
      },
    }),
    "extract-status": status("extract", {
      success: true,
      id,
      status: "completed",
      results: [{ url, status: "completed", data: { title: "Example Domain" } }],
      creditsUsed: 5,
      tokensUsed: 412,
    }),
    map: action({
      description: "Lists the addresses of a site without reading the pages.",
      category: "scraping",
      keywords: ["sitemap", "all urls", "links of a site"],
      effect: "read",
      params: z.strictObject({
        url: page.describe("The site"),
        maxDepth: z.int().min(0).max(10).optional().describe("How many links away from the first page"),
        useSitemap: z.boolean().optional().describe("Read the site's own map first; true unless set"),
      }),
      price: cent,
      upstreamCents: CREDIT_CENTS,
      request: { method: "POST", path: "/map", fixed: { timeout: 90 } },
      timeoutMs: 100_000,
      example: { params: { url }, answers: [{ success: true, data: { links: [url, `${url}/about`] } }] },
    }),
    search: action({
      description: "Searches the web, news or images: title, description and address of each result.",
      category: "search",
      keywords: ["web search", "image search"],
      effect: "read",
      params: search,
      price: cent,
      upstreamCents: CREDIT_CENTS,
      request: { method: "POST", path: "/search" },
      example: {
        params: { query: "example" },
        answers: [{ success: true, data: [{ url, title: "Example Domain", description: "" }] }],
      },
    }),
  },
});
