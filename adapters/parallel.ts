// Parallel: search and page text for agents, and asynchronous research; at the prices listed on 2026-11-10.
import { action, defineAdapter, keyHeader, needsOne, optional, withRules, z } from "#adapter";

const text = z.string().min(1);
const words = z.array(text).min(1);
const urls = z.array(z.url({ protocol: /^https?$/ }));
const object = z.record(z.string(), z.json());
const count = z.int().positive();
const length = z.strictObject({ max_chars_per_result: count });
const age = z.strictObject({ max_age_seconds: z.int().min(600), timeout_seconds: count }).partial();
const sources = z.strictObject({ include_domains: words, exclude_domains: words, after_date: z.iso.date() }).partial();
const settings = { fetch_policy: age, excerpt_settings: length };
const searchSettings = z.strictObject({ ...settings, source_policy: sources, max_results: count.max(15) }).partial();
const extractSettings = z.strictObject({ ...settings, full_content: z.boolean().or(length) }).partial();
const shared = {
  search_queries: optional(words, "Two or three searches of a few words each"),
  max_chars_total: optional(count, "The most characters of excerpts in all"),
  session_id: optional(text.max(1_000), "A name of yours for calls that belong together"),
};
const MODES = ["advanced", "basic", "fast", "turbo", "one-shot"];
const search = withRules([needsOne("query", "objective", "search_queries")], {
  query: optional(text, "What to look for; stands for objective and search_queries"),
  objective: optional(text, "What you want to know, in a sentence or two"),
  mode: z.enum(MODES).default("advanced").describe("How thorough against how quick; one-shot is advanced"),
  ...shared,
  advanced_settings: optional(searchSettings, "Sources, freshness, length of excerpts, and up to 15 results"),
});
type Search = z.infer<typeof search>;
const searchWire = ({ query, objective = query, search_queries, mode, ...rest }: Search) => ({
  ...rest,
  objective,
  search_queries: search_queries ?? [query ?? objective],
  mode: mode === "one-shot" ? "advanced" : mode,
});
/** Half a cent, or a tenth in fast mode, for ten results; a tenth for each further one. */
const searchCents = ({ mode, advanced_settings }: Search) =>
  ((mode === "fast" || mode === "turbo" ? 1 : 5) + Math.max(0, (advanced_settings?.max_results ?? 10) - 10)) / 10;
const extract = z.strictObject({
  urls: urls.min(1).max(20).describe("Addresses of up to 20 pages"),
  objective: optional(text, "What you want to know; the excerpts are chosen by it"),
  ...shared,
  advanced_settings: optional(extractSettings, "Freshness, length of excerpts, and full_content for the whole text"),
});
const task = z.strictObject({
  input: text.or(object).describe("What to find out: a text, or an object that task_spec describes"),
  processor: z
    .enum(["lite", "base", "core", "pro", "ultra"])
    .default("pro")
    .describe("How thorough: lite costs 1 cent, base 2, core 4, pro 10, ultra 30"),
  task_spec: optional(object, "Shape of the result and of the input: {output_schema, input_schema}"),
  source_policy: optional(sources, "Which domains to use or not, and since which date"),
});
type Processor = z.infer<typeof task>["processor"];
/** The price of each, and our cost (of the first three from memory). */
const TASK_CENTS: Readonly<Record<Processor, number>> = { lite: 1, base: 2, core: 4, pro: 10, ultra: 30 };
const TASK_UPSTREAM_CENTS: Readonly<Record<Processor, number>> = { lite: 0.5, base: 1, core: 2.5, pro: 10, ultra: 30 };
const url = "https://bridges.example/longest";
const page = { url, title: "The longest bridges", publish_date: "2025-04-02", excerpts: ["164.8 km: Danyang"] };
const read = { extract_id: "extract_8a5c", results: [{ ...page, full_content: null }], errors: [], warnings: null };
const run = { run_id: "trun_9907962f83aa4d9d", interaction_id: "trun_9907", processor: "pro", status: "completed" };
/** No page could be read. The caller chose the pages, so this does not count against the route. */
const NONE = { at: "/errors/0", empty: false, means: "caller_unsupported", messageAt: "/errors/0/error_type" } as const;
const RESULT = "/tasks/runs/{run_id}/result?timeout=5";
const poll = {
  action: "task-status",
  param: "run_id",
  at: "/status",
  done: ["completed"],
  failed: ["failed", "cancelled"],
} as const;
const lookup = { category: "search", effect: "read" } as const;
const output = { type: "text", content: "It is 164.8 km long.", basis: [{ field: "output", citations: [{ url }] }] };

export default defineAdapter({
  name: "Parallel",
  docs: "https://docs.parallel.ai/api-reference",
  beliefs: { task: "what the three smallest processors cost us" },
  origin: "https://api.parallel.ai/v1",
  auth: keyHeader("x-api-key"),
  rate: { requests: 600, perMs: 60_000 },
  actions: {
    search: action({
      asked:
        "search the web by meaning; find sites like this one; similar companies; find blog posts, articles, research; companies that do something",
      description: "Searches the web for an objective and returns the passages of each page that matter to it.",
      ...lookup,
      keywords: "web search; second source; excerpts; objective; agents",
      params: search,
      price: { mode: "fixed", cents: 1 },
      upstreamCents: searchCents,
      request: { method: "POST", path: "/search", params: searchWire },
      content: ["/results"],
      callerIds: ["session_id"],
      example: { params: { query: "longest bridge" }, answer: { search_id: "search_6f2c", results: [page] } },
    }),
    extract: action({
      asked:
        "text of several pages; read these links; contents of urls; summarise these web pages; what do these articles say; a PDF on the web into text",
      description: "Reads up to 20 web pages and returns their text, or the passages that matter to an objective.",
      category: "scraping",
      keywords: "read several URLs; excerpts; page text; pdf to text",
      effect: "read",
      params: extract,
      price: {
        mode: "ranged",
        cents: 20,
        minCents: 1,
        unit: "URL",
        quoteCents: ({ urls }) => urls.length,
        otherPrice: { urls: ["https://bridges.example/longest", "https://bridges.example/oldest"] },
      },
      upstreamCents: ({ urls }) => urls.length / 10,
      request: { method: "POST", path: "/extract" },
      content: ["/results/0"],
      callerIds: ["session_id"],
      rules: [{ at: "/results/0", empty: false, means: "success" }, NONE],
      example: { params: { urls: [url], objective: "How long is it?" }, answer: read },
    }),
    task: action({
      asked:
        "research a topic thoroughly; deep report; study the market; detailed analysis with sources; compare vendors; long investigation; due diligence on a company; in depth; comprehensive; write me a dossier",
      description: "Starts research on the web that runs for minutes; returns a run_id for task-status.",
      category: "search",
      keywords: "deep research; async; report; enrichment; background; market research; write a report",
      effect: "write",
      params: task,
      price: {
        mode: "ranged",
        cents: 30,
        minCents: 1,
        quoteCents: ({ processor }) => TASK_CENTS[processor],
        otherPrice: { input: "What is the longest bridge?", processor: "lite" },
      },
      upstreamCents: ({ processor }) => TASK_UPSTREAM_CENTS[processor],
      request: { method: "POST", path: "/tasks/runs" },
      issues: [{ kind: "task", at: "/run_id", poll }],
      example: { params: { input: "What is the longest bridge?" }, answer: { ...run, status: "queued" } },
    }),
    "task-status": action({
      asked: "is my research done; the report of the task",
      description: "Tells how a research task stands and, once it is completed, its output with citations. Free.",
      ...lookup,
      params: z.strictObject({ run_id: text.describe("The run_id that task returned") }),
      price: { mode: "fixed", cents: 0 },
      upstreamCents: 0,
      request: { method: "GET", path: "/tasks/runs/{run_id}" },
      content: ["/status"],
      steps: [{ when: { at: "/status", is: "completed" }, request: { method: "GET", path: RESULT }, merge: true }],
      // The failure of a run, and its reason, is what the caller asked for.
      rules: [{ at: "/status", is: ["failed", "cancelled"], means: "success" }],
      requires: [{ kind: "task", param: "run_id" }],
      example: { params: { run_id: run.run_id }, answers: [run, { run, output }] },
    }),
  },
});
