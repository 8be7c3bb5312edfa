import { describe, expect, test } from "vitest";
import { descriptorOf, indexRow, rowDescriptor } from "../../../src/actions/run/descriptor.ts";
import { nearest } from "../../../src/catalog/nearest.ts";
import { inSmallCatalog } from "./small-catalog.ts";

describe("a descriptor", () => {
  test("says what the action gives, takes and costs, and how to call it", () => {
    expect(descriptorOf(inSmallCatalog("finders/search"))).toEqual({
      service: "finders",
      action: "search",
      endpoint: "/api/run/finders/search",
      method: "POST",
      description: "Finds pages.",
      category: "search",
      price: { mode: "fixed", cents: 0.3, free_on_miss: true },
      params: {
        type: "object",
        properties: {
          q: { type: "string", minLength: 1, description: "What to look for" },
          count: { type: "integer", minimum: 1, maximum: 20, default: 10 },
          page: { type: "integer" },
          since: { type: "string", format: "date" },
        },
        required: ["q"],
        additionalProperties: false,
      },
      example: { q: "tolls" },
      status: "available",
      sandbox: true,
      effect: "read",
      payable_by: ["balance"],
    });
  });

  test("of a ranged price has the least and the most, what one counts, and what two calls cost", () => {
    expect(descriptorOf(inSmallCatalog("finders/profiles")).price).toEqual({
      mode: "ranged",
      min_cents: 1,
      max_cents: 25,
      unit: "profile",
      free_on_miss: false,
      examples: [
        { params: {}, cents: 5 },
        { params: { page_size: 25 }, cents: 25 },
      ],
    });
  });

  test("of a capped price has its cap; of a retiring action the days", () => {
    const { price, effect, deprecated } = descriptorOf(inSmallCatalog("finders/order"));
    expect(price).toEqual({ mode: "capped", min_cents: 0, max_cents: 100, free_on_miss: false });
    expect(effect).toBe("write");
    expect(deprecated).toEqual({ announced: "2026-10-01", sunset: "2027-02-01", successor: "/api/run/finders/search" });
  });

  test("says why nobody serves it", () => {
    const { status, status_note } = descriptorOf(inSmallCatalog("clips/fetch"));
    expect(status).toBe("not_configured");
    expect(status_note).toBe("It is paid by a way that does not exist yet.");
  });

  test("of an action with a table counts the endpoints that go by its method and says how to read of one", () => {
    const { params, table } = descriptorOf(inSmallCatalog("clips/fetch"));
    expect(params).toMatchObject({ properties: { endpoint: { type: "string" } }, required: ["endpoint"] });
    expect(table).toMatchObject({ param: "endpoint", count: 2 });
    expect(table?.note).toContain("GET /api/run/clips/fetch?endpoint=");
  });

  test("is made once", () => {
    expect(descriptorOf(inSmallCatalog("finders/search"))).toBe(descriptorOf(inSmallCatalog("finders/search")));
  });
});

describe("the descriptor of a row of a table", () => {
  test("has the row's own params, and the action's price where the row has none", () => {
    const row = rowDescriptor(inSmallCatalog("clips/fetch"), "/v1/clips/comments");
    expect(row).toMatchObject({
      endpoint: "/api/run/clips/fetch",
      description: "Comments under a clip",
      price: { mode: "fixed", cents: 30 },
      params: {
        properties: {
          endpoint: { const: "/v1/clips/comments" },
          clip_id: { type: ["string", "number"], description: "Which clip" },
          count: { type: ["integer", "string", "null"], pattern: "^-?\\d{1,15}$", default: 20 },
        },
        required: ["endpoint", "clip_id"],
        additionalProperties: false,
      },
    });
    expect(Object.keys(row?.example ?? {})).toEqual(["endpoint", "clip_id"]);
    expect(row?.table).toBeUndefined();
  });

  test("is priced by what it counts", () => {
    expect(rowDescriptor(inSmallCatalog("clips/fetch"), "/v1/clips/download")?.price).toEqual({
      mode: "ranged",
      min_cents: 0.5,
      max_cents: 30,
      unit: "second",
      free_on_miss: false,
    });
  });

  test.each(["/v1/clips/publish", "/v1/none", "__proto__", "constructor"])("is not there for %s", (name) => {
    expect(rowDescriptor(inSmallCatalog("clips/fetch"), name)).toBeNull();
  });
});

test("a row of the index is enough to choose by", () => {
  expect(indexRow(inSmallCatalog("finders/search"))).toEqual({
    service: "finders",
    action: "search",
    endpoint: "/api/run/finders/search",
    description: "Finds pages.",
    category: "search",
    price_cents: 0.3,
    price_min_cents: 0.3,
    price_mode: "fixed",
    required_params: ["q"],
    optional_params: ["count", "page", "since"],
    effect: "read",
    status: "available",
    sandbox: true,
  });
});

describe("the nearest names", () => {
  const names = ["finders/search", "finders/profiles", "clips/fetch", "records/filings"];

  test.each([
    ["finders/serach", "finders/search"],
    ["finder/search", "finders/search"],
    ["clips/fetched", "clips/fetch"],
    ["record/filing", "records/filings"],
  ])("to %s begin with %s", (asked, first) => {
    expect(nearest(asked, names)[0]).toBe(first);
  });

  test("are none where nothing is like it", () => {
    expect(nearest("zzz/qqq", names)).toEqual([]);
  });
});
