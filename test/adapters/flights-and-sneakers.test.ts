// Calls to AviationStack and KicksDB, both for a fraction of a cent.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";

const aviationstack = await wire("aviationstack");
const kicksdb = await wire("kicksdb");
const shop = "https://api.kicks.dev/v3";

describe("AviationStack", () => {
  it("asks for a flight, with our key in the query", () => {
    const sent = aviationstack.send("flights", { flight_iata: "BA117", date: "2026-11-22" });
    expect(sent).toMatchObject({ method: "GET", body: null });
    const { searchParams, pathname } = new URL(sent.url);
    expect(pathname).toBe("/v1/flights");
    expect(Object.fromEntries(searchParams)).toEqual({
      flight_iata: "BA117",
      flight_date: "2026-11-22",
      limit: "10",
      access_key: "key-of-ours",
    });
    expect(aviationstack.quote("flights", { flight_iata: "BA117" })).toBe(0.5);
  });

  it.each([
    [{}, "flight_iata"],
    [{ date: "2026-11-22" }, "flight_iata"],
    [{ flight_iata: "BA 117" }, "flight_iata"],
    [{ dep_iata: "London" }, "dep_iata"],
    [{ dep_iata: "LHR", date: "22.11.2026" }, "date"],
    [{ dep_iata: "LHR", limit: 101 }, "limit"],
    [{ dep_iata: "LHR", access_key: "mine" }, "access_key"],
  ])("refuses %j, naming %s", (params, field) => expect(aviationstack.refuses("flights", params)).toContain(field));

  it.each([
    [200, { pagination: {}, data: [] }, "success"],
    [401, { error: { code: "invalid_access_key", message: "m" } }, "provider_auth_failed"],
    [403, { error: { code: "function_access_restricted", message: "m" } }, "provider_billing"],
    [429, { error: { code: "usage_limit_reached", message: "m" } }, "provider_billing"],
    [429, { error: { code: "rate_limit_reached", message: "m" } }, "provider_rate_limited"],
    [200, { error: { code: "internal_error", message: "m" } }, "provider_server_error"],
  ])("%d %j is %s", (status, body, verdict) =>
    expect(aviationstack.means("flights", { status, body }).verdict).toBe(verdict),
  );
});

describe("KicksDB", () => {
  it.each([
    [
      "search",
      { query: "dunk", display: ["prices", "traits"] },
      "/stockx/products?display%5Bprices%5D=true&display%5Btraits%5D=true&limit=20&market=US&query=dunk",
    ],
    ["product", { id: "a/b", shop: "goat" }, "/goat/products/a%2Fb?market=US"],
    ["sales", { id: "dunk", daily: true }, "/stockx/products/dunk/sales/daily?limit=20&market=US"],
    ["match", { id: "DD1391-100", similarity: 0.9 }, "/unified/products/DD1391-100?market=US&similarity=0.9"],
  ])("%s sends %j", (name, params, path) => {
    const sent = kicksdb.send(name, params);
    const url = new URL(sent.url);
    url.searchParams.sort();
    expect(url.href).toBe(shop + path);
    expect(sent.headers.authorization).toBe("key-of-ours");
    expect(kicksdb.quote(name, params)).toBe(0.05);
  });

  it("asks for the prices of SKUs or of ids", () => {
    const sent = kicksdb.send("prices", { skus: ["DD1391-100"], market: "DE" });
    expect(sent).toMatchObject({
      method: "POST",
      url: `${shop}/stockx/prices`,
      body: { skus: ["DD1391-100"], market: "DE" },
    });
  });

  it.each([
    ["search", {}, "query"],
    ["search", { query: "a", limit: 101 }, "limit"],
    ["search", { query: "a", shop: "ebay" }, "shop"],
    ["product", {}, "id"],
    ["prices", {}, "skus"],
    ["prices", { skus: ["a"], product_ids: ["b"] }, "skus"],
    ["match", { id: "a", similarity: 2 }, "similarity"],
  ])("%s refuses %j, naming %s", (name, params, field) => expect(kicksdb.refuses(name, params)).toEqual([field]));

  it.each([
    [404, { title: "Not Found", status: 404, detail: "m" }, "caller_invalid"],
    [422, { title: "Unprocessable", status: 422, errors: [{ location: "query.limit" }] }, "caller_invalid"],
    [429, { title: "Too Many Requests", status: 429 }, "provider_rate_limited"],
  ])("%d %j is %s", (status, body, verdict) => expect(kicksdb.means("search", { status, body }).verdict).toBe(verdict));
});
