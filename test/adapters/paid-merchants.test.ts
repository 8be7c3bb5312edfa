// Merchants that take a payment per call instead of a key: listed with their prices, and called once there is a wallet.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";

const govlaws = await wire("govlaws");
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

const TO = { name: "Ada", address_line1: "1 Example Street", city: "Napa", state: "CA", zip: "94558" };

describe("martin-estate", async () => {
  const wine = await wire("martin-estate");
  const bottle = { product: "cabernet-sauvignon-2021", email: "a@example.com", shipping: TO };

  it("sends a purchase as the merchant has it, and the order that a verified buyer goes on with", () => {
    const sent = wine.send("purchase", { ...bottle, quantity: 2, gift_note: "Cheers", order_id: "ord_1" });
    expect([sent.method, sent.url]).toEqual(["POST", "https://agents.martinestate.com/purchase"]);
    expect(sent.body).toEqual({
      product_id: "cabernet-sauvignon-2021",
      quantity: 2,
      email: "a@example.com",
      shipping: { ...TO, country: "US" },
      gift_note: "Cheers",
      order_id: "ord_1",
    });
    expect(wine.send("product", { slug: "cabernet-sauvignon-2021" }).url).toBe(
      "https://agents.martinestate.com/catalog/cabernet-sauvignon-2021",
    );
  });

  it("takes a 403 with a verify_url for a buyer who is to be verified, and any other for a refusal of ours", () => {
    const body = { error: "verification_required", verify_url: "https://verify.example/1", order_id: "ord_1" };
    expect(wine.means("purchase", { status: 403, body }).verdict).toBe("caller_unverified");
    expect(wine.means("purchase", { status: 403, body: {} }).verdict).toBe("provider_auth_failed");
  });

  it.each([
    [{ ...bottle, gift_note: "x".repeat(301) }, "gift_note"],
    [{ ...bottle, shipping: { ...TO, state: "California" } }, "shipping.state"],
    [{ ...bottle, shipping: { ...TO, country: "DE" } }, "shipping.country"],
    [{ ...bottle, quantity: 0 }, "quantity"],
    [{ ...bottle, email: "nobody" }, "email"],
    [{ ...bottle, product: "../orders" }, "product"],
  ])("refuses %j, naming %s", (params, field) => {
    expect(wine.refuses("purchase", params)).toEqual([field]);
  });
});

describe("sayer-and-stone", async () => {
  const jewelry = await wire("sayer-and-stone");
  const to = { email: "a@example.com", shipping: TO };

  it("buys by a sku, or by a name with options", () => {
    const bySlug = { ...to, product_slug: "signet-ring", options: { metal: "14k" } };
    expect(jewelry.send("purchase", { ...to, sku: "SR-14K-7" }).body).toMatchObject({ sku: "SR-14K-7", quantity: 1 });
    expect(jewelry.send("purchase", bySlug).body).toMatchObject({
      product_slug: "signet-ring",
      options: { metal: "14k" },
    });
  });

  it.each([
    [to, "sku"],
    [{ ...to, sku: "S", product_slug: "signet-ring" }, "sku"],
    [{ ...to, sku: "S", options: { metal: "14k" } }, "options"],
  ])("refuses %j, naming %s", (params, field) => {
    expect(jewelry.refuses("purchase", params)).toEqual([field]);
  });
});

describe("dripstack", () => {
  it("buys a post by its publication and its name", async () => {
    const merchant = await wire("dripstack");
    const { url } = merchant.send("post", { publication: "newsletter.doomberg.com", post: "the-tides" });
    expect(url).toBe("https://dripstack.xyz/api/v1/publications/newsletter.doomberg.com/the-tides");
    expect(merchant.quote("post", { publication: "a.b", post: "c" })).toBe(100);
    expect(merchant.means("post", { status: 503, body: { code: "summary_not_ready" } }).verdict).toBe(
      "provider_overloaded",
    );
    for (const bad of ["..", "a/b", "a b"])
      expect(merchant.refuses("post", { publication: bad, post: "c" })).toEqual(["publication"]);
  });
});

describe("agentfax", () => {
  it("costs 20 cents a page, up to 10 pages", async () => {
    const merchant = await wire("agentfax");
    const fax = { to: "+14155550123", file_url: "https://example.com/a.pdf" };
    expect([merchant.quote("send", fax), merchant.quote("send", { ...fax, pages: 3 })]).toEqual([200, 60]);
    expect(merchant.refuses("send", { ...fax, pages: 11 })).toEqual(["pages"]);
    expect(merchant.refuses("send", { ...fax, to: "4155550123" })).toEqual(["to"]);
    expect(merchant.refuses("send", { ...fax, file_url: "ftp://example.com/a.pdf" })).toEqual(["file_url"]);
  });
});

describe("papercut", () => {
  const card = { username: "ada", message: "love the bio. shame about the commits." };
  const address = { name: "Ada", line1: "1 A St", city: "Napa", state: "CA", zip: "94558" };

  it("costs $1 as a picture and $3 printed, which needs an address", async () => {
    const merchant = await wire("papercut");
    expect([merchant.quote("send", card), merchant.quote("send", { ...card, delivery: "physical", address })]).toEqual([
      100, 300,
    ]);
    expect(merchant.refuses("send", { ...card, delivery: "physical" })).toEqual(["address"]);
    expect(merchant.refuses("send", { ...card, address })).toEqual(["address"]);
  });

  it.each([
    "Hello",
    "see https://a.b",
    "look at example.com",
    "write to a@b",
    "cat /etc/passwd",
    "rm ~/notes",
    "c:\\temp",
    "sk-abcdefghijkl0123",
    "0123456789abcdef0123456789abcdef",
    " ",
    "x".repeat(281),
  ])("refuses to say %j", async (message) => {
    expect((await wire("papercut")).refuses("send", { ...card, message })).toEqual(["message"]);
  });

  it.each(["tides. and/or moons.", "50/50 on that", "love it :-)"])("says %j", async (message) => {
    expect((await wire("papercut")).refuses("send", { ...card, message })).toEqual([]);
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

  it("needs a request_id, and one document", async () => {
    const merchant = await wire("postalform");
    expect(merchant.refuses("order", { ...order, request_id: "1" })).toEqual(["request_id"]);
    expect(merchant.refuses("order", { ...order, pdf: "https://a.b/c.pdf" })).not.toEqual([]);
    const { letter: _, ...without } = order;
    expect(merchant.refuses("order", without)).not.toEqual([]);
    expect(merchant.means("order", { status: 409, body: { code: "request_id_mismatch" } }).verdict).toBe(
      "caller_invalid",
    );
  });
});

describe("autoexchange", () => {
  it("hires an agent by its id", async () => {
    const merchant = await wire("autoexchange");
    const { url, body } = merchant.send("run", { agent_id: "agt_1", prompt: "go" });
    expect([url, body]).toEqual(["https://api.auto.exchange/agents/agt_1/run", { prompt: "go" }]);
    expect(merchant.refuses("run", { agent_id: "../x", prompt: "go" })).toEqual(["agent_id"]);
  });
});
