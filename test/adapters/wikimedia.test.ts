// Calls to Wikipedia and Wikidata: a language that becomes a host name, errors with status 200, and queries that time out.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";

const wikipedia = await wire("wikipedia");
const wikidata = await wire("wikidata");
const html = { "content-type": "text/html" };
const text = { "content-type": "text/plain" };

function queryOf(url: string): Record<string, string> {
  return Object.fromEntries(new URL(url).searchParams);
}

describe("wikipedia", () => {
  it("searches in the language that is asked for, English otherwise, and says who calls", () => {
    const sent = wikipedia.send("search", { q: "Licht & Schatten", lang: "de", limit: 3 });
    expect(sent.url.split("?")[0]).toBe("https://de.wikipedia.org/w/api.php");
    expect(queryOf(sent.url)).toMatchObject({
      action: "query",
      list: "search",
      format: "json",
      srsearch: "Licht & Schatten",
      srlimit: "3",
    });
    expect(queryOf(sent.url)).not.toHaveProperty("lang");
    expect(sent.headers["user-agent"]).toContain("Ada ada@example.org");
    expect(wikipedia.send("search", { q: "x" }).url).toMatch(/^https:\/\/en\.wikipedia\.org\//);
    expect(wikipedia.send("search", { q: "x", lang: "zh-min-nan" }).url).toMatch(
      /^https:\/\/zh-min-nan\.wikipedia\.org\//,
    );
  });

  it("reads a page as plain text, redirects followed", () => {
    const { url } = wikipedia.send("page", { title: "C++/CLI & more?" });
    expect(queryOf(url)).toMatchObject({
      titles: "C++/CLI & more?",
      explaintext: "1",
      redirects: "1",
      action: "query",
    });
  });

  it.each([
    ["search", { q: "x", lang: "en.evil.example/" }, "lang"],
    ["search", { q: "x", lang: "-en" }, "lang"],
    ["search", { q: "x", lang: "evil.example" }, "lang"],
    ["search", { q: "x", lang: "EN" }, "lang"],
    ["search", { q: "x", lang: "commons" }, "lang"],
    ["search", {}, "q"],
    ["search", { q: "x", limit: 51 }, "limit"],
    ["page", {}, "title"],
    ["page", { title: "A|B" }, "title"],
    ["page", { title: "A#History" }, "title"],
    ["page", { title: "" }, "title"],
    ["page", { title: "A", lang: "en@evil" }, "lang"],
  ])("%s refuses %j, naming %s", (action, params, field) => {
    expect(wikipedia.refuses(action, params)).toEqual([field]);
  });

  it.each([
    [{ error: { code: "missingparam", info: 'The "srsearch" parameter must be set.' } }, "caller_invalid"],
    [{ error: { code: "maxlag", info: "Waiting for a server: 6 seconds lagged." } }, "provider_rate_limited"],
    [{ error: { code: "ratelimited", info: "You've exceeded your rate limit." } }, "provider_rate_limited"],
    [{ error: { code: "cirrussearch-backend-error", info: "Try again later." } }, "provider_server_error"],
    [{ error: { code: "internal_api_error_DBQueryError", info: "Caught exception." } }, "provider_server_error"],
    [{ query: { searchinfo: { totalhits: 0 }, search: [] } }, "success"],
  ])("the good answer %j means %s", (body, verdict) => {
    expect(wikipedia.means("search", { body }).verdict).toBe(verdict);
  });

  it("a page that is missing is not charged; a title that cannot be one is the caller's", () => {
    const missing = { query: { pages: [{ ns: 0, title: "Nosuch", missing: true }] } };
    expect(wikipedia.means("page", { body: missing })).toMatchObject({ verdict: "miss", data: missing });
    const elsewhere = { query: { interwiki: [{ title: "fr:Lune", iw: "fr" }] } };
    expect(wikipedia.means("page", { body: elsewhere }).verdict).toBe("miss");
    const invalid = { query: { pages: [{ title: "::", invalid: true, invalidreason: "Bad title." }] } };
    expect(wikipedia.means("page", { body: invalid }).verdict).toBe("caller_invalid");
    expect(wikipedia.means("page", { body: { query: { pages: [{ title: "Moon", extract: "..." }] } } }).verdict).toBe(
      "success",
    );
    expect(wikipedia.actions.page?.price.freeOnMiss).toBe(true);
  });

  it("a page for people is an outage", () => {
    expect(wikipedia.means("page", { headers: html, body: "<!DOCTYPE html>" }).verdict).toBe("provider_overloaded");
  });
});

describe("wikidata", () => {
  it("searches names in a language", () => {
    expect(queryOf(wikidata.send("search", { q: "Mond", language: "de", limit: 5, offset: 5 }).url)).toEqual({
      action: "wbsearchentities",
      format: "json",
      search: "Mond",
      language: "de",
      uselang: "de",
      type: "item",
      limit: "5",
      continue: "5",
    });
  });

  it("reads an entity whole, under its own id", () => {
    expect(wikidata.send("entity", { id: "Q42" }).url).toBe(
      "https://www.wikidata.org/wiki/Special:EntityData/Q42.json",
    );
    expect(wikidata.means("entity", { status: 404, headers: html, body: "<html>" }).verdict).toBe("caller_invalid");
  });

  it("sends a SPARQL query as a form, however long it is", () => {
    const query = `SELECT * WHERE { ?a ?b "${"x".repeat(20_000)}" }`;
    const sent = wikidata.send("sparql", { query });
    expect([sent.method, sent.url]).toEqual(["POST", "https://query.wikidata.org/sparql"]);
    expect(sent.headers).toMatchObject({
      accept: "application/sparql-results+json",
      "content-type": "application/x-www-form-urlencoded",
    });
    expect(Object.fromEntries(new URLSearchParams(String(sent.body)))).toEqual({ format: "json", query });
  });

  it.each([
    ["search", {}, "q"],
    ["search", { q: "x", language: "english" }, "language"],
    ["search", { q: "x", limit: 0 }, "limit"],
    ["entity", { id: "42" }, "id"],
    ["entity", { id: "Q42/../../w/api.php" }, "id"],
    ["entity", { id: "Q42?x" }, "id"],
    ["sparql", { query: "" }, "query"],
    ["sparql", { query: "x", timeout: 600 }, "timeout"],
  ])("%s refuses %j, naming %s", (action, params, field) => {
    expect(wikidata.refuses(action, params)).toEqual([field]);
  });

  it.each([
    [
      "a query with a fault",
      { status: 400, headers: text, body: "SPARQL-QUERY: ... MalformedQueryException" },
      "caller_invalid",
    ],
    [
      "a query that takes too long",
      { status: 500, headers: text, body: "java.util.concurrent.TimeoutException" },
      "caller_invalid",
    ],
    [
      "rows that break off in a timeout",
      { body: '{"head":{"vars":["a"]},"results":{"bindings":[ java.util.concurrent.TimeoutException at' },
      "caller_invalid",
    ],
    ["too many queries", { status: 429, headers: text, body: "Too Many Requests" }, "provider_rate_limited"],
    ["no rows", { body: { head: { vars: ["a"] }, results: { bindings: [] } } }, "success"],
    ["a page for people", { headers: html, body: "<html>" }, "provider_overloaded"],
  ])("of SPARQL, %s", (_, answer, verdict) => {
    expect(wikidata.means("sparql", answer).verdict).toBe(verdict);
  });

  it("a ban is kept for its day: whoever goes on asking is banned for longer", () => {
    const banned = { headers: text, body: "You have been banned until 2026-11-22T20:00:00Z" };
    for (const status of [403, 429]) {
      expect(wikidata.means("sparql", { status, ...banned })).toMatchObject({
        verdict: "provider_rate_limited",
        restMs: 86_400_000,
      });
    }
  });

  it("gives the query service its 60 seconds and a little more", () => {
    expect(wikidata.actions.sparql?.timeoutMs).toBeGreaterThan(60_000);
  });
});
