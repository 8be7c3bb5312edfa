// Wikidata: structured facts about things, and its query service. No key; it requires callers to identify themselves.
import { action, defineAdapter, like, noAuth, z } from "#adapter";

const DAY_MS = 86_400_000;
const language = like(/^[a-z]{2,3}(-[a-z]{2,10}){0,2}$/, "must be a language code");
const common = { category: "open-data", effect: "read", price: { mode: "fixed", cents: 1 }, upstreamCents: 0 } as const;
const tooSlow = /TimeoutException|Query timeout limit/;

export default defineAdapter({
  name: "Wikidata",
  docs: "https://www.wikidata.org/wiki/Wikidata:Data_access",
  origin: "https://www.wikidata.org",
  origins: { query: "https://query.wikidata.org" },
  auth: noAuth,
  contact: "polite",
  actions: {
    search: action(common, {
      asked:
        "facts of a thing; id of an entity; birth date of a person; capital, population, area; height of a mountain; identifiers",
      description:
        "Finds Wikidata entities (things, properties, lexemes) by name or alias; each hit has id and description.",
      keywords: "entity; knowledge graph; Q id; disambiguate a name",
      params: z.strictObject({
        q: z.string().min(1).max(250).describe("A name, or the beginning of one."),
        language: language.default("en").describe("The language of the name and of the answer."),
        type: z.enum(["item", "property", "lexeme"]).default("item").describe("What to look for."),
        limit: z.int().min(1).max(50).default(10).describe("The most hits."),
        offset: z.int().min(0).max(9_950).default(0).describe("How many hits to skip."),
      }),
      request: {
        method: "GET",
        path: "/w/api.php",
        names: { q: "search", offset: "continue" },
        fixed: { action: "wbsearchentities", format: "json" },
        params: (p) => ({ ...p, uselang: p.language }),
      },
      content: ["/search"],
      // Errors have status 200.
      rules: [
        { at: "/error/code", matches: /^(ratelimited|maxlag)$/, sample: "maxlag", means: "provider_rate_limited" },
        { at: "/error/code", matches: /^(readonly|internal_api)/, sample: "readonly", means: "provider_server_error" },
        { at: "/error", empty: false, means: "caller_invalid", messageAt: "/error/info" },
      ],
      example: {
        params: { q: "Douglas Adams" },
        answer: {
          search: [
            {
              id: "Q42",
              label: "Douglas Adams",
              description: "English author and humourist (1952-2001)",
              match: { type: "label", language: "en", text: "Douglas Adams" },
            },
          ],
        },
      },
    }),
    entity: action(common, {
      asked:
        "facts of a thing; id of an entity; birth date of a person; capital, population, area; height of a mountain; identifiers",
      description: "All that Wikidata knows of one entity: labels, claims, links to articles. An unknown id is free.",
      keywords: "structured facts; knowledge graph; claims; properties of a thing; date of birth; capital of a country",
      params: z.strictObject({
        id: like(/^[QPL][1-9]\d{0,11}$/, "must be as Q42, P31 or L7").describe(
          "The entity's id: Q for things, P for properties, L for lexemes.",
        ),
      }),
      request: { method: "GET", path: "/wiki/Special:EntityData/{id}.json", send: "none", redirectsMax: 2 },
      content: ["/entities"],
      example: {
        params: { id: "Q42" },
        answer: {
          entities: {
            Q42: {
              type: "item",
              id: "Q42",
              labels: { en: { language: "en", value: "Douglas Adams" } },
              claims: { P31: [{ mainsnak: { snaktype: "value", property: "P31" }, rank: "normal" }] },
            },
          },
        },
      },
    }),
    sparql: action(common, {
      asked:
        "list of all things with a property; all countries, mountains, cities, presidents, nobel laureates; higher, larger than; query facts; women born in; table of; every museum in; how many",
      description:
        "Runs a SPARQL query over Wikidata, for up to 60 seconds. A query that fails or takes longer is free.",
      keywords: "graph query; linked data; RDF; knowledge graph query",
      params: z.strictObject({
        query: z.string().min(1).max(50_000).describe("The query, SELECT or ASK; bound it with LIMIT."),
      }),
      request: {
        method: "POST",
        origin: "query",
        path: "/sparql",
        send: "form",
        fixed: { format: "json" },
        headers: { accept: "application/sparql-results+json" },
      },
      content: ["/results", "/boolean"],
      rules: [
        {
          status: [403, 429],
          at: "",
          matches: /banned until/i,
          sample: "You are banned until tomorrow.",
          means: "provider_rate_limited",
          restMs: DAY_MS,
        },
        {
          status: [200, 500],
          at: "",
          matches: tooSlow,
          sample: "java.util.concurrent.TimeoutException",
          means: "caller_invalid",
        },
        { at: "", matches: /^\s*</, sample: "<!doctype html>", means: "provider_overloaded" },
      ],
      // Thirty failed queries in a minute lead to a ban. The timeout is slightly longer than the vendor's, so that its error message
      // arrives.
      rate: { requests: 30, perMs: 60_000 },
      timeoutMs: 65_000,
      example: {
        params: { query: "SELECT ?cat WHERE { ?cat wdt:P31 wd:Q146 } LIMIT 1" },
        answer: {
          head: { vars: ["cat"] },
          results: { bindings: [{ cat: { type: "uri", value: "http://www.wikidata.org/entity/Q378619" } }] },
        },
      },
    }),
  },
});
