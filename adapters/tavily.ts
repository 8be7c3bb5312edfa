// Tavily: search results prepared for language models, and page text; credits at the price of 2026-10-06.
import { action, bearer, defineAdapter, goesWith, optional, withRules, z } from "#adapter";

const url = z.url({ protocol: /^https?$/ });
const domains = z.array(z.string().min(1));
/** The pay-as-you-go price of one credit. */
const CREDIT_CENTS = 0.8;

/** `advanced` costs two credits. We do not offer `auto_parameters`, which may choose it. */
const credits = (depth: string | undefined) => (depth === "advanced" ? 2 : 1);
const search = z.strictObject({
  query: z.string().min(1).describe("What to look for, in plain words"),
  max_results: z.int().min(0).max(20).default(5).describe("How many results, up to 20"),
  search_depth: z
    .enum(["basic", "fast", "ultra-fast", "advanced"])
    .default("basic")
    .describe("How thorough against how quick; advanced costs 2 cents"),
  topic: z.enum(["general", "news", "finance"]).default("general").describe("Which kind of sources to search"),
  include_answer: optional(z.boolean().or(z.enum(["basic", "advanced"])), "Add a short written answer"),
  include_raw_content: optional(z.boolean().or(z.enum(["markdown", "text"])), "Add the whole text of each page"),
  include_domains: optional(domains, "Only pages of these domains"),
  exclude_domains: optional(domains, "No pages of these domains"),
  time_range: optional(z.enum(["day", "week", "month", "year", "d", "w", "m", "y"]), "Only pages as new as this"),
  start_date: optional(z.iso.date(), "Only pages published since this date, YYYY-MM-DD"),
  end_date: optional(z.iso.date(), "Only pages published until this date, YYYY-MM-DD"),
  days: optional(z.int().positive(), "With topic news: how many days back"),
  country: optional(z.string().toLowerCase(), "Prefer pages of this country, by its English name; for topic general"),
  include_images: optional(z.boolean(), "Add pictures that fit the query"),
  include_image_descriptions: optional(z.boolean(), "Say what each picture shows"),
  include_favicon: optional(z.boolean(), "Add the address of each site's icon"),
  include_usage: optional(z.boolean(), "Say how many credits it took"),
  exact_match: optional(z.boolean(), "Only pages with the quoted phrases of the query"),
});

const extract = withRules([goesWith("chunks_per_source", "query")], {
  urls: z.union([url, z.array(url).min(1).max(5)]).describe("Addresses of up to five pages"),
  format: z.enum(["markdown", "text"]).default("markdown").describe("How the text is written"),
  extract_depth: optional(z.enum(["basic", "advanced"]), "advanced reads tables and more, and costs 2 cents"),
  query: optional(z.string().min(1), "What matters: passages are chosen and ordered by it"),
  chunks_per_source: optional(z.int().min(1).max(5), "How many passages of each page, with query"),
  include_images: optional(z.boolean(), "Add the addresses of each page's pictures"),
  include_favicon: optional(z.boolean(), "Add the address of each site's icon"),
  timeout: optional(z.number().min(1).max(60), "How long fetching the pages may take, in seconds"),
});

const guide = "https://harbours.example/guide";

export default defineAdapter({
  name: "Tavily",
  docs: "https://docs.tavily.com/documentation/api-reference/endpoint/search",
  origin: "https://api.tavily.com",
  auth: bearer,
  rate: { requests: 1_000, perMs: 60_000 },
  // The monthly credits, or the limit set for them, are used up.
  rules: [{ status: [432, 433], means: "provider_billing" }],
  actions: {
    search: action({
      asked: "search the web; search results; google; find pages; look up on the internet",
      description: "Searches the web, news or finance for a language model: short passages, and an answer if wanted.",
      category: "search",
      keywords: "rag; retrieval; web search; grounding; passages; stock news",
      effect: "read",
      params: search,
      price: {
        mode: "ranged",
        cents: 2,
        minCents: 1,
        quoteCents: ({ search_depth }) => credits(search_depth),
        otherPrice: { query: "which harbours freeze in winter", search_depth: "advanced" },
      },
      upstreamCents: ({ search_depth }) => credits(search_depth) * CREDIT_CENTS,
      request: { method: "POST", path: "/search" },
      content: ["/results"],
      example: {
        params: { query: "which harbours freeze in winter", include_answer: true, max_results: 1 },
        answer: {
          query: "which harbours freeze in winter",
          answer: "Harbours of the northern Baltic freeze in most winters.",
          images: [],
          results: [{ title: "Harbours", url: guide, content: "Oulu freezes.", score: 0.83, raw_content: null }],
          response_time: 1.21,
          request_id: "123e4567-e89b-12d3-a456-426614174111",
        },
      },
    }),
    extract: action({
      asked:
        "text of several pages; read these links; contents of urls; summarise these web pages; what do these articles say",
      description: "Extracts the text of up to five web pages in one call, as Markdown or plain text.",
      category: "scraping",
      keywords: "batch extract; read several URLs; page text; markdown",
      effect: "read",
      params: extract,
      price: {
        mode: "ranged",
        cents: 2,
        minCents: 1,
        quoteCents: ({ extract_depth }) => credits(extract_depth),
        otherPrice: { urls: ["https://harbours.example/guide"], extract_depth: "advanced" },
      },
      upstreamCents: ({ extract_depth }) => credits(extract_depth) * CREDIT_CENTS,
      request: { method: "POST", path: "/extract" },
      content: ["/results/0"],
      rules: [
        { at: "/results/0", empty: false, means: "success" },
        // No page could be read. The caller chose the pages, so this does not count against the route.
        { at: "/failed_results/0", empty: false, means: "caller_unsupported", messageAt: "/failed_results/0/error" },
      ],
      timeoutMs: 75_000,
      example: {
        params: { urls: [guide] },
        answer: { results: [{ url: guide, raw_content: "# Harbours" }], failed_results: [], response_time: 0.4 },
      },
    }),
  },
});
