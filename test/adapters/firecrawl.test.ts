// Calls to Firecrawl: the requests of a page, a crawl and an extraction, and how answers are interpreted.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";

const firecrawl = await wire("firecrawl");
const page = "https://a.example/docs";

describe("scrape", () => {
  it("sends the page with the contract's params and our key", () => {
    const sent = firecrawl.send("scrape", {
      url: page,
      formats: ["html", "links"],
      onlyMainContent: false,
      waitFor: 500,
    });
    expect(sent).toMatchObject({ method: "POST", url: "https://api.firecrawl.dev/v2/scrape" });
    expect(sent.headers.authorization).toBe("Bearer key-of-ours");
    expect(sent.body).toMatchObject({ url: page, formats: ["html", "links"], onlyMainContent: false, waitFor: 500 });
  });

  it("asks for markdown of the main content, and reads ten pages of a PDF at most", () => {
    const { body } = firecrawl.send("scrape", { url: page });
    expect(body).toMatchObject({ formats: ["markdown"], onlyMainContent: true, waitFor: 0 });
    expect(body).toMatchObject({ parsers: [{ type: "pdf", maxPages: 10 }] });
  });

  it.each([
    [{}, "url"],
    [{ url: "a.example" }, "url"],
    [{ url: "ftp://a.example/" }, "url"],
    [{ url: page, formats: [] }, "formats"],
    [{ url: page, formats: ["json"] }, "jsonSchema"],
    [{ url: page, formats: ["pdf"] }, "formats.0"],
    [{ url: page, waitFor: 60_001 }, "waitFor"],
    [{ url: page, parsers: ["pdf"] }, "parsers"],
    [{ url: page, proxy: "enhanced" }, "proxy"],
  ])("refuses %j, naming %s", (params, field) => {
    expect(firecrawl.refuses("scrape", params)).toEqual([field]);
  });

  it.each(["https://x.com/a", "https://mobile.twitter.com/a", "https://www.linkedin.com/in/a"])(
    "refuses %s, which costs thirty times as much",
    (url) => expect(firecrawl.refuses("scrape", { url })).toEqual(["url"]),
  );

  it("takes hosts that only end like those", () => {
    expect(firecrawl.refuses("scrape", { url: "https://netflix.com/" })).toEqual([]);
  });

  it("does not charge for a page that answered with an error, and passes it on", () => {
    const body = { success: true, data: { markdown: "Not Found", metadata: { statusCode: 404 } } };
    expect(firecrawl.means("scrape", { body })).toMatchObject({ verdict: "miss", data: body });
    const good = { success: true, data: { markdown: "# A", metadata: { statusCode: 200 } } };
    expect(firecrawl.means("scrape", { body: good }).verdict).toBe("success");
    expect(firecrawl.actions.scrape?.price.freeOnMiss).toBe(true);
  });
});

describe("what a page is, in its words (M4)", () => {
  const words = (code: string) => ({ success: false, code, error: "about the page" });

  it("takes a name without an address for a miss, which is free", () => {
    const verdict = firecrawl.means("scrape", { body: words("SCRAPE_DNS_RESOLUTION_ERROR") }).verdict;
    expect(verdict).toBe("miss");
    expect(firecrawl.means("unblock", { status: 500, body: words("SCRAPE_DNS_RESOLUTION_ERROR") }).verdict).toBe(
      "miss",
    );
  });

  it.each([
    [500, words("SCRAPE_ALL_ENGINES_FAILED")],
    [500, words("SCRAPE_SITE_ERROR")],
    [500, words("SCRAPE_SSL_ERROR")],
    [408, words("SCRAPE_TIMEOUT")],
    [500, words("SCRAPE_UNSUPPORTED_FILE_ERROR")],
    [403, { success: false, error: "We apologize for the inconvenience but we do not support this site." }],
    [403, { success: false, error: "This website is not supported." }],
  ])("%d %j lets the next scraper try, and leaves this one as well as it was", (status, body) => {
    expect(firecrawl.means("scrape", { status, body }).verdict).toBe("caller_unsupported");
    expect(firecrawl.means("unblock", { status, body }).verdict).toBe("caller_unsupported");
  });

  it("still believes a 403 and a 500 without such words to be its own", () => {
    expect(firecrawl.means("scrape", { status: 403, body: { error: "Forbidden" } }).verdict).toBe(
      "provider_auth_failed",
    );
    expect(firecrawl.means("scrape", { status: 500, body: { error: "An error" } }).verdict).toBe(
      "provider_server_error",
    );
  });
});

describe("what is price-neutral rides (vendors minor)", () => {
  it("of a scrape: json by a schema, with fewer pages of a PDF; tags, place and age", () => {
    const more = { includeTags: ["main"], excludeTags: ["nav"], location: { country: "DE" }, maxAge: 0 };
    const { body } = firecrawl.send("scrape", {
      url: page,
      formats: ["json"],
      jsonSchema: { type: "object" },
      ...more,
    });
    expect(body).toMatchObject({ formats: [{ type: "json", schema: { type: "object" } }], ...more });
    expect(body).toMatchObject({ parsers: [{ type: "pdf", maxPages: 6 }] });
    expect(body).not.toHaveProperty("jsonSchema");
  });

  it("of a search and of a map: source, age and place; a limit", () => {
    const more = { sources: ["news"], tbs: "qdr:w", location: "Germany" };
    expect(firecrawl.send("search", { query: "q", ...more }).body).toMatchObject(more);
    expect(firecrawl.refuses("search", { query: "q", sources: ["web", "news"] })).toEqual(["sources"]);
    expect(firecrawl.send("map", { url: page, limit: 20 }).body).toEqual({ url: page, limit: 20 });
  });
});

describe("crawl", () => {
  it("sends the depth under the vendor's name, and reads one page of a PDF", () => {
    const sent = firecrawl.send("crawl", { url: page, limit: 25, maxDepth: 3, includePaths: ["docs/.*"] });
    expect(sent.url).toBe("https://api.firecrawl.dev/v2/crawl");
    expect(sent.body).toEqual({
      url: page,
      limit: 25,
      maxDiscoveryDepth: 3,
      includePaths: ["docs/.*"],
      scrapeOptions: { parsers: [{ type: "pdf", maxPages: 1 }], proxy: "basic" },
    });
  });

  it("always has a limit, and costs a cent up to ten pages", () => {
    expect(firecrawl.send("crawl", { url: page }).body).toMatchObject({ limit: 10 });
    expect(firecrawl.quote("crawl", { url: page })).toBe(1);
    expect(firecrawl.quote("crawl", { url: page, limit: 3 })).toBe(1);
    expect(firecrawl.quote("crawl", { url: page, limit: 1_000 })).toBe(100);
    expect(firecrawl.refuses("crawl", { url: page, limit: 1_001 })).toEqual(["limit"]);
    expect(firecrawl.upstreamCents("crawl", { url: page, limit: 250 })).toBeCloseTo(25);
  });

  it("gives its id to the caller alone, who polls with it", () => {
    expect(firecrawl.actions.crawl?.issues).toMatchObject([{ kind: "crawl", at: "/id" }]);
    expect(firecrawl.actions["crawl-status"]?.requires).toEqual([{ kind: "crawl", param: "id" }]);
    const sent = firecrawl.send("crawl-status", { id: "a/b", skip: 20 });
    expect(sent).toMatchObject({ method: "GET", url: "https://api.firecrawl.dev/v2/crawl/a%2Fb?skip=20", body: null });
  });

  it.each([
    ["scraping", "success"],
    ["completed", "success"],
    ["failed", "miss"],
    ["cancelled", "miss"],
  ])("a poll of a job that is %s is a %s", (status, verdict) => {
    expect(firecrawl.means("crawl-status", { body: { status, data: [] } }).verdict).toBe(verdict);
  });
});

describe("map and search", () => {
  it("send the contract's params", () => {
    expect(firecrawl.send("map", { url: page }).body).toEqual({ url: page });
    const sent = firecrawl.send("search", { query: "tides", limit: 20 });
    expect(sent.url).toBe("https://api.firecrawl.dev/v2/search");
    expect(sent.body).toEqual({ query: "tides", limit: 20 });
  });

  it("bound the results so that a search costs less than it is sold for", () => {
    expect(firecrawl.refuses("search", { query: "q", limit: 51 })).toEqual(["limit"]);
    expect(firecrawl.refuses("search", { query: "q", scrapeOptions: {} })).toEqual(["scrapeOptions"]);
    expect(firecrawl.refuses("search", { query: "x".repeat(501) })).toEqual(["query"]);
    expect(firecrawl.upstreamCents("search", { query: "q", limit: 50 })).toBeCloseTo(1);
  });
});

describe("extract", () => {
  it("outlives the vendor's /extract: a batch of the named pages, each read by a model, two for a cent (M4)", () => {
    const urls = [page, "https://b.example/"];
    const sent = firecrawl.send("extract", { urls, prompt: "names", schema: { type: "object" } });
    expect(sent.url).toBe("https://api.firecrawl.dev/v2/batch/scrape");
    expect(sent.body).toEqual({
      urls,
      formats: [{ type: "json", prompt: "names", schema: { type: "object" } }],
      proxy: "basic",
      parsers: [{ type: "pdf", maxPages: 1 }],
    });
    const poll = firecrawl.send("extract-status", { id: "9f2c" });
    expect(poll.url).toBe("https://api.firecrawl.dev/v2/batch/scrape/9f2c");
  });

  it("reads as much of PDFs as its price has room for, and never costs more", () => {
    const told = Array.from({ length: 10 }, (_, at) => {
      const params = { urls: Array(at + 1).fill(page), prompt: "names" };
      const [{ maxPages }] = (firecrawl.send("extract", params).body as { parsers: [{ maxPages: number }] }).parsers;
      const cents = firecrawl.quote("extract", params);
      expect(firecrawl.upstreamCents("extract", params)).toBeLessThanOrEqual(cents + 1e-9);
      return [cents, maxPages];
    });
    expect(told.slice(0, 4)).toEqual([
      [1, 6],
      [1, 1],
      [2, 2],
      [2, 1],
    ]);
    expect(told.at(-1)).toEqual([5, 1]);
  });

  it.each([
    [{ urls: [page] }, "prompt"],
    [{ prompt: "names" }, "urls"],
    [{ urls: [], prompt: "names" }, "urls"],
    [{ urls: ["https://a.example/*"], prompt: "names" }, "urls.0"],
    [{ urls: [page], prompt: "names", enableWebSearch: true }, "enableWebSearch"],
  ])("refuses %j, naming %s", (params, field) => {
    expect(firecrawl.refuses("extract", params)).toEqual([field]);
  });

  it("takes a job that failed for an answer that is free, though it says success is false", () => {
    const body = { success: false, status: "failed", error: "no pages" };
    expect(firecrawl.means("extract-status", { body })).toMatchObject({ verdict: "miss", data: body });
  });
});

describe("what its answers mean", () => {
  it.each([
    [200, { success: false, error: "SCRAPE_TIMEOUT" }, "provider_server_error"],
    [400, { success: false, error: "Invalid URL" }, "caller_invalid"],
    [401, { success: false, error: "Unauthorized: Invalid token" }, "provider_auth_failed"],
    [402, { success: false, error: "Insufficient credits" }, "provider_billing"],
    [408, { success: false, error: "Request timed out" }, "provider_timeout"],
    [429, { error: "Rate limit exceeded" }, "provider_rate_limited"],
    [500, { success: false, error: "An error" }, "provider_server_error"],
    [200, "<html>Bad gateway</html>", "provider_malformed"],
  ])("%d %j is %s", (status, body, verdict) => {
    expect(firecrawl.means("map", { status, body }).verdict).toBe(verdict);
  });

  it("a job that is not there is the caller's 404", () => {
    const body = { success: false, error: "Job not found" };
    expect(firecrawl.means("crawl-status", { status: 404, body }).verdict).toBe("caller_invalid");
  });
});
