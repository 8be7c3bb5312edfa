// Calls to OpenAlex: filters passed as they are, ids in every spelling, and a rate limit reported as forbidden.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";

const openalex = await wire("openalex");
const BASE = "https://api.openalex.org";

describe("lists", () => {
  it.each(["works", "authors"])("%s takes search, filter and paging as the vendor does, with our key", (action) => {
    const sent = openalex.send(action, {
      search: "graph networks",
      filter: "publication_year:2024,type:article",
      sort: "cited_by_count:desc",
      select: "id,title",
      per_page: 50,
      page: 2,
    });
    const url = new URL(sent.url);
    expect(url.origin + url.pathname).toBe(`${BASE}/${action}`);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      search: "graph networks",
      filter: "publication_year:2024,type:article",
      sort: "cited_by_count:desc",
      select: "id,title",
      per_page: "50",
      page: "2",
      api_key: "key-of-ours",
    });
  });

  it.each([
    [{ per_page: 51 }, "per_page"],
    [{ per_page: 50, page: 201 }, "page"],
    [{ page: 2, cursor: "*" }, "cursor"],
    [{ cursor: "a&api_key=b" }, "cursor"],
    [{ filter: "2024" }, "filter"],
    [{ sort: "-cited" }, "sort"],
    [{ select: "id&x" }, "select"],
    [{ search: "" }, "search"],
    [{ api_key: "mine" }, "api_key"],
  ])("refuses %j, naming %s", (params, field) => {
    expect(openalex.refuses("works", params)).toEqual([field]);
    expect(openalex.refuses("authors", params)).toEqual([field]);
  });

  it("takes the last page that can be read, and any cursor", () => {
    expect(openalex.refuses("works", { per_page: 50, page: 200 })).toEqual([]);
    expect(openalex.refuses("works", { cursor: "IlsxNjA5MzcyODAwMDAwLCAnaHR0cHM6Ly9v==" })).toEqual([]);
  });
});

describe("work", () => {
  it.each([
    ["W2741809807", "W2741809807"],
    ["https://openalex.org/W2741809807", "W2741809807"],
    ["10.7717/peerj.4375", "doi%3A10.7717%2Fpeerj.4375"],
    ["doi:10.7717/peerj.4375", "doi%3A10.7717%2Fpeerj.4375"],
    ["https://doi.org/10.7717/peerj.4375", "doi%3A10.7717%2Fpeerj.4375"],
    [
      "10.1002/(SICI)1097-0258(19980815/30)17:15<1661::AID>3.0.CO;2-2",
      "doi%3A10.1002%2F(SICI)1097-0258(19980815%2F30)17%3A15%3C1661%3A%3AAID%3E3.0.CO%3B2-2",
    ],
    ["10.1000/a?b#c", "doi%3A10.1000%2Fa%3Fb%23c"],
    ["pmid:29456894", "pmid%3A29456894"],
  ])("looks %s up", (id, segment) => {
    expect(openalex.send("work", { id }).url).toBe(`${BASE}/works/${segment}?api_key=key-of-ours`);
  });

  it.each([
    "",
    "A5048491430",
    "W1/../authors",
    "../authors",
    "10.1000/../../authors",
    "10.1000/..",
    "10.1000/a/./b",
    "https://evil.example/W1",
    "10.1000/a b",
  ])("refuses %j", (id) => {
    expect(openalex.refuses("work", { id })).toEqual(["id"]);
  });

  it("follows a work that was merged into another", () => {
    expect(openalex.actions.work?.request?.redirectsMax).toBeGreaterThanOrEqual(1);
  });
});

describe("answers and costs", () => {
  it.each([
    [400, { error: "Invalid filter", message: "Unknown filter field: author_name." }, "caller_invalid"],
    [403, { error: "Rate limit exceeded", message: "Slow down." }, "provider_rate_limited"],
    [429, { error: "Rate limit exceeded", message: "Daily limit." }, "provider_rate_limited"],
    [404, { error: "Not found", message: "Work W9999999999 not found" }, "caller_invalid"],
    [401, { error: "Unauthorized", message: "Cursor paging needs a key." }, "provider_auth_failed"],
  ])("status %i with %j means %s", (status, body, verdict) => {
    expect(openalex.means("work", { status, body }).verdict).toBe(verdict);
  });

  it("nothing found is an empty list", () => {
    expect(openalex.means("works", { body: { meta: { count: 0 }, results: [] } }).verdict).toBe("success");
  });

  it("sells for a cent what costs a tenth of one or nothing", () => {
    expect([openalex.quote("works", { search: "x" }), openalex.upstreamCents("works", { search: "x" })]).toEqual([
      1, 0.1,
    ]);
    expect([openalex.quote("work", { id: "W1" }), openalex.upstreamCents("work", { id: "W1" })]).toEqual([1, 0]);
  });
});
