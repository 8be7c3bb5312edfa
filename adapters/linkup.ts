// Linkup: an answer with its sources, or only the sources, from a fast or a deep search; at the prices of 2026-05-31.
import { action, bearer, defineAdapter, neededWhen, optional, withRules, z } from "#adapter";

const domains = z.array(z.string().min(1)).max(100);

/** Whether a text is a JSON Schema of an object. */
function describesObject(text: string): boolean {
  try {
    return (JSON.parse(text) as { type?: unknown } | null)?.type === "object";
  } catch {
    return false;
  }
}

const params = withRules([neededWhen("structuredOutputSchema", "outputType", { const: "structured" })], {
  q: z.string().min(1).describe("The question, or what to find and where to look for it"),
  outputType: z
    .enum(["sourcedAnswer", "searchResults", "structured"])
    .default("sourcedAnswer")
    .describe("An answer with its sources, the sources alone, or an object of your own shape"),
  structuredOutputSchema: optional(
    z.string().refine(describesObject, "must be the text of a JSON Schema whose type is object"),
    "With structured: the JSON Schema of the object, as text",
  ),
  includeSources: optional(z.boolean(), "With structured: return {data, sources}"),
  includeInlineCitations: optional(z.boolean(), "With sourcedAnswer: mark in the answer what each source says"),
  includeImages: optional(z.boolean(), "Return pictures among the results"),
  fromDate: optional(z.iso.date(), "Only sources published since this date, YYYY-MM-DD"),
  toDate: optional(z.iso.date(), "Only sources published until this date, YYYY-MM-DD"),
  includeDomains: optional(domains, "Only sources of these domains, up to 100"),
  excludeDomains: optional(domains, "No sources of these domains, up to 100"),
  maxResults: optional(z.int().positive(), "The most sources to return"),
}).refine(({ fromDate = "", toDate }) => toDate === undefined || fromDate <= toDate, {
  path: ["toDate"],
  message: "is before fromDate",
});

/** The caller defines the object's shape, so no location in it is known. */
const content = ({ outputType }: z.infer<typeof params>) =>
  outputType === "structured" ? [] : ["/answer", "/results"];

const example = {
  params: { q: "How tall is the lighthouse of Kereon?" },
  answer: {
    answer: "The lighthouse of Kereon is 41 metres tall.",
    sources: [
      {
        name: "Kereon",
        url: "https://lighthouses.example/kereon",
        snippet: "Height: 41 m.",
        favicon: "https://lighthouses.example/favicon.ico",
      },
    ],
  },
} as const;

export default defineAdapter({
  name: "Linkup",
  docs: "https://docs.linkup.so/pages/documentation/endpoints/search/overview",
  origin: "https://api.linkup.so/v1",
  auth: bearer,
  rate: { requests: 10, perMs: 1_000 },
  rules: [
    // The vendor reports an empty search as an error; callers get the empty form of every output type.
    {
      status: 400,
      at: "/error/code",
      is: "SEARCH_QUERY_NO_RESULT",
      means: "miss",
      data: { answer: null, sources: [], results: [] },
    },
    // Used-up credits have the status 429.
    {
      status: 429,
      at: "/error/code",
      is: ["INSUFFICIENT_FUNDS_CREDITS", "EXCEED_BUDGET_LIMIT"],
      means: "provider_billing",
    },
  ],
  actions: {
    search: action({
      asked: "answer with sources; who won; what is; quick answer from the web; facts with citations; ask the internet",
      description: "Answers a question from the web with its sources, or gives the sources or an object alone.",
      category: "search",
      keywords: "cited answer; sourced answer; citations; structured output; question",
      effect: "read",
      params,
      price: { mode: "fixed", cents: 1 },
      upstreamCents: ({ outputType }) => (outputType === "searchResults" ? 0.5 : 0.6),
      request: { method: "POST", path: "/search", fixed: { depth: "standard" } },
      content,
      example,
    }),
    "deep-search": action({
      asked:
        "research a topic thoroughly; deep report; study the market; detailed analysis with sources; compare vendors; long investigation; due diligence on a company; in depth; comprehensive; write me a dossier",
      description: "Answers a hard question from the web in several steps, reading pages, with its sources.",
      category: "search",
      keywords: "agentic search; deep research; cited answer; multi-step; sources; hard question; thorough research",
      effect: "read",
      params,
      price: { mode: "fixed", cents: 5 },
      upstreamCents: ({ outputType }) => (outputType === "searchResults" ? 5 : 5.5),
      mayCostMore: "Writing the answer costs us half a cent more than the listed price; the sources alone do not.",
      request: { method: "POST", path: "/search", fixed: { depth: "deep" } },
      content,
      timeoutMs: 120_000,
      example,
    }),
  },
});
