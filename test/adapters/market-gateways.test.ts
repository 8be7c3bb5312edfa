// Vendors of market and register data with tables of endpoints: CoinGecko, Nansen, Allium, Strale.
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import type { EndpointTable } from "../../src/catalog/endpoint-table.ts";
import { wire } from "../support/adapter-wire.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";

const allium = await wire("allium");
const strale = await wire("strale");

async function tableOf(id: string): Promise<EndpointTable> {
  return JSON.parse(await readFile(`adapters/${id}.json`, "utf8")) as EndpointTable;
}

describe("CoinGecko", () => {
  it("is configured without a key", async () => {
    const adapters = (await shippedCatalog({ sandboxOrigin: null })).adapters({ sandbox: false });
    expect(adapters.get("coingecko")?.configured).toBe(true);
    expect(adapters.get("nansen")?.configured).toBe(false);
  });
});

describe("Allium", () => {
  it("costs what the vendor lists, and sells no queries: whose they are nobody could tell", async () => {
    expect(allium.quote("fetch", { endpoint: "wallet/pnl", chain: "a", address: "b" })).toBe(3);
    expect(allium.quote("fetch", { endpoint: "prices/stats", chain: "a", token_address: "b" })).toBe(2);
    expect(Object.keys(await tableOf("allium")).filter((name) => name.includes("explorer"))).toEqual([]);
    expect(allium.refuses("fetch", { endpoint: "wallet/pnl", chain: "a", address: ["b", "c"] })).toEqual(["address"]);
  });
});

describe("Strale", () => {
  it("costs 3 cents to $1.19, never less than the vendor takes", async () => {
    const rows = Object.entries(await tableOf("strale"));
    expect(rows.length).toBeGreaterThan(90);
    for (const [name, { cents = 0, upstreamCents = 0, fixed }] of rows) {
      expect(cents, name).toBeGreaterThanOrEqual(3);
      expect(cents, name).toBeLessThanOrEqual(119);
      expect(upstreamCents, name).toBeLessThanOrEqual(cents);
      expect(fixed?.capability_slug).toBe(name);
    }
    expect(strale.quote("check", { endpoint: "sanctions-check", name: "a" })).toBe(22);
  });
});
