// Calls to Tavily: one credit per call whatever the params, and unreadable pages within a success answer.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";

const tavily = await wire("tavily");
const page = "https://a.example/";

describe("search", () => {
  it("sends the contract's params, with the key as a bearer", () => {
    const params = {
      query: "tides",
      max_results: 7,
      include_answer: true,
      include_raw_content: "text",
      topic: "news",
      include_domains: ["a.example"],
      exclude_domains: ["b.example"],
      time_range: "week",
    };
    const sent = tavily.send("search", params);
    expect(sent).toMatchObject({ method: "POST", url: "https://api.tavily.com/search" });
    expect(sent.headers.authorization).toBe("Bearer key-of-ours");
    expect(sent.body).toEqual({ ...params, search_depth: "basic" });
  });

  it("writes countries as the vendor does", () => {
    expect(tavily.send("search", { query: "q", country: "United States" }).body).toMatchObject({
      country: "united states",
    });
  });

  it.each([
    [{}, "query"],
    [{ query: "q", max_results: 21 }, "max_results"],
    [{ query: "q", topic: "sports" }, "topic"],
    [{ query: "q", time_range: "decade" }, "time_range"],
    [{ query: "q", include_answer: "long" }, "include_answer"],
    [{ query: "q", start_date: "1 May" }, "start_date"],
  ])("refuses %j, naming %s", (params, field) => {
    expect(tavily.refuses("search", params)).toEqual([field]);
  });

  it("costs twice as much where it takes two credits, and refuses what may take them unasked", () => {
    const [search, extract] = [
      { query: "q", search_depth: "advanced" },
      { urls: page, extract_depth: "advanced" },
    ];
    expect([tavily.quote("search", search), tavily.quote("extract", extract)]).toEqual([2, 2]);
    expect([tavily.upstreamCents("search", search), tavily.upstreamCents("extract", extract)]).toEqual([1.6, 1.6]);
    expect([tavily.quote("search", { query: "q" }), tavily.quote("extract", { urls: page })]).toEqual([1, 1]);
    expect(tavily.refuses("search", { query: "q", auto_parameters: true })).toEqual(["auto_parameters"]);
  });

  it("is charged when nothing is found", () => {
    expect(tavily.means("search", { body: { query: "q", results: [] } }).verdict).toBe("success");
  });
});

describe("extract", () => {
  it("sends one address or up to five", () => {
    const sent = tavily.send("extract", { urls: [page, `${page}2`], query: "why", chunks_per_source: 2 });
    expect(sent).toMatchObject({ method: "POST", url: "https://api.tavily.com/extract" });
    expect(sent.body).toEqual({ urls: [page, `${page}2`], format: "markdown", query: "why", chunks_per_source: 2 });
    expect(tavily.send("extract", { urls: page }).body).toEqual({ urls: page, format: "markdown" });
  });

  it.each([
    [{}, "urls"],
    [{ urls: [] }, "urls"],
    [{ urls: Array(6).fill(page) }, "urls"],
    [{ urls: "a.example" }, "urls"],
    [{ urls: page, chunks_per_source: 2 }, "chunks_per_source"],
    [{ urls: page, format: "html" }, "format"],
    [{ urls: page, timeout: 61 }, "timeout"],
  ])("refuses %j, naming %s", (params, field) => {
    expect(tavily.refuses("extract", params)).toEqual([field]);
  });

  it("is a failure that costs nothing when no page could be read, and a success when one could", () => {
    const failed_results = [{ url: page, error: "Error during fetch" }];
    expect(tavily.means("extract", { body: { results: [], failed_results } }).verdict).toBe("caller_unsupported");
    const some = { results: [{ url: page, raw_content: "text" }], failed_results };
    expect(tavily.means("extract", { body: some }).verdict).toBe("success");
  });
});

it("costs a cent each, and us a credit", () => {
  expect(tavily.quote("search", { query: "q", max_results: 20 })).toBe(1);
  expect(tavily.quote("extract", { urls: Array(5).fill(page) })).toBe(1);
  expect(tavily.upstreamCents("search", { query: "q" })).toBe(0.8);
  expect(tavily.upstreamCents("extract", { urls: page })).toBe(0.8);
});

it.each([
  [400, "caller_invalid"],
  [401, "provider_auth_failed"],
  [403, "provider_auth_failed"],
  [429, "provider_rate_limited"],
  [432, "provider_billing"],
  [433, "provider_billing"],
  [500, "provider_server_error"],
])("%d means %s", (status, verdict) => {
  const answer = { status, body: { detail: { error: "It is so." } } };
  for (const action of ["search", "extract"]) expect(tavily.means(action, answer).verdict).toBe(verdict);
});

it("calls a page of HTML no answer", () => {
  expect(tavily.means("extract", { body: "<html>" }).verdict).toBe("provider_malformed");
});
