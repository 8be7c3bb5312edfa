// Merchants that take a payment per call instead of a key: listed with their prices, and called once there is a wallet.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";

const data = ["apex-db", "rxatlas", "trialbase-db", "recallradar"];
const retail = ["martin-estate", "sayer-and-stone"];

it("lists every action of every one of them as not configured, and says what it waits for", async () => {
  const catalog = await shippedCatalog({ contact: "a b@c.org" });
  const ids = [
    ...["search", "resolve"].map((name) => `govlaws/${name}`),
    ...data.flatMap((id) => [`${id}/search`, `${id}/get`]),
    ...retail.flatMap((id) => ["catalog", "product", "purchase", "order"].map((name) => `${id}/${name}`)),
  ];
  for (const id of ids) {
    expect(catalog.action(id, { sandbox: false })).toMatchObject({ configured: false });
    expect(catalog.action(id, { sandbox: true })).toMatchObject({ configured: true });
  }
  for (const id of ["govlaws", ...data, ...retail]) {
    expect(catalog.adapters({ sandbox: false }).get(id)?.waitsFor).toMatch(/MPP_WALLET_PRIVATE_KEY/);
  }
  const paying = await shippedCatalog({ contact: "a b@c.org", rails: ["mpp"] });
  for (const id of ids) expect(paying.action(id, { sandbox: false })).toMatchObject({ configured: true });
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

describe("postalform", () => {
  const order = {
    request_id: "6f1e1d34-5d0c-4d52-9c55-0d5a3b1f7c10",
    buyer_name: "Ada",
    buyer_email: "ada@example.com",
    sender_name: "Ada",
    sender_address: { line1: "1 A St", city: "Napa", zip: "94558" },
    recipient_name: "Charles",
    recipient_address: { line1: "2 B St", city: "Bath", zip: "BA1", countryCode: "GB" },
    letter: "Dear Charles",
  };

  it("sends validate and order the very same body", async () => {
    const merchant = await wire("postalform");
    const [quoted, bought] = [merchant.send("validate", order), merchant.send("order", order)];
    expect(quoted.url).toBe("https://postalform.com/api/machine/mpp/orders/validate");
    expect(bought.url).toBe("https://postalform.com/api/machine/mpp/orders");
    expect(bought.body).toEqual(quoted.body);
    expect(bought.body).toMatchObject({
      request_id: order.request_id,
      recipient_address_type: "Manual",
      recipient_address_manual: { line1: "2 B St", city: "Bath", zip: "BA1", countryCode: "GB" },
    });
  });
});
