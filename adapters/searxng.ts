// SearXNG: a metasearch engine on the operator's own server. The wire format follows its documentation. From memory: the error body.
import { action, defineAdapter, like, noAuth, optional, z } from "#adapter";

const names = like(/^[\p{L}\p{N}][\p{L}\p{N} ._-]*(,[\p{L}\p{N} ._-]+)*$/u);

export default defineAdapter({
  name: "SearXNG",
  docs: "https://docs.searxng.org/dev/search_api",
  beliefs: { "*": "the body of its errors" },
  origin: "http://127.0.0.1:8888",
  auth: noAuth,
  local: true,
  rules: [
    { status: 403, means: "provider_auth_failed", todo: "its settings.yml must have json among search.formats" },
    { at: "", matches: /^\s*</, sample: "<!doctype html>", means: "provider_malformed" },
  ],
  actions: {
    search: action({
      asked: "search the web; search results; google; find pages; look up on the internet",
      description: "Searches the web by many engines at once, on the operator's own server.",
      category: "search",
      keywords: "web search; metasearch; self-hosted search; google; bing; duckduckgo",
      effect: "read",
      params: z.strictObject({
        q: z.string().min(1).max(500).describe("What to look for; engines' own operators, such as site:, work"),
        categories: optional(
          names.max(200),
          "Kinds of engines, separated by commas: general, news, science, it, images",
        ),
        engines: optional(names.max(200), "Only these engines, separated by commas, such as duckduckgo,wikipedia"),
        language: optional(
          like(/^(all|auto|[a-z]{2,3}(-[A-Za-z]{2,4})?)$/),
          "Language of the results, such as en or pt-BR; all for any",
        ),
        time_range: optional(z.enum(["day", "week", "month", "year"]), "How new, at engines that know"),
        safesearch: optional(z.int().min(0).max(2), "How much adult content is left out: 0 nothing, 1 some, 2 all"),
        pageno: optional(z.int().min(1).max(50), "Which page of results, from 1"),
      }),
      price: { mode: "fixed", cents: 1, freeOnMiss: true },
      upstreamCents: 0,
      request: { method: "GET", path: "/search", fixed: { format: "json" } },
      content: ["/results", "/answers", "/infoboxes"],
      rules: [
        { at: "/answers", empty: false, means: "success" },
        { at: "/infoboxes", empty: false, means: "success" },
        // The status does not distinguish no results from every engine having blocked the server.
        { at: "/results", empty: true, means: "miss" },
      ],
      example: {
        params: { q: "tides brest", language: "en" },
        answer: {
          query: "tides brest",
          number_of_results: 0,
          results: [
            {
              url: "https://tides.example/brest",
              title: "Tide tables for Brest",
              content: "High and low water at Brest for the coming week.",
              engine: "duckduckgo",
              engines: ["duckduckgo", "brave"],
              positions: [1, 2],
              score: 3,
              category: "general",
              publishedDate: "2026-11-20T10:00:00",
            },
          ],
          answers: [],
          corrections: [],
          infoboxes: [],
          suggestions: [],
          unresponsive_engines: [],
        },
      },
    }),
  },
});
