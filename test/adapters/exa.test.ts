// Calls to Exa: the request for the contract's params, its cost, and how answers are interpreted.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";

const exa = await wire("exa");
const urls = (count: number) => Array.from({ length: count }, (_, at) => `https://a.example/${at}`);

describe("search", () => {
  it("sends the contract's params under the vendor's names, with the key in its own header", () => {
    const sent = exa.send("search", {
      query: "tides",
      numResults: 25,
      contents: { text: true },
      start_published_date: "2026-01-01",
      end_published_date: "2026-02-01T00:00:00Z",
      include_domains: ["a.example"],
      exclude_domains: ["b.example"],
    });
    expect(sent).toMatchObject({ method: "POST", url: "https://api.exa.ai/search" });
    expect(sent.headers).toMatchObject({ "x-api-key": "key-of-ours", "content-type": "application/json" });
    expect(sent.headers).not.toHaveProperty("authorization");
    expect(sent.body).toEqual({
      query: "tides",
      type: "auto",
      numResults: 25,
      contents: { text: true },
      startPublishedDate: "2026-01-01",
      endPublishedDate: "2026-02-01T00:00:00Z",
      includeDomains: ["a.example"],
      excludeDomains: ["b.example"],
    });
  });

  it("takes summaries at another tenth of a cent each, and where the caller is", () => {
    const asked = {
      query: "q",
      contents: { text: true, summary: true },
      userLocation: "DE",
      category: "personal site",
    };
    const { body } = exa.send("search", asked);
    expect(body).toMatchObject({
      contents: { text: true, summary: {} },
      userLocation: "DE",
      category: "personal site",
    });
    expect([exa.quote("search", asked), exa.upstreamCents("search", asked)]).toEqual([2, 1.7]);
    expect(exa.quote("search", { ...asked, numResults: 100, type: "deep-reasoning" })).toBe(21);
  });

  it("takes the vendor's own spelling as well, but not both at once", () => {
    const { body } = exa.send("search", {
      query: "q",
      startPublishedDate: "2026-01-01",
      includeDomains: ["a.example"],
    });
    expect(body).toMatchObject({ startPublishedDate: "2026-01-01", includeDomains: ["a.example"] });
    const twice = { query: "q", include_domains: ["a.example"], includeDomains: ["a.example"] };
    expect(exa.refuses("search", twice)).toEqual(["include_domains"]);
  });

  it("says what the vendor has renamed: research papers, and keyword search", () => {
    const { body } = exa.send("search", { query: "q", category: "research", type: "keyword" });
    expect(body).toMatchObject({ category: "publication", type: "auto" });
    expect(exa.send("search", { query: "q", category: "research paper" }).body).toMatchObject({
      category: "publication",
    });
  });

  it("looks for code where it is, because the vendor has no kind for it any more", () => {
    const { body } = exa.send("search", { query: "q", category: "github" });
    expect(body).toMatchObject({ includeDomains: ["github.com"] });
    expect(body).not.toHaveProperty("category");
    const own = exa.send("search", { query: "q", category: "github", include_domains: ["gitlab.com"] });
    expect(own.body).toMatchObject({ includeDomains: ["gitlab.com"] });
  });

  it.each(["auto", "neural", "keyword", "deep-lite", "deep", "deep-reasoning"])("takes type %s", (type) => {
    expect(exa.refuses("search", { query: "q", type })).toEqual([]);
  });

  it.each(["news", "research", "github", "people", "company"])("takes category %s", (category) => {
    expect(exa.refuses("search", { query: "q", category })).toEqual([]);
  });

  it("refuses dates and excluded domains for people and companies, in either spelling", () => {
    const from = { start_published_date: "2026-01-01", exclude_domains: ["a.example"] };
    const filters = { ...from, endPublishedDate: "2026-01-01" };
    for (const category of ["people", "company"]) {
      expect(exa.refuses("search", { query: "q", category, ...filters })).toEqual(Object.keys(filters));
    }
    expect(exa.refuses("search", { query: "q", category: "news", ...filters })).toEqual([]);
    expect(exa.refuses("search", { query: "q", category: "people", include_domains: ["linkedin.com"] })).toEqual([]);
  });

  it.each([
    [{}, "query"],
    [{ query: "" }, "query"],
    [{ query: "q", numResults: 101 }, "numResults"],
    [{ query: "q", numResults: 0 }, "numResults"],
    [{ query: "q", type: "magic" }, "type"],
    [{ query: "q", start_published_date: "last week" }, "start_published_date"],
    [{ query: "q", contents: { subpages: 5 } }, "contents.subpages"],
    [{ query: "q", userLocation: "Germany" }, "userLocation"],
    [{ query: "q", stream: true }, "stream"],
  ])("refuses %j, naming %s", (params, field) => {
    expect(exa.refuses("search", params)).toEqual([field]);
  });

  it.each([
    [{}, 1, 0.7],
    [{ numResults: 13 }, 1, 1],
    [{ numResults: 25 }, 3, 2.2],
    [{ numResults: 100 }, 10, 9.7],
    [{ type: "deep" }, 2, 1.2],
    [{ type: "deep-reasoning", numResults: 100 }, 11, 10.5],
  ])("%j costs %d cents, and us %d", (params, cents, ours) => {
    expect(exa.quote("search", { query: "q", ...params })).toBe(cents);
    expect(exa.upstreamCents("search", { query: "q", ...params })).toBe(ours);
  });

  it("is charged when nothing is found", () => {
    expect(exa.means("search", { body: { requestId: "r", results: [] } }).verdict).toBe("success");
  });
});

describe("contents", () => {
  it("sends urls and ids as one list, and the fields beside it", () => {
    const sent = exa.send("contents", { urls: ["https://a.example/"], ids: ["b"], summary: { query: "why" } });
    expect(sent).toMatchObject({ method: "POST", url: "https://api.exa.ai/contents" });
    expect(sent.body).toEqual({ urls: ["https://a.example/", "b"], summary: { query: "why" } });
    expect(exa.send("contents", { ids: ["b"], text: true }).body).toEqual({ urls: ["b"], text: true });
  });

  it.each([
    [1, { text: true }, 1, 0.1],
    [10, { text: true }, 1, 1],
    [11, { text: true }, 2, 1.1],
    [10, { text: true, highlights: true, summary: {} }, 3, 3],
    [10, { text: true, highlights: false }, 1, 1],
    [20, {}, 2, 2],
  ])("%d pages with %j cost %d cents, and us %d", (count, fields, cents, ours) => {
    expect(exa.quote("contents", { urls: urls(count), ...fields })).toBe(cents);
    expect(exa.upstreamCents("contents", { urls: urls(count), ...fields })).toBeCloseTo(ours);
  });

  it.each([
    [{}, "urls"],
    [{ urls: [] }, "urls"],
    [{ urls: ["ftp://a.example"] }, "urls.0"],
    [{ urls: urls(1), subpages: 3 }, "subpages"],
  ])("refuses %j, naming %s", (params, field) => {
    expect(exa.refuses("contents", params)).toEqual([field]);
  });

  it("takes up to a hundred pages of a kind", () => {
    expect(exa.refuses("contents", { urls: urls(100) })).toEqual([]);
    expect(exa.refuses("contents", { urls: urls(101) })).toEqual(["urls"]);
  });

  it("is a failure that costs nothing when no page could be fetched, and a success when one could", () => {
    const bad = { id: "https://a.example", status: "error", error: { tag: "CRAWL_NOT_FOUND", httpStatusCode: 404 } };
    const good = { id: "https://b.example", status: "success", error: null };
    expect(exa.means("contents", { body: { results: [], statuses: [bad, bad] } }).verdict).toBe("caller_unsupported");
    expect(exa.means("contents", { body: { results: [{}], statuses: [bad, good] } }).verdict).toBe("success");
  });
});

describe("answer", () => {
  it("sends the question for one cent", () => {
    const sent = exa.send("answer", { query: "Why tides?" });
    expect(sent).toMatchObject({ url: "https://api.exa.ai/answer", body: { query: "Why tides?" } });
    expect(exa.quote("answer", { query: "Why tides?" })).toBe(1);
    expect(exa.refuses("answer", { query: "q", stream: true })).toEqual(["stream"]);
  });
});

it.each([
  [400, { error: "Invalid", tag: "INVALID_REQUEST_BODY" }, "caller_invalid"],
  [401, { error: "Bad key" }, "provider_auth_failed"],
  [402, { error: "No credits", tag: "NO_MORE_CREDITS" }, "provider_billing"],
  [403, { error: "Not in plan" }, "provider_auth_failed"],
  [422, { error: "Cannot be processed" }, "caller_invalid"],
  [429, { error: "rate limit exceeded" }, "provider_rate_limited"],
  [500, { error: "Oops" }, "provider_server_error"],
  [503, "busy", "provider_overloaded"],
  [200, "<html>", "provider_malformed"],
])("%d %j means %s", (status, body, verdict) => {
  for (const action of Object.keys(exa.actions)) expect(exa.means(action, { status, body }).verdict).toBe(verdict);
});
