// Calls to fastCRW: pages behind walls, crawls and extractions, and walls that are answered with a success status.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";

const crw = await wire("fastcrw");
const page = "https://a.example/";

describe("scrape", () => {
  it("sends the contract's params with a long deadline and our key", () => {
    const params = {
      url: page,
      formats: ["json"],
      stealth: true,
      renderJs: false,
      country: "DE",
      jsonSchema: { type: "object" },
    };
    const sent = crw.send("scrape", params);
    expect(sent).toMatchObject({ method: "POST", url: "https://api.fastcrw.com/v1/scrape" });
    expect(sent.headers.authorization).toBe("Bearer key-of-ours");
    expect(sent.body).toEqual({ ...params, country: "de", onlyMainContent: true, deadlineMs: 50_000 });
  });

  it.each([
    [{}, "url"],
    [{ url: page, country: "deu" }, "country"],
    [{ url: page, waitFor: 60_001 }, "waitFor"],
    [{ url: page, formats: ["json"] }, "jsonSchema"],
    [{ url: page, basis: true }, "jsonSchema"],
    [{ url: page, formats: ["summary"] }, "formats.0"],
    [{ url: page, actions: [] }, "actions"],
    [{ url: page, proxy: "http://p.example" }, "proxy"],
    [{ url: page, llmApiKey: "k" }, "llmApiKey"],
    [{ url: page, deadlineMs: 1 }, "deadlineMs"],
  ])("refuses %j, naming %s", (params, field) => {
    expect(crw.refuses("scrape", params)).toEqual([field]);
  });

  it.each([
    [{ success: false, errorCode: "anti_bot", data: { block: { vendor: "cf" } } }],
    [{ success: false, errorCode: "http_error", data: { metadata: { statusCode: 404 } } }],
    [{ success: false, error: "no usable content" }],
  ])("%j with a good status is free and passed on", (body) => {
    expect(crw.means("scrape", { body })).toMatchObject({ verdict: "miss", data: body });
    expect(crw.actions.scrape?.price.freeOnMiss).toBe(true);
  });

  it("a page that cannot be reached is free too", () => {
    const body = { success: false, error: "target unreachable" };
    expect(crw.means("scrape", { status: 422, body }).verdict).toBe("miss");
  });
});

describe("crawl", () => {
  it("reads up to 100 pages for ten cents", () => {
    expect(crw.send("crawl", { url: page }).body).toMatchObject({ url: page, maxPages: 100, maxDepth: 2 });
    expect(crw.quote("crawl", { url: page })).toBe(10);
    expect(crw.upstreamCents("crawl", { url: page })).toBeLessThan(10);
    expect(crw.refuses("crawl", { url: page, maxPages: 101 })).toEqual(["maxPages"]);
    expect(crw.refuses("crawl", { url: page, maxDepth: 11 })).toEqual(["maxDepth"]);
  });

  it("is polled by its payer, for a cent while it has not failed", () => {
    expect(crw.actions.crawl?.issues).toMatchObject([{ kind: "crawl", at: "/id" }]);
    expect(crw.actions["crawl-status"]?.requires).toEqual([{ kind: "crawl", param: "id" }]);
    expect(crw.send("crawl-status", { id: "u-1" })).toMatchObject({
      method: "GET",
      url: "https://api.fastcrw.com/v1/crawl/u-1",
    });
    expect(crw.quote("crawl-status", { id: "u-1" })).toBe(1);
    expect(crw.means("crawl-status", { body: { success: true, status: "scraping" } }).verdict).toBe("success");
    expect(crw.means("crawl-status", { body: { success: false, status: "failed", error: "e" } }).verdict).toBe("miss");
  });
});

describe("extract", () => {
  it("takes ten pages for five cents, with evidence where there is a schema", () => {
    const params = { urls: [page], schema: { type: "object" }, basis: true };
    expect(crw.send("extract", params)).toMatchObject({ url: "https://api.fastcrw.com/v1/extract", body: params });
    expect(crw.quote("extract", params)).toBe(5);
    expect(crw.quote("extract-status", { id: "e" })).toBe(1);
    expect(crw.actions["extract-status"]?.requires).toEqual([{ kind: "extract", param: "id" }]);
  });

  it.each([
    [{ urls: [page] }, "prompt"],
    [{ urls: [page], prompt: "p", basis: true }, "schema"],
    [{ urls: Array(11).fill(page), prompt: "p" }, "urls"],
  ])("refuses %j, naming %s", (params, field) => {
    expect(crw.refuses("extract", params)).toEqual([field]);
  });
});

describe("map and search", () => {
  it("send what callers give", () => {
    expect(crw.send("map", { url: page }).body).toEqual({ url: page, timeout: 50 });
    expect(crw.send("search", { query: "tides" }).body).toEqual({ query: "tides", limit: 5 });
    expect(crw.refuses("search", { query: "q", limit: 21 })).toEqual(["limit"]);
    expect(crw.refuses("search", { query: "q", scrapeOptions: {} })).toEqual(["scrapeOptions"]);
  });
});

describe("what its answers mean", () => {
  it.each([
    [200, {}, { success: false, error: "e" }, "provider_server_error"],
    [400, {}, { success: false, error: "invalid_request" }, "caller_invalid"],
    [401, {}, { success: false, error: "unauthorized" }, "provider_auth_failed"],
    [402, {}, { success: false, error: "auto-recharge stopped" }, "provider_billing"],
    [429, { "retry-after": "3" }, { success: false, error: "rate" }, "provider_rate_limited"],
    [429, { "x-concurrency-limit": "10" }, { success: false, error: "concurrency" }, "provider_rate_limited"],
    [429, { "x-fastcrw-credits-available": "0" }, { success: false, error: "credits" }, "provider_billing"],
    [503, {}, { success: false, error: "search_disabled" }, "provider_overloaded"],
    [504, {}, { success: false, error: "timeout" }, "provider_timeout"],
  ])("%d %j %j is %s", (status, headers, body, verdict) => {
    expect(crw.means("search", { status, headers, body }).verdict).toBe(verdict);
  });
});
