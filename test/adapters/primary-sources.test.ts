// Calls to primary sources: rows of one table with different hosts, and the various ways in which they report errors.
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import type { EndpointTable } from "../../src/catalog/endpoint-table.ts";
import { wire } from "../support/adapter-wire.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";

const sources = await wire("primary-sources");
const table = JSON.parse(await readFile("adapters/primary-sources.json", "utf8")) as EndpointTable;

describe("fetch", () => {
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
