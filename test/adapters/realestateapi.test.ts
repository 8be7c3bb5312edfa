// Calls to RealEstateAPI: the request of each action, its cost by number of results, and how answers are interpreted.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";

const realestate = await wire("realestateapi");
const address = "6806 19th Rd N, Arlington, VA 22205";
const host = "https://api.realestateapi.com";

describe("property-search", () => {
  it("sends the contract's params under their own names, with our key and always a size", () => {
    const sent = realestate.send("property-search", { zip: "22205", beds_min: 3, absentee_owner: true });
    expect(sent).toMatchObject({ method: "POST", url: `${host}/v2/PropertySearch` });
    expect(sent.headers["x-api-key"]).toBe("key-of-ours");
    expect(sent.body).toEqual({
      zip: "22205",
      beds_min: 3,
      absentee_owner: true,
      count: false,
      summary: false,
      ids_only: false,
      size: 5,
    });
  });

  it.each([
    [{}, 80],
    [{ size: 1 }, 20],
    [{ size: 25 }, 380],
    [{ count: true }, 2],
    [{ summary: true, size: 25 }, 2],
    [{ ids_only: true }, 2],
  ])("of %j costs at most %d cents", (more, cents) => {
    const params = { zip: "22205", ...more };
    expect(realestate.quote("property-search", params)).toBe(cents);
    expect(realestate.upstreamCents("property-search", params)).toBeLessThanOrEqual(cents);
  });

  it("asks for as few records as can be beside a summary: they are not sold", () => {
    expect(realestate.send("property-search", { zip: "22205", summary: true, size: 25 }).body).toMatchObject({
      size: 1,
    });
  });

  it.each([
    { state: "VA", city: "Arlington" },
    { zip: ["22205", "22207"] },
    { address },
    { latitude: 38.8, longitude: -77.1, radius: 5 },
    { polygon: [0, 1, 2, 0].map((n) => ({ lat: 38.8 + n, lon: -77.1 })) },
  ])("takes %j for a place", (params) => expect(realestate.refuses("property-search", params)).toEqual([]));

  it.each([
    [{}, "state"],
    [{ city: "Arlington" }, "state"],
    [{ latitude: 38.8, longitude: -77.1 }, "state"],
    [{ zip: "2220" }, "zip"],
    [{ zip: "22205", size: 26 }, "size"],
    [{ zip: "22205", beds_min: "3" }, "beds_min"],
    [{ zip: "22205", last_sale_date_min: "2026" }, "last_sale_date_min"],
    [{ zip: "22205", obfuscate: true }, "obfuscate"],
    [{ zip: "22205", constructor: 1 }, "constructor"],
  ])("refuses %j, naming %s", (params, field) => {
    expect(realestate.refuses("property-search", params)).toContain(field);
  });
});

describe("what is counted", () => {
  it("is 5 cents and 15 for each record or sale that was found", () => {
    expect(realestate.actions["property-search"]?.price.counted).toEqual({ at: "/data", centsEach: 15, baseCents: 5 });
    expect(realestate.actions.comps?.price.counted).toEqual({ at: "/comps", centsEach: 15, baseCents: 5 });
    expect(realestate.quote("comps", { address })).toBe(155);
    expect(realestate.quote("comps", { address, max_results: 25 })).toBe(380);
    expect(realestate.refuses("comps", { address, max_results: 26 })).toEqual(["max_results"]);
  });

  it("is 5 cents and 15 for each address that is sent to be verified, ten at most", () => {
    const of = (count: number) => ({ addresses: Array.from({ length: count }, () => ({ address })) });
    expect(realestate.quote("address-verify", of(1))).toBe(20);
    expect(realestate.quote("address-verify", of(10))).toBe(155);
    expect(realestate.refuses("address-verify", of(11))).toEqual(["addresses"]);
    expect(realestate.refuses("address-verify", of(0))).toEqual(["addresses"]);
  });
});

describe("the others", () => {
  it.each([
    ["property-detail", { id: "150461064" }, "/v2/PropertyDetail", 20],
    ["property-detail", { apn: "11-016-007", fips: "51013" }, "/v2/PropertyDetail", 20],
    ["valuation", { address, strict: true }, "/v2/PropertyAvm", 25],
    ["skiptrace", { phone: "7035550100" }, "/v1/SkipTrace", 25],
    ["autocomplete", { search: "6806 19th", search_types: ["A"] }, "/v2/AutoComplete", 1],
  ])("%s sends %j to %s for %d cents", (name, params, path, cents) => {
    const sent = realestate.send(name, params);
    expect(sent).toMatchObject({ method: "POST", url: host + path, body: params });
    expect(realestate.quote(name, params)).toBe(cents);
    expect(realestate.upstreamCents(name, params)).toBeLessThan(cents);
  });

  it("parcel has its id as a number, and asks for ten parcels of an area at most", () => {
    expect(realestate.send("parcel", { id: "150461064" }).body).toEqual({ id: 150461064, size: 10 });
    expect(realestate.quote("parcel", { address })).toBe(20);
  });

  it("gives every address to be verified a key, the caller's own where there is one", () => {
    const addresses = [{ address }, { key: "mine", street: "9 Topeka Pass", zip: "08046" }];
    expect(realestate.send("address-verify", { addresses }).body).toEqual({
      addresses: [
        { key: 1, address },
        { key: "mine", street: "9 Topeka Pass", zip: "08046" },
      ],
    });
  });

  it.each([
    ["property-detail", {}, "address"],
    ["property-detail", { city: "Arlington" }, "address"],
    ["property-detail", { id: "1; drop" }, "id"],
    ["valuation", { strict: true }, "address"],
    ["comps", { max_results: 3 }, "address"],
    ["skiptrace", { last_name: "Smith" }, "address"],
    ["skiptrace", { phone: "+17035550100" }, "phone"],
    ["address-verify", { addresses: [{ city: "Arlington" }] }, "addresses.0.address"],
    ["parcel", { latitude: 1, longitude: 2 }, "address"],
    ["autocomplete", { search: "68" }, "search"],
  ])("%s refuses %j, naming %s", (name, params, field) => {
    expect(realestate.refuses(name, params)).toEqual([field]);
  });
});

describe("what its answers mean", () => {
  it.each([
    ["property-search", 200, { data: [], resultCount: 0, statusCode: 200 }, "success"],
    ["valuation", 404, { data: {}, errorMessage: "m", statusCode: 404, statusMessage: "Not Found" }, "miss"],
    ["comps", 404, { comps: [], reason: "m", statusCode: 404 }, "miss"],
    ["autocomplete", 404, { data: [], statusCode: 404 }, "miss"],
    ["skiptrace", 200, { output: {}, match: false, statusCode: 200 }, "miss"],
    ["property-detail", 404, "<html>no such path</html>", "caller_invalid"],
    ["property-detail", 200, { data: { error: true, errorMessage: "m" } }, "caller_invalid"],
    ["property-detail", 400, { statusCode: 400, error: "Bad Request", message: "m" }, "caller_invalid"],
    ["property-detail", 401, { statusCode: 401, message: "m" }, "provider_auth_failed"],
    ["property-detail", 429, { statusCode: 429, error: "Too Many Requests", message: "m" }, "provider_rate_limited"],
    ["property-detail", 500, { statusCode: 500, message: "m" }, "provider_server_error"],
    ["property-detail", 200, "<html></html>", "provider_malformed"],
  ])("%s: %d %j is %s", (name, status, body, verdict) => {
    expect(realestate.means(name, { status, body }).verdict).toBe(verdict);
  });

  it("a miss costs nothing where one property is looked up", () => {
    const names = ["property-search", "property-detail", "valuation", "comps", "skiptrace", "parcel"];
    expect(names.filter((name) => realestate.actions[name]?.price.freeOnMiss !== true)).toEqual([]);
  });
});
