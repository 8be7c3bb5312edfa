// Wikipedia in all languages. No key; it requires callers to identify themselves.
import { action, defineAdapter, like, noAuth, z } from "#adapter";

// It becomes part of a host name.
const lang = like(/^(simple|[a-z]{2,3}(-[a-z]{2,10}){0,2})$/, "must be a language code")
  .default("en")
  .describe("The language's code, such as en, de or zh-yue.");

const common = { category: "open-data", effect: "read", price: { mode: "fixed", cents: 1 }, upstreamCents: 0 } as const;
const api = { method: "GET", origin: "edition", path: "/w/api.php" } as const;
const query = { action: "query", format: "json", formatversion: 2 };

export default defineAdapter({
  name: "Wikipedia",
  docs: "https://www.mediawiki.org/wiki/API:Main_page",
  origin: "https://en.wikipedia.org",
  origins: { edition: "https://{lang}.wikipedia.org" },
  auth: noAuth,
  contact: "polite",
  // Errors have status 200.
  rules: [
    { at: "/error/code", matches: /^(ratelimited|maxlag)$/, sample: "maxlag", means: "provider_rate_limited" },
    {
      at: "/error/code",
      matches: /^(readonly|internal_api|cirrussearch-)/,
      sample: "readonly",
      means: "provider_server_error",
    },
    { at: "/error", empty: false, means: "caller_invalid", messageAt: "/error/info" },
    { at: "", matches: /^\s*</, sample: "<!doctype html>", means: "provider_overloaded" },
  ],
  actions: {
    search: action(common, {
      asked:
        "encyclopedia article; wikipedia; history of; biography; who was; when was born; when did he die; what is a; summary of a topic; background; explain a term; school homework",
      description: "Searches Wikipedia's articles; each hit has title, page id, word count and a snippet.",
      keywords: "encyclopedia; wiki; article; topic lookup; definition of a term; who was; history of a place",
      params: z.strictObject({
        q: z.string().min(1).max(300).describe("Words to search for."),
        lang,
        limit: z.int().min(1).max(50).default(10).describe("The most hits."),
        offset: z.int().min(0).max(9_950).default(0).describe("How many hits to skip."),
      }),
      request: {
        ...api,
        names: { q: "srsearch", limit: "srlimit", offset: "sroffset", lang: null },
        fixed: { ...query, list: "search", srprop: "snippet|wordcount|timestamp" },
      },
      content: ["/query/search"],
      example: {
        params: { q: "photosynthesis" },
        answer: {
          query: {
            searchinfo: { totalhits: 4_312 },
            search: [{ ns: 0, title: "Photosynthesis", pageid: 24544, wordcount: 12_034, snippet: "a system of ..." }],
          },
        },
      },
    }),
    page: action(common, {
      asked:
        "encyclopedia article; wikipedia; history of; biography; who was; when was born; when did he die; what is a; summary of a topic; background; explain a term; school homework",
      price: { ...common.price, freeOnMiss: true },
      description:
        "The plain text of a Wikipedia article by its title, with its address. Free if there is no such article.",
      keywords:
        "encyclopedia article; biography; wiki page; summary of a topic; history of a place; life of a person; historical person",
      params: z.strictObject({
        title: like(/^[^|#<>[\]{}\n]+$/, "must be one title, without | # < > [ ] { }", 255).describe(
          "The article's title, such as Ada Lovelace; redirects are followed.",
        ),
        lang,
      }),
      request: {
        ...api,
        names: { title: "titles", lang: null },
        fixed: { ...query, prop: "extracts|info", inprop: "url", explaintext: 1, redirects: 1 },
      },
      content: ["/query/pages/0"],
      rules: [
        { at: "/query/pages/0/invalid", is: true, means: "caller_invalid", messageAt: "/query/pages/0/invalidreason" },
        { at: "/query/pages/0/missing", is: true, means: "miss" },
        // A title with another wiki's prefix is not a page of this one.
        { at: "/query/interwiki", empty: false, means: "miss" },
      ],
      example: {
        params: { title: "Photosynthesis" },
        answer: {
          batchcomplete: true,
          query: {
            pages: [
              {
                pageid: 24544,
                ns: 0,
                title: "Photosynthesis",
                extract: "Photosynthesis is a system of biological processes ...",
                fullurl: "https://en.wikipedia.org/wiki/Photosynthesis",
              },
            ],
          },
        },
      },
    }),
  },
});
