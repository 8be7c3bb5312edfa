// Merchants that take no key but a payment for each call: listed with their prices, and nobody can call them yet.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";

const govlaws = await wire("govlaws");
const data = ["apex-db", "rxatlas", "trialbase-db", "recallradar"];

it("lists every action of every one of them as not configured, and says what it waits for", async () => {
  const catalog = await shippedCatalog({ contact: "a b@c.org" });
  const ids = [
    ...["search", "resolve"].map((name) => `govlaws/${name}`),
    ...data.flatMap((id) => [`${id}/search`, `${id}/get`]),
  ];
  for (const id of ids) {
    expect(catalog.action(id, { sandbox: false })).toMatchObject({ configured: false });
    expect(catalog.action(id, { sandbox: true })).toMatchObject({ configured: true });
  }
  for (const id of ["govlaws", ...data]) {
    expect(catalog.adapters({ sandbox: false }).get(id)?.spec.waitsFor).toMatch(/paid call by call/);
  }
});

describe("govlaws", () => {
  it("adds the agency to the words of a search, for which it has no field", () => {
    const sent = govlaws.send("search", { query: "mortgage rules", agency: "CFPB", limit: 3 });
    expect([sent.method, sent.url]).toEqual(["POST", "https://govlaws.ai/api/mpp/search"]);
    expect(sent.body).toEqual({ query: "mortgage rules CFPB", corpus: "regulations", limit: 3 });
  });

  it("resolves a citation", () => {
    const { url } = govlaws.send("resolve", { citation: "12 CFR 1026.43" });
    expect(url).toBe("https://govlaws.ai/api/mpp/resolve?citation=12+CFR+1026.43");
    expect(govlaws.means("resolve", { status: 404, body: { error: "not_found" } }).verdict).toBe("caller_invalid");
  });

  it.each([
    ["search", {}, "query"],
    ["search", { query: "x", limit: 21 }, "limit"],
    ["search", { query: "x", corpus: "cases" }, "corpus"],
    ["resolve", {}, "citation"],
    ["resolve", { citation: "the first amendment" }, "citation"],
  ])("%s refuses %j, naming %s", (action, params, field) => {
    expect(govlaws.refuses(action, params)).toEqual([field]);
  });

  it("is sold at the merchant's own prices", () => {
    expect(govlaws.quote("search", { query: "x" })).toBe(3);
    expect(govlaws.quote("resolve", { citation: "12 CFR 1026.43" })).toBe(5);
  });
});

describe.each([
  ["apex-db", "https://api.apex-db.org/v1/apex"],
  ["rxatlas", "https://api.rxatlas.dev/v1/drugs"],
  ["trialbase-db", "https://api.trialbase-db.org/v1/trials"],
  ["recallradar", "https://api.recallradar.dev/v1/recalls"],
])("%s", (id, address) => {
  it("passes a search's filters on and reads a record by its id", async () => {
    const merchant = await wire(id);
    const filters = { name: "a & b", year: 2024 };
    expect(merchant.send("search", { filters }).url).toBe(`${address}?name=a+%26+b&year=2024`);
    expect(merchant.send("get", { id: "rec-24118" }).url).toBe(`${address}/rec-24118`);
    expect([merchant.quote("search", { filters }), merchant.quote("get", { id: "1" })]).toEqual([10, 2.5]);
  });

  it("refuses a search without filters, and ids that lead elsewhere", async () => {
    const merchant = await wire(id);
    expect(merchant.refuses("search", {})).toEqual(["filters"]);
    expect(merchant.refuses("search", { filters: {} })).toEqual(["filters"]);
    expect(merchant.refuses("search", { filters: { "a b": "x" } })).toEqual(["filters.a b"]);
    for (const bad of ["", "..", "a/b", "a?b", "a#b", "a%2fb"])
      expect(merchant.refuses("get", { id: bad })).toEqual(["id"]);
  });
});
