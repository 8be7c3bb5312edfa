// Calls to Brave Search: a query string, the key in a header, and a wrong key that looks like a wrong param.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";

const brave = await wire("brave");

function error(status: number, code: string, meta: object = {}) {
  return { status, body: { type: "ErrorResponse", error: { status, code, detail: "It is so.", meta } } };
}

describe("search", () => {
  it("sends the contract's params as a query, with the key in its own header", () => {
    const sent = brave.send("search", {
      q: "tides & moon",
      count: 5,
      offset: 2,
      country: "FR",
      search_lang: "fr",
      freshness: "2026-01-01to2026-02-01",
      result_filter: "web,news",
      extra_snippets: true,
    });
    expect(sent.method).toBe("GET");
    expect(sent.url).toBe(
      "https://api.search.brave.com/res/v1/web/search?q=tides+%26+moon&offset=2&country=FR&search_lang=fr" +
        "&freshness=2026-01-01to2026-02-01&extra_snippets=true&count=5&result_filter=web%2Cnews",
    );
    expect(sent.headers).toMatchObject({ "x-subscription-token": "key-of-ours", accept: "application/json" });
    expect(sent.headers).not.toHaveProperty("authorization");
    expect(sent.body).toBeNull();
  });

  it("leaves the vendor its defaults", () => {
    expect(brave.send("search", { q: "x" }).url).toBe("https://api.search.brave.com/res/v1/web/search?q=x");
  });

  it.each([
    [{}, "q"],
    [{ q: "x".repeat(401) }, "q"],
    [{ q: "word ".repeat(51) }, "q"],
    [{ q: "x", count: 21 }, "count"],
    [{ q: "x", offset: 10 }, "offset"],
    [{ q: "x", country: "France" }, "country"],
    [{ q: "x", freshness: "yesterday" }, "freshness"],
    [{ q: "x", freshness: "2026-01-01" }, "freshness"],
    [{ q: "x", result_filter: "web,images" }, "result_filter"],
    [{ q: "x", summary: true }, "summary"],
  ])("refuses %j, naming %s", (params, field) => {
    expect(brave.refuses("search", params)).toEqual([field]);
  });

  it.each(["pd", "pw", "pm", "py"])("takes freshness %s", (freshness) => {
    expect(brave.refuses("search", { q: "x", freshness })).toEqual([]);
  });
});

describe("news", () => {
  it("sends to its own path, up to fifty articles", () => {
    expect(brave.send("news", { q: "tides", count: 50, freshness: "pd" }).url).toBe(
      "https://api.search.brave.com/res/v1/news/search?q=tides&freshness=pd&count=50",
    );
    expect(brave.refuses("news", { q: "x", count: 51 })).toEqual(["count"]);
  });

  it("takes the filter that search takes, which the vendor does not know there", () => {
    expect(brave.send("news", { q: "tides", result_filter: "news" }).url).toBe(
      "https://api.search.brave.com/res/v1/news/search?q=tides",
    );
    expect(brave.refuses("news", { q: "x", result_filter: "books" })).toEqual(["result_filter"]);
  });
});

it("costs a cent each, and us half of it", () => {
  for (const action of ["search", "news"]) {
    expect(brave.quote(action, { q: "x", count: 20 })).toBe(1);
    expect(brave.upstreamCents(action, { q: "x", count: 20 })).toBe(0.5);
  }
});

it.each([
  ["a wrong key", error(422, "SUBSCRIPTION_TOKEN_INVALID", { component: "authentication" }), "provider_auth_failed"],
  [
    "a missing key",
    error(422, "VALIDATION", { errors: [{ type: "missing", loc: ["header", "x-subscription-token"] }] }),
    "provider_auth_failed",
  ],
  ["a wrong param", error(422, "VALIDATION", { errors: [{ loc: ["query", "country"] }] }), "caller_invalid"],
  ["an option beyond our plan", error(400, "OPTION_NOT_IN_PLAN"), "caller_unsupported"],
  ["an endpoint beyond our plan", error(400, "RESOURCE_NOT_ALLOWED"), "provider_auth_failed"],
  ["too many a second", error(429, "RATE_LIMITED"), "provider_rate_limited"],
  ["too many a month", error(429, "QUOTA_LIMITED"), "provider_billing"],
  ["a fault of the vendor", error(500, "INTERNAL"), "provider_server_error"],
  ["pages found", { body: { type: "search", web: { results: [{ url: "https://a.example" }] } } }, "success"],
  ["nothing found", { body: { type: "search", query: { original: "x" } } }, "success"],
])("%s", (_, answer, verdict) => {
  for (const action of ["search", "news"]) expect(brave.means(action, answer).verdict).toBe(verdict);
});
