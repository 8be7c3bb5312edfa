// Exa: semantic search, page contents and cited answers, at the prices listed on 2026-11-10.
import { action, defineAdapter, keyHeader, like, needsOne, noneWhen, notBoth, optional, withRules, z } from "#adapter";

const date = z
  .string()
  .regex(/^\d{4}-\d\d-\d\d(T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d))?$/, {
    error: "must be as 2026-01-31 or 2026-01-31T12:00:00Z",
    abort: true,
  })
  .refine((text) => z.iso.date().safeParse(text.slice(0, 10)).success, "must be a day that exists");
const words = z.array(z.string().min(1));
const urls = z.array(z.url({ protocol: /^https?$/ }));
const length = z.strictObject({ maxCharacters: z.int().positive() });
const about = z.strictObject({ query: z.string(), schema: z.record(z.string(), z.json()) }).partial();
const page = {
  text: optional(z.boolean().or(length), "The text of each page: true, or how much of it"),
  highlights: optional(z.boolean().or(length), "The passages that matter most in each page: true, or how much"),
  maxAgeHours: optional(z.int().min(-1), "How old a stored copy of a page may be: 0 always fetches it, -1 never does"),
};
const summary = optional(z.boolean().or(about), "A summary of each page: true, or what it is to be about");
const TYPES = ["auto", "neural", "keyword", "fast", "instant", "deep-lite", "deep", "deep-reasoning"];
const KINDS = [
  "news",
  "research",
  "github",
  "people",
  "company",
  "publication",
  "research paper",
  "financial report",
  "personal site",
];
const camel = (name: string) => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
const BOTH_WAYS = ["start_published_date", "end_published_date", "include_domains", "exclude_domains"];
const WITHOUT = ["start_published_date", "end_published_date", "exclude_domains"];
const NOT_OF_PROFILES = [...WITHOUT, ...WITHOUT.map(camel), "includeText", "excludeText"];
const search = withRules(
  [
    ...noneWhen(NOT_OF_PROFILES, "category", { enum: ["people", "company"] }),
    ...BOTH_WAYS.map((name) => notBoth(name, camel(name))),
  ],
  {
    query: z.string().min(1).describe("What to look for, in plain words"),
    type: z.enum(TYPES).default("auto").describe("How to search; the deep types take several steps and cost 2 cents"),
    numResults: z.int().min(1).max(100).default(10).describe("How many; beyond 13, each ten more cost another cent"),
    contents: optional(
      z.strictObject({ ...page, summary }),
      "What to return of each page found, such as {text: true}; summaries cost another cent for ten pages",
    ),
    userLocation: optional(like(/^[A-Za-z]{2}$/), "Two letters of the country that you ask from, such as US"),
    category: optional(z.enum(KINDS), "Only this kind; people and company take no dates and no excluded domains"),
    start_published_date: optional(date, "Only pages published since this ISO date"),
    end_published_date: optional(date, "Only pages published until this ISO date"),
    include_domains: optional(words, "Only pages of these domains"),
    exclude_domains: optional(words, "No pages of these domains"),
    startPublishedDate: optional(date, "The same as start_published_date"),
    endPublishedDate: optional(date, "The same as end_published_date"),
    includeDomains: optional(words, "The same as include_domains"),
    excludeDomains: optional(words, "The same as exclude_domains"),
    includeText: optional(words.max(1), "A phrase of up to five words that every page contains"),
    excludeText: optional(words.max(1), "A phrase of up to five words that no page contains"),
  },
);
type Search = z.infer<typeof search>;
/** In tenths of a cent, for ten results with text and highlights; default 7. Each further result and each summary costs one more. */
const TENTHS: Readonly<Record<string, number>> = { "deep-lite": 12, deep: 12, "deep-reasoning": 15 };
const searchCents = ({ type, numResults, contents: of }: Search) =>
  ((TENTHS[type] ?? 7) + Math.max(0, numResults - 10) + (of?.summary ? numResults : 0)) / 10;
/** A summary is an object or absent, whereas text and highlights may be true. */
const summaryWire = (of: z.infer<typeof summary>) => (typeof of === "boolean" ? (of ? {} : undefined) : of);
/** The current name of a category; code is selected by its domains. */
const kindWire = (category: Search["category"], { include_domains, includeDomains }: Partial<Search>) => {
  if (category === "research" || category === "research paper") return { category: "publication" };
  if (category !== "github") return { category };
  return (include_domains ?? includeDomains) === undefined ? { includeDomains: ["github.com"] } : {};
};
const searchWire = ({ type, category, contents: of, ...rest }: Search) => ({
  ...Object.fromEntries(Object.entries(rest).map(([name, value]) => [camel(name), value])),
  ...(of === undefined ? null : { contents: { ...of, summary: summaryWire(of.summary) } }),
  type: type === "keyword" ? "auto" : type,
  ...kindWire(category, rest),
});

const contents = withRules([needsOne("urls", "ids")], {
  urls: optional(urls.min(1).max(100), "Addresses of the pages, up to 100"),
  ids: optional(words.min(1).max(100), "Ids of results of a search, beside urls or instead"),
  summary,
  ...page,
});
type Contents = z.infer<typeof contents>;
/** A tenth of a cent per page for each of text, highlights and summary; without any of them, the text is returned. */
const contentCents = ({ urls = [], ids = [], text, highlights, summary: of }: Contents) =>
  ((urls.length + ids.length) * Math.max(1, [text, highlights, of].filter(Boolean).length)) / 10;
const contentWire = ({ urls = [], ids = [], summary: of, ...rest }: Contents) => ({
  ...rest,
  summary: summaryWire(of),
  urls: [...urls, ...ids],
});

const paper = "https://arxiv.org/abs/2307.06435";
const result = { id: paper, url: paper, title: "An Overview of Large Language Models", author: "H. Naveed" };
const dated = { publishedDate: "2023-07-12T00:00:00.000Z", highlights: ["Large language models have shown..."] };
const found = { requestId: "b5947044c4b78efa", searchType: "neural", results: [{ ...result, ...dated, score: 0.46 }] };
const statuses = [{ id: paper, status: "success", error: null }];
const fetched = { requestId: "e492118ccdedcba5", results: [{ ...result, text: "LLMs have..." }], statuses };
const TAG = "/statuses/0/error/tag";

const common = { category: "search", effect: "read" } as const;
export default defineAdapter({
  name: "Exa",
  docs: "https://exa.ai/docs/reference/search",
  origin: "https://api.exa.ai",
  auth: keyHeader("x-api-key"),
  rate: { requests: 10, perMs: 1_000 },
  actions: {
    search: action(common, {
      asked:
        "search the web by meaning; find sites like this one; similar companies; find blog posts, articles, research; companies that do something",
      description: "Searches the web by meaning: pages, news, research papers, code, people and companies.",
      keywords:
        "semantic; neural; LinkedIn profiles; academic papers; similar pages; GitHub repositories; similar companies; competitors; find a paper; find code",
      params: search,
      price: {
        mode: "ranged",
        cents: 21,
        minCents: 1,
        quoteCents: (params) => Math.ceil(searchCents(params)),
        otherPrice: { query: "overview of language models", numResults: 50 },
      },
      upstreamCents: searchCents,
      request: { method: "POST", path: "/search", params: searchWire },
      content: ["/results"],
      example: { params: { query: "overview of language models", category: "research" }, answer: found },
    }),
    contents: action(common, {
      asked:
        "text of several pages; read these links; contents of urls; summarise these web pages; what do these articles say",
      description: "Fetches many known pages by URL in one call: their text, highlights or summaries.",
      category: "scraping",
      keywords: "read several URLs; batch; summarize; full text",
      params: contents,
      price: {
        mode: "ranged",
        cents: 60,
        minCents: 1,
        quoteCents: (params) => Math.ceil(contentCents(params)),
        otherPrice: {
          urls: Array.from({ length: 10 }, (_, at) => `https://example.com/${at + 1}`),
          text: true,
          summary: true,
        },
      },
      upstreamCents: contentCents,
      request: { method: "POST", path: "/contents", params: contentWire },
      content: ["/results/0"],
      // No page could be fetched. The caller chose the pages, so this does not count against the route.
      rules: [{ at: "/statuses", each: "/status", is: "error", means: "caller_unsupported", messageAt: TAG }],
      example: { params: { urls: [paper], text: true }, answer: fetched },
    }),
    answer: action(common, {
      asked: "answer with sources; who won; what is; quick answer from the web; facts with citations; ask the internet",
      description: "Answers a question in words from a search of the web, and cites the pages it rests on.",
      keywords: "question; citations; cited answer; grounded",
      params: z.strictObject({ query: z.string().min(1).describe("The question") }),
      price: { mode: "fixed", cents: 1 },
      upstreamCents: 0.5,
      request: { method: "POST", path: "/answer" },
      content: ["/answer"],
      example: { params: { query: "Who is H. Naveed?" }, answer: { answer: "An author.", citations: [result] } },
    }),
  },
});
