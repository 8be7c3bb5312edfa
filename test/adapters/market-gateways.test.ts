// Vendors of market and register data with tables of endpoints: CoinGecko, Nansen, Allium, Strale.
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import type { EndpointTable } from "../../src/catalog/endpoint-table.ts";
import { wire } from "../support/adapter-wire.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";

const [coingecko, nansen, allium, strale] = await Promise.all(
  ["coingecko", "nansen", "allium", "strale"].map(wire),
).then(([a, b, c, d]) => {
  if (a === undefined || b === undefined || c === undefined || d === undefined)
    throw new Error("an adapter is missing");
  return [a, b, c, d] as const;
});

async function tableOf(id: string): Promise<EndpointTable> {
  return JSON.parse(await readFile(`adapters/${id}.json`, "utf8")) as EndpointTable;
}

describe("CoinGecko", () => {
  it("sends the endpoint's params in the query, and our key where there is one", () => {
    const sent = coingecko.send("fetch", { endpoint: "simple/price", ids: "bitcoin", vs_currencies: "usd" });
    expect(sent.url).toBe("https://api.coingecko.com/api/v3/simple/price?ids=bitcoin&vs_currencies=usd");
    expect(sent.headers["x-cg-demo-api-key"]).toBe("key-of-ours");
    expect(coingecko.quote("fetch", { endpoint: "simple/price", vs_currencies: "usd" })).toBe(1);
  });

  it("is configured without a key", async () => {
    const adapters = (await shippedCatalog({ sandboxOrigin: null })).adapters({ sandbox: false });
    expect(adapters.get("coingecko")?.configured).toBe(true);
    expect(adapters.get("nansen")?.configured).toBe(false);
  });

  it("puts params into the path", () => {
    const params = { endpoint: "coins/{id}/market_chart", id: "bitcoin", vs_currency: "usd", days: 7 };
    expect(coingecko.send("fetch", params).url).toMatch(/\/coins\/bitcoin\/market_chart\?vs_currency=usd&days=7$/);
  });

  it.each([
    [{ endpoint: "simple/price" }, "vs_currencies"],
    [{ endpoint: "coins/{id}" }, "id"],
    [{ endpoint: "ping" }, "endpoint"],
    [{ endpoint: "search", query: "a", x_cg_pro_api_key: "k" }, "x_cg_pro_api_key"],
  ])("refuses %j, naming %s", (params, field) => expect(coingecko.refuses("fetch", params)).toEqual([field]));

  it.each([
    [200, { status: { error_code: 429, error_message: "m" } }, "provider_rate_limited"],
    [401, { status: { error_code: 10002, error_message: "m" } }, "provider_auth_failed"],
    [404, { error: "coin not found" }, "caller_invalid"],
    [429, { status: { error_code: 429 } }, "provider_rate_limited"],
    [200, { status: { error_code: 500 } }, "provider_server_error"],
    [200, [], "success"],
  ])("%d %j is %s", (status, body, verdict) =>
    expect(coingecko.means("fetch", { status, body }).verdict).toBe(verdict),
  );
});

describe("Nansen", () => {
  it("sends JSON with our key, at the vendor's own price", () => {
    const body = { chains: ["ethereum"], filters: { token_age_days: { max: 30 } }, order_by: [{ field: "chain" }] };
    const sent = nansen.send("fetch", { endpoint: "token-screener", ...body });
    expect(sent).toMatchObject({ method: "POST", url: "https://api.nansen.ai/api/v1/token-screener", body });
    expect(sent.headers.apikey).toBe("key-of-ours");
    expect(nansen.quote("fetch", { endpoint: "token-screener" })).toBe(1);
    expect(nansen.quote("fetch", { endpoint: "tgm/holders" })).toBe(5);
    expect(nansen.upstreamCents("fetch", { endpoint: "tgm/holders" })).toBe(5);
  });

  it("sells neither our account nor what has no price", () => {
    for (const endpoint of ["account", "/api/v1/account", "profiler/address/labels", "search/general"]) {
      expect(nansen.refuses("fetch", { endpoint })).toEqual(["endpoint"]);
    }
    expect(nansen.refuses("fetch", { endpoint: "tgm/holders", limit: "many" })).toEqual(["limit"]);
  });
});

describe("Allium", () => {
  it("makes a list of the one token or wallet that a call is for", () => {
    const token = { chain: "solana", token_address: "So111" };
    const prices = allium.send("fetch", { endpoint: "/api/v1/developer/prices", ...token });
    expect(prices).toMatchObject({ url: "https://api.allium.so/api/v1/developer/prices", body: [token] });
    expect(prices.headers["x-api-key"]).toBe("key-of-ours");
    const times = {
      start_timestamp: "2026-01-01T00:00:00Z",
      end_timestamp: "2026-01-02T00:00:00Z",
      time_granularity: "1h",
    };
    expect(allium.send("fetch", { endpoint: "prices/history", ...token, ...times }).body).toEqual({
      addresses: [token],
      ...times,
    });
    const wallet = { chain: "ethereum", address: "0xabc" };
    expect(allium.send("fetch", { endpoint: "wallet/pnl", ...wallet }).body).toEqual([wallet]);
    expect(allium.send("fetch", { endpoint: "tokens/search", q: "usdc", chain: "base" }).url).toMatch(
      /\?chain=base&q=usdc$/,
    );
  });

  it("costs what the vendor lists, and sells no queries: whose they are nobody could tell", async () => {
    expect(allium.quote("fetch", { endpoint: "wallet/pnl", chain: "a", address: "b" })).toBe(3);
    expect(allium.quote("fetch", { endpoint: "prices/stats", chain: "a", token_address: "b" })).toBe(2);
    expect(Object.keys(await tableOf("allium")).filter((name) => name.includes("explorer"))).toEqual([]);
    expect(allium.refuses("fetch", { endpoint: "wallet/pnl", chain: "a", address: ["b", "c"] })).toEqual(["address"]);
  });
});

describe("Strale", () => {
  it("sends a check's own params as its inputs, and the most that it may cost us", () => {
    const sent = strale.send("check", { endpoint: "sanctions-check", name: "Acme Trading", entity_type: "company" });
    expect(sent).toMatchObject({
      method: "POST",
      url: "https://api.strale.io/v1/do",
      body: {
        inputs: { name: "Acme Trading", entity_type: "company" },
        capability_slug: "sanctions-check",
        max_price_cents: 20,
      },
    });
    expect(sent.headers.authorization).toBe("Bearer key-of-ours");
  });

  it("lets no input name another check or a higher price", () => {
    const params = { endpoint: "vat-validate", vat_number: "SE556703748501" };
    for (const name of ["capability_slug", "max_price_cents", "inputs", "dry_run"]) {
      expect(strale.refuses("check", { ...params, [name]: "x" })).toEqual([name]);
    }
  });

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

  it.each([
    [402, { error_code: "insufficient_balance", message: "m" }, "provider_billing"],
    [402, { error_code: "budget_exceeded", message: "m" }, "provider_server_error"],
    [404, { error_code: "no_matching_capability", message: "m" }, "provider_server_error"],
    [429, { error_code: "spend_cap_exceeded", message: "m" }, "provider_billing"],
    [429, { error_code: "rate_limited", message: "m" }, "provider_rate_limited"],
    [400, { error_code: "invalid_request", message: "m" }, "caller_invalid"],
    [500, { error_code: "execution_failed", message: "m" }, "provider_server_error"],
    [503, { error_code: "timeout_exceeded", message: "m" }, "provider_timeout"],
    [503, { error_code: "capability_unavailable", message: "m" }, "provider_overloaded"],
  ])("%d %j is %s", (status, body, verdict) => expect(strale.means("check", { status, body }).verdict).toBe(verdict));
});
