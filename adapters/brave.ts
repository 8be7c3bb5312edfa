// Brave Search: web pages and news from its own index, at the price listed on 2026-09-30.
import { action, defineAdapter, keyHeader, like, optional, z } from "#adapter";

const FILTERS = "web|news|videos|faq|discussions|infobox|locations|query|summarizer";
const filter = like(new RegExp(`^(${FILTERS})(,(${FILTERS}))*$`));
const shared = {
  q: z
    .string()
    .min(1)
    .max(400)
    .refine((query) => query.trim().split(/\s+/).length <= 50, "must have at most 50 words")
    .describe("What to look for, up to 400 characters and 50 words"),
  offset: optional(z.int().min(0).max(9), "Which page of results, from 0 to 9"),
  country: optional(like(/^([A-Za-z]{2}|[Aa][Ll][Ll])$/), "Where results come from: two letters, or ALL"),
  search_lang: optional(like(/^[A-Za-z]{2}(-[A-Za-z]+)?$/), "Language of the results, such as en"),
  ui_lang: optional(like(/^[A-Za-z]{2}-[A-Za-z]{2}$/), "Language of the answer's own words, such as en-US"),
  freshness: optional(
    like(/^(p[dwmy]|\d{4}-\d\d-\d\dto\d{4}-\d\d-\d\d)$/),
    "How new: pd (a day), pw (a week), pm (a month), py (a year) or YYYY-MM-DDtoYYYY-MM-DD",
  ),
  safesearch: optional(z.enum(["off", "moderate", "strict"]), "How much adult content is left out"),
  extra_snippets: optional(z.boolean(), "Up to five more passages of each page"),
  spellcheck: optional(z.boolean(), "Correct the spelling of q first; the vendor's default is true"),
  text_decorations: optional(z.boolean(), "Mark the words that were found; the vendor's default is true"),
  operators: optional(z.boolean(), 'Read operators in q, such as site: or "..."; the vendor\'s default is true'),
  goggles: optional(z.string(), "Rules that rank or drop pages, as text or as the address of a list"),
};
const web = z.strictObject({
  ...shared,
  count: optional(z.int().min(1).max(20), "How many results, up to 20; the vendor's default is 20"),
  result_filter: optional(
    filter,
    "Only these kinds of results, separated by commas: web, news, videos, faq, discussions",
  ),
  units: optional(z.enum(["metric", "imperial"]), "Units of measurement in the results"),
});
const news = z.strictObject({
  ...shared,
  count: optional(z.int().min(1).max(50), "How many articles, up to 50; the vendor's default is 20"),
  result_filter: optional(filter, "As for search; it changes nothing, because every result is news"),
});

const page = {
  title: "Tide tables for Brest",
  url: "https://tides.example/brest",
  description: "High and low water at Brest for the coming week.",
  page_age: "2026-11-20T10:00:00",
  language: "en",
  meta_url: { scheme: "https", netloc: "tides.example", hostname: "tides.example", path: "› brest" },
};
const article = {
  type: "news_result",
  ...page,
  age: "2 hours ago",
  source: { name: "The Tide", url: "tides.example" },
};
const query = { original: "tides brest", more_results_available: false };

const common = { category: "search", effect: "read", price: { mode: "fixed", cents: 1 }, upstreamCents: 0.5 } as const;
export default defineAdapter({
  name: "Brave Search",
  docs: "https://api-dashboard.search.brave.com/app/documentation/web-search/get-started",
  origin: "https://api.search.brave.com/res/v1",
  auth: keyHeader("x-subscription-token"),
  keyEnv: ["BRAVE_SEARCH_API_KEY", "BRAVE_API_KEY"],
  rate: { requests: 50, perMs: 1_000 },
  rules: [
    // A wrong key and a wrong param are both 422; a missing key is too, and is recognized by the error's location.
    { status: 422, at: "/error/code", is: "SUBSCRIPTION_TOKEN_INVALID", means: "provider_auth_failed" },
    { status: 422, at: "/error/meta/errors/0/loc/0", is: "header", means: "provider_auth_failed" },
    // Our plan lacks what one param requires, or this kind of search altogether.
    { status: [400, 422], at: "/error/code", is: "OPTION_NOT_IN_PLAN", means: "caller_unsupported" },
    { status: [400, 422], at: "/error/code", is: "RESOURCE_NOT_ALLOWED", means: "provider_auth_failed" },
    // The monthly quota is used up; waiting a second does not help.
    { status: 429, at: "/error/code", matches: /QUOTA|USAGE/, sample: "QUOTA_LIMITED", means: "provider_billing" },
  ],
  actions: {
    search: action(common, {
      asked:
        "search the web; google something; look it up on the internet; find websites; find pages, reviews, recipes, a restaurant, a shop; best hotels; how to fix; top results",
      description: "Searches the web in an independent index: pages, news, videos, discussions and questions.",
      keywords: "web search; keyword search; independent index; google alternative",
      params: web,
      request: { method: "GET", path: "/web/search" },
      // Result types without results are left out.
      content: ["/web", "/query"],
      example: {
        params: { q: "tides brest", count: 1 },
        answer: { type: "search", query, web: { type: "search", results: [page], family_friendly: true } },
      },
    }),
    news: action(common, {
      asked:
        "news of today; what happened this week; recent articles about a company; headlines; what do the papers report; breaking stories; latest on the election",
      description: "Searches recent news articles of many publishers in an independent index.",
      keywords: "headlines; press; articles; current events; news search",
      params: news,
      // The vendor does not support the filter here.
      request: { method: "GET", path: "/news/search", names: { result_filter: null } },
      content: ["/results", "/query"],
      example: {
        params: { q: "tides brest", freshness: "pd", count: 1 },
        answer: { type: "news", query, results: [article] },
      },
    }),
  },
});
