// Vendors with state, behind a gateway with two callers: neither can reach, see or guess what the other created.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AcmeGateway, startAcmeGateway } from "../actions/run/acme-gateway.ts";
import type { TestAccount } from "../support/gateway.ts";
import { startVendor, type VendorRequest, type VendorServer } from "../support/vendor-server.ts";

let vendor: VendorServer;
let gateway: AcmeGateway;
let ada: TestAccount;
let eve: TestAccount;
beforeAll(async () => {
  vendor = await startVendor();
  const settings: Record<string, string> = { TRENDS_MCP_API_KEY: "k", TOMBA_SECRET_KEY: "s", NYNE_API_SECRET: "s" };
  for (const id of ["ICYPEAS", "NYNE", "MEM0", "ZEP", "LETTA", "AGENTMAIL", "TRENDS", "REALESTATEAPI"]) {
    settings[`${id}_API_KEY`] = "key";
    settings[`${id}_BASE_URL`] = vendor.url;
  }
  gateway = await startAcmeGateway(settings);
  [ada, eve] = [await gateway.live({ creditCents: 2_000 }), await gateway.live({ creditCents: 2_000 })];
});
afterAll(async () => {
  await gateway.stop();
  await vendor.close();
});

/** Simulates the vendor with this function; `vendor.asked` has the requests. */
function play(answer: (request: VendorRequest) => { readonly status?: number; readonly body: unknown }): void {
  vendor.answers((response, request) => {
    const { status = 200, body } = answer(request);
    response.writeHead(status, { "content-type": "application/json" });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  });
}

/** A call that fails and is not charged. */
async function failed(account: TestAccount, action: string, params: object) {
  const before = await gateway.balanceCents(account);
  const { status, json } = await gateway.run(account, action, params);
  expect(await gateway.balanceCents(account)).toBe(before);
  expect(json.ok).toBe(false);
  return { status, error: json.error, data: json.data };
}

const AGENT = "agent-0f1e2d3c-4b5a-4697-8877-665544332211";
/** Longer than anything that could be in its hash by chance. */
const OWN_ID = 'ada-lovelace"a\n';
const INBOX = "quiet-harbor@agentmail.to";

describe("what a vendor has made for one caller", () => {
  it.each([
    ["letta/agent-create", {}, { id: AGENT }, ["letta/message", { agent_id: AGENT, input: "Hi" }, { messages: [{}] }]],
    [
      "agentmail/create_inbox",
      {},
      { inbox_id: INBOX },
      ["agentmail/list-messages", { inbox_id: INBOX }, { count: 0, messages: [] }],
    ],
    [
      "agentmail/create_inbox",
      {},
      { inbox_id: INBOX },
      ["agentmail/send", { inbox_id: INBOX, to: "a@b.example", text: "Hi" }, { message_id: "m", thread_id: "t" }],
    ],
    [
      "agentmail/create_inbox",
      {},
      { inbox_id: INBOX },
      ["agentmail/reply", { inbox_id: INBOX, message_id: "m", text: "Hi" }, { message_id: "n", thread_id: "t" }],
    ],
    [
      "icypeas/domain-search",
      { domainOrCompany: "a.example" },
      { success: true, item: { _id: "s1" } },
      ["icypeas/result", { id: "s1" }, { success: true, items: [{ status: "FOUND" }] }],
    ],
    [
      "nyne/funders",
      { company_name: "A" },
      { success: true, data: { request_id: "r1" } },
      ["nyne/result", { request_id: "r1", action: "funders" }, { success: true, data: { status: "queued" } }],
    ],
  ] as const)(
    "%s: is there for that caller, and a 404 for the other who knows its id",
    async (maker, params, made, [user, use, used]) => {
      play(() => ({ body: made }));
      expect((await gateway.run(ada, maker, params)).status).toBe(200);
      play(() => ({ body: used }));
      expect((await failed(eve, user, use)).status).toBe(404);
      expect(vendor.asked).toEqual([]);
      expect(await gateway.run(ada, user, use)).toMatchObject({ status: 200, json: { data: used } });
      expect(vendor.asked).toHaveLength(1);
    },
  );

  it("icypeas/result lists a caller's own searches alone, whatever became of the others", async () => {
    for (const [who, id] of [
      [ada, "ada-1"],
      [eve, "eve-1"],
      [ada, "ada-2"],
    ] as const) {
      play(() => ({ body: { success: true, item: { _id: id } } }));
      await gateway.run(who, "icypeas/domain-search", { domainOrCompany: "a.example" });
    }
    const items = ["none", "ada-2", "eve-1", "ada-1"].map((_id) => ({ _id, status: "BAD_INPUT" }));
    play(() => ({ body: { success: true, items, sorts: [["next"]], total: 4 } }));
    const listed = async (who: typeof ada, limit = {}) => {
      const { status, json } = await gateway.run(who, "icypeas/result", { mode: "single", ...limit });
      expect([status, json.charged_cents]).toEqual([200, 1]);
      return json.data;
    };
    expect(await listed(ada)).toEqual({ success: true, items: [items[1], items[3]], total: 2 });
    expect(await listed(ada, { limit: 1 })).toEqual({ success: true, items: [items[1]], total: 1 });
    expect(await listed(eve)).toMatchObject({ items: [items[2]] });
    play(() => ({ body: { success: true, items: [], total: 0 } }));
    expect(await listed(eve)).toMatchObject({ items: [], total: 0 });
    play(() => ({ body: { success: false, error: "UnpaidSubscriptionError" } }));
    expect((await failed(ada, "icypeas/result", { mode: "single" })).status).toBe(503);
  });

  it("is not sold where the vendor gives no id: the call is free", async () => {
    play(() => ({ body: { display_name: "x" } }));
    expect((await failed(ada, "agentmail/create_inbox", {})).error).toBe("upstream_error");
    expect(vendor.asked).toHaveLength(1);
  });
});

describe("an id that callers choose", () => {
  it("goes to mem0 as a hash of payer and id, and comes back as written", async () => {
    const seen: string[] = [];
    play(({ body }) => {
      const { filters } = body as { filters: { user_id: string } };
      seen.push(filters.user_id);
      return { body: { results: [{ id: "1", memory: "m", user_id: filters.user_id }] } };
    });
    const search = { query: "food", user_id: OWN_ID };
    const told = await Promise.all([ada, ada, eve].map((account) => gateway.run(account, "mem0/search", search)));
    for (const { json } of told) expect(json.data).toMatchObject({ results: [{ user_id: OWN_ID }] });
    expect(new Set(seen).size).toBe(2);
    for (const id of seen) expect(id).not.toContain(OWN_ID.slice(0, 8));
  });

  it("is hidden in Zep's paths and bodies alike: two callers' threads of one name are two", async () => {
    const users = new Map<string, string>();
    play(({ method, url, body }) => {
      const { thread_id = "", user_id = "" } = body as Record<string, string>;
      if (url === "/threads") users.set(thread_id, user_id);
      if (method === "POST") return { body: { thread_id, user_id } };
      const owner = users.get(url.split("/")[2] ?? "");
      return owner === undefined
        ? { status: 404, body: { message: "thread not found" } }
        : { body: { context: owner } };
    });
    const made = await gateway.run(ada, "zep/thread-create", { thread_id: "talk", user_id: "me" });
    expect(made.json.data).toEqual({ thread_id: "talk", user_id: "me" });
    expect((await gateway.run(ada, "zep/get-context", { thread_id: "talk" })).status).toBe(200);
    const foreign = await failed(eve, "zep/get-context", { thread_id: "talk" });
    expect(foreign).toMatchObject({ status: 404, error: "upstream_rejected" });
    expect(JSON.stringify(vendor.asked)).not.toMatch(/"talk"|\/talk\//);
  });
});

describe("what vendors say strangely", () => {
  it("Nyne's control characters inside of texts are no reason to lose what was paid for", async () => {
    play(() => ({ body: { success: true, data: { request_id: "r9" } } }));
    await gateway.run(ada, "nyne/person-enrichment", { email: "a@b.example" });
    play(() => ({ body: '{"success":true,"data":{"status":"completed","result":{"bio":"one\ntwo\u0001"}}}' }));
    const { json } = await gateway.run(ada, "nyne/result", { request_id: "r9" });
    expect(json).toMatchObject({ data: { data: { result: { bio: "one two " } } }, charged_cents: 0 });
    expect(vendor.asked[0]?.url).toBe("/person/enrichment?request_id=r9");
  });

  it.each([
    [401, "upstream_not_configured"],
    [403, "upstream_not_configured"],
    [404, "upstream_rejected"],
    [429, "upstream_error"],
    [500, "upstream_error"],
  ])("Nyne's %d for a result is %s", async (status, error) => {
    play(() => ({ status, body: { success: false, error: { code: "m", message: "m" } } }));
    expect((await failed(ada, "nyne/result", { request_id: "r9" })).error).toBe(error);
  });

  it("Trends' answer is JSON inside of a text, and its bad status inside of a good one", async () => {
    play(() => ({ body: { statusCode: 200, body: '[{"date":"2026-11-15","value":74}]' } }));
    const asked = { endpoint: "time_series", keyword: "matcha", data_mode: "daily" };
    const { json } = await gateway.run(ada, "trends/fetch", asked);
    expect(json).toMatchObject({ data: { data: [{ date: "2026-11-15", value: 74 }] }, charged_cents: 5 });
    expect(vendor.asked).toMatchObject([
      {
        method: "POST",
        url: "/api",
        body: { mode: "get_time_series", source: "google search", keyword: "matcha", data_mode: "daily" },
      },
    ]);
    play(() => ({ body: { statusCode: 400, body: "keyword is too long" } }));
    expect((await failed(ada, "trends/fetch", asked)).error).toBe("upstream_rejected");
    play(() => ({ body: { statusCode: 200, body: "<html>" } }));
    expect((await failed(ada, "trends/fetch", asked)).error).toBe("upstream_error");
    expect((await failed(ada, "trends/fetch", { endpoint: "growth" })).data).toMatchObject({ field: "keyword" });
  });

  it("a capped price is its base and what was found, and never above its quote", async () => {
    const found = (count: number) => ({ statusCode: 200, data: Array.from({ length: count }, (_, id) => ({ id })) });
    for (const [count, cents] of [
      [0, 5],
      [2, 35],
      [3, 50],
      [9, 50],
    ] as const) {
      play(() => ({ body: found(count) }));
      const { json } = await gateway.run(ada, "realestateapi/property-search", { zip: "22205", size: 3 });
      expect([count, json.charged_cents]).toEqual([count, cents]);
    }
    play(() => ({ body: { statusCode: 200, resultCount: 812 } }));
    const counted = await gateway.run(ada, "realestateapi/property-search", { zip: "22205", count: true });
    expect(counted.json.charged_cents).toBe(2);
    play(() => ({ status: 404, body: { statusCode: 404, comps: [], reason: "m" } }));
    const missed = await gateway.run(ada, "realestateapi/comps", { address: "1 Nowhere" });
    expect(missed.json).toMatchObject({ ok: true, charged_cents: 0, data: { reason: "m" } });
  });
});
