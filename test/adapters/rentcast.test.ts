// Calls to RentCast: locations, ranges as strings, and how answers are interpreted.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";

const rentcast = await wire("rentcast");
const address = "5500 Grand Lake Dr, San Antonio, TX, 78244";
const host = "https://api.rentcast.io/v1";
const lists = ["properties", "sale-listings", "rental-listings"];

describe("properties and listings", () => {
  it.each([
    [
      "properties",
      { zipCode: "78244", saleDateRange: "*:180" },
      "/properties?zipCode=78244&limit=50&saleDateRange=*%3A180",
    ],
    [
      "sale-listings",
      { zipCode: "78244", price: "*:500000" },
      "/listings/sale?zipCode=78244&limit=50&status=Active&price=*%3A500000",
    ],
    [
      "rental-listings",
      { zipCode: "78244", limit: 100, offset: 100 },
      "/listings/rental/long-term?zipCode=78244&limit=100&offset=100&status=Active",
    ],
  ])("%s sends %j", (name, params, path) => {
    const sent = rentcast.send(name, params);
    expect(sent).toMatchObject({ method: "GET", url: host + path, body: null });
    expect(sent.headers["x-api-key"]).toBe("key-of-ours");
    expect(rentcast.quote(name, params)).toBe(30);
  });

  it("says who the owner of an address is, though it has commas", () => {
    const sent = rentcast.send("properties", { address });
    expect(new URL(sent.url).searchParams.get("address")).toBe(address);
  });

  it.each(lists)("%s refuses what is nowhere, too much at once, and ranges that are none", (name) => {
    const refused = (params: Record<string, string | number>) => rentcast.refuses(name, params);
    expect(refused({})).toEqual(["address"]);
    expect(refused({ latitude: 29.4 })).toEqual(["address"]);
    expect(refused({ latitude: 29.4, longitude: -98.3, radius: 101 })).toEqual(["radius"]);
    expect(refused({ zipCode: "7824" })).toEqual(["zipCode"]);
    expect(refused({ zipCode: "78244", limit: 101 })).toEqual(["limit"]);
    expect(refused({ zipCode: "78244", bedrooms: 3 })).toEqual(["bedrooms"]);
    expect(refused({ zipCode: "78244", bedrooms: "3 or 4" })).toEqual(["bedrooms"]);
    expect(refused({ zipCode: "78244", state: "Texas" })).toEqual(["state"]);
    expect(refused({ zipCode: "78244", propertyType: "House" })).toEqual(["propertyType"]);
    expect(refused({ zipCode: "78244", status: "Sold" })).toEqual(["status"]);
  });

  it.each(["3", "2:4", "*:4", "2:*", "2|4", "1.5:2.5"])("takes %s for a range", (bedrooms) => {
    expect(rentcast.refuses("properties", { zipCode: "78244", bedrooms })).toEqual([]);
  });
});

describe("markets and estimates", () => {
  it("ask for a ZIP code, with twelve months of history", () => {
    expect(rentcast.send("market-stats", { zipCode: "29611" }).url).toBe(
      `${host}/markets?zipCode=29611&dataType=All&historyRange=12`,
    );
    expect(rentcast.quote("market-stats", { zipCode: "29611" })).toBe(30);
    expect(rentcast.refuses("market-stats", { zipCode: "2961" })).toEqual(["zipCode"]);
    expect(rentcast.refuses("market-stats", {})).toEqual(["zipCode"]);
  });

  it.each([
    ["value-estimate", "/avm/value"],
    ["rent-estimate", "/avm/rent/long-term"],
  ])("%s asks for an address or a point, for 35 cents", (name, path) => {
    const sent = rentcast.send(name, { latitude: 29.4, longitude: -98.3, bedrooms: 3 });
    expect(sent.url).toBe(`${host}${path}?latitude=29.4&longitude=-98.3&bedrooms=3&compCount=15`);
    expect(rentcast.quote(name, { address })).toBe(35);
    expect(rentcast.refuses(name, { zipCode: "78244" })).toContain("zipCode");
    expect(rentcast.refuses(name, { bedrooms: 3 })).toEqual(["address"]);
    expect(rentcast.refuses(name, { address, compCount: 26 })).toEqual(["compCount"]);
  });

  it("rent has no land", () => {
    expect(rentcast.refuses("value-estimate", { address, propertyType: "Land" })).toEqual([]);
    expect(rentcast.refuses("rent-estimate", { address, propertyType: "Land" })).toEqual(["propertyType"]);
  });
});

describe("what its answers mean", () => {
  it.each([
    ["properties", 200, [], "success"],
    ["properties", 200, [{ id: "a" }], "success"],
    ["value-estimate", 404, { status: 404, error: "resource/not-found", message: "m" }, "miss"],
    ["properties", 404, "no such page", "caller_invalid"],
    ["properties", 400, { status: 400, error: "request/invalid", message: "m" }, "caller_invalid"],
    ["properties", 401, { status: 401, error: "auth/api-key-invalid", message: "m" }, "provider_auth_failed"],
    ["properties", 401, { status: 401, error: "billing/subscription-inactive", message: "m" }, "provider_billing"],
    ["properties", 429, { status: 429, error: "auth/rate-limit-exceeded", message: "m" }, "provider_rate_limited"],
    ["properties", 504, { status: 504, error: "timeout", message: "m" }, "provider_timeout"],
    ["properties", 200, "null", "provider_malformed"],
  ])("%s: %d %j is %s", (name, status, body, verdict) => {
    expect(rentcast.means(name, { status, body }).verdict).toBe(verdict);
  });

  it("all of it costs us less than it is sold for", () => {
    for (const { price, upstreamCents } of Object.values(rentcast.actions)) {
      expect(upstreamCents).toBeLessThan(price.cents);
      expect(price.freeOnMiss).toBe(true);
    }
  });
});
