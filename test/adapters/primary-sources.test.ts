// Calls to primary sources: rows of one table with different hosts, and the various ways in which they report errors.
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import type { EndpointTable } from "../../src/catalog/endpoint-table.ts";
import { wire } from "../support/adapter-wire.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";

const sources = await wire("primary-sources");
const table = JSON.parse(await readFile("adapters/primary-sources.json", "utf8")) as EndpointTable;

describe("fetch", () => {
  it.each([
    [
      { endpoint: "worldbank/indicator", country: "FR;DE", indicator: "NY.GDP.MKTP.CD", date: "2020:2024" },
      "https://api.worldbank.org/v2/country/FR%3BDE/indicator/NY.GDP.MKTP.CD?date=2020%3A2024&format=json",
    ],
    [
      { endpoint: "openfda/drug-recalls", search: 'classification:"Class I"', limit: 5 },
      "https://api.fda.gov/drug/enforcement.json?search=classification%3A%22Class+I%22&limit=5",
    ],
    [
      { endpoint: "clinicaltrials/studies", "query.cond": "asthma", pageSize: 5 },
      "https://clinicaltrials.gov/api/v2/studies?query.cond=asthma&pageSize=5&format=json",
    ],
    [
      { endpoint: "noaa/point", latitude: 39.7456, longitude: -97.0892 },
      "https://api.weather.gov/points/39.7456,-97.0892",
    ],
    [
      { endpoint: "fema/disasters", $filter: "state eq 'TX'", $top: 5 },
      "https://www.fema.gov/api/open/v2/DisasterDeclarationsSummaries?%24filter=state+eq+%27TX%27&%24top=5",
    ],
  ])("%j asks its own host", (params, url) => {
    const sent = sources.send("fetch", params);
    expect(sent).toMatchObject({ method: "GET", url, body: null });
    expect(sent.headers["user-agent"]).toContain("ada@example.org");
    expect(sent.headers.authorization).toBeUndefined();
  });

  it("sends a row that goes by POST as JSON", () => {
    const params = { filters: { keywords: ["bridge"] }, fields: ["Award ID"], limit: 5 };
    const sent = sources.send("fetch", { endpoint: "usaspending/award-search", ...params });
    expect(sent).toMatchObject({
      method: "POST",
      url: "https://api.usaspending.gov/api/v2/search/spending_by_award/",
      body: params,
    });
  });

  it.each([
    [{}, "endpoint"],
    [{ endpoint: "fred/series" }, "endpoint"],
    [{ endpoint: "https://api.weather.gov/points" }, "endpoint"],
    [{ endpoint: "__proto__" }, "endpoint"],
    [{ endpoint: "worldbank/indicator", country: "FR" }, "indicator"],
    [{ endpoint: "noaa/point", latitude: "north", longitude: 1 }, "latitude"],
    [{ endpoint: "openfda/drug-recalls", api_key: "k" }, "api_key"],
  ])("refuses %j, naming %s", (params, field) => expect(sources.refuses("fetch", params)).toEqual([field]));

  it("lets no value leave its place in a path", () => {
    const sent = sources.send("fetch", { endpoint: "clinicaltrials/study", nctId: "../../x?y=1#z" });
    expect(sent.url).toBe("https://clinicaltrials.gov/api/v2/studies/..%2F..%2Fx%3Fy%3D1%23z?format=json");
    expect(() => sources.send("fetch", { endpoint: "clinicaltrials/study", nctId: ".." })).toThrow();
  });
});

describe("the table", () => {
  it("has a host for every row, and a price of a cent", async () => {
    const adapter = (await shippedCatalog()).adapters({ sandbox: false }).get("primary-sources");
    const hosts = Object.keys(adapter?.spec.origins ?? {});
    expect(Object.entries(table).filter(([, { origin = "" }]) => !hosts.includes(origin))).toEqual([]);
    expect([...new Set(Object.values(table).map(({ origin }) => origin))].sort()).toEqual(hosts.sort());
    expect(Object.values(table).filter(({ cents }) => cents !== undefined)).toEqual([]);
    expect(sources.quote("fetch", { endpoint: "imf/indicators" })).toBe(1);
  });

  it("knows every param that its paths name", () => {
    for (const [name, { path, params }] of Object.entries(table)) {
      for (const [, place = ""] of path.matchAll(/\{([^}]+)\}/g)) expect(params[place]?.required, name).toBe(true);
    }
  });
});

describe("what its answers mean", () => {
  it.each([
    [200, [{ page: 1 }, []], "success"],
    [200, [{ message: [{ id: "120", value: "Invalid value" }] }], "caller_invalid"],
    [200, { warning: { status: 413, label: "asynchronous" } }, "caller_invalid"],
    [200, { error: { message: "No data was found" } }, "caller_invalid"],
    [200, { esearchresult: { ERROR: "Empty term" } }, "caller_invalid"],
    [404, { error: { code: "NOT_FOUND", message: "No matches found!" } }, "miss"],
    [404, { title: "Not Found", status: 404 }, "caller_invalid"],
    [429, { error: { code: "OVER_RATE_LIMIT" } }, "provider_rate_limited"],
    [200, "<html>down for maintenance</html>", "provider_overloaded"],
    [503, "", "provider_overloaded"],
  ])("%d %j is %s", (status, body, verdict) => expect(sources.means("fetch", { status, body }).verdict).toBe(verdict));
});
