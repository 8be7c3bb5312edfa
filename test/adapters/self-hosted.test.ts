// Vendors whose servers the operator self-hosts: an address and no key, and what a caller then sees and pays.
import { beforeEach, describe, expect, it } from "vitest";
import { forFile } from "../support/for-file.ts";
import { startTestGateway } from "../support/gateway.ts";
import { postAs } from "../support/keyed-fetch.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";
import { startVendor } from "../support/vendor-server.ts";

const LIVE = { sandbox: false };
const PAGE = { success: true, data: { markdown: "# The gate\n\n".padEnd(600, "All is written down. "), metadata: {} } };
const FOUND = {
  query: "q",
  results: [{ url: "https://gate.example/a", title: "The gate", content: "Paid here.", engine: "brave" }],
  answers: [],
  infoboxes: [],
};

const vendor = forFile(await startVendor());
const gateway = forFile(
  await startTestGateway({
    FIRECRAWL_BASE_URL: `${vendor.url}/v2`,
    CRW_API_KEY: "k",
    FASTCRW_BASE_URL: `${vendor.url}/crw/v1`,
    MEM0_BASE_URL: `${vendor.url}/mem0`,
    LETTA_BASE_URL: `${vendor.url}/letta`,
    SEARXNG_BASE_URL: `${vendor.url}/searx`,
    DIRECT_FETCH: "0",
  }),
);
const live = await gateway.account({ kind: "personal", creditCents: 1_000 });
beforeEach(() => vendor.answers({ status: 500, body: {} }));

async function run(action: string, params: unknown) {
  const response = await postAs(live.key, `${gateway.url}/api/run/${action}`, params);
  return { status: response.status, json: (await response.json()) as Record<string, unknown> };
}

describe("a server of the operator's own", () => {
  it("is asked without a key, at the vendor's price", async () => {
    vendor.answers({ body: PAGE });
    expect(await run("firecrawl/scrape", { url: "https://gate.example/" })).toMatchObject({
      status: 200,
      json: { ok: true, charged_cents: 1, data: { data: { markdown: expect.stringContaining("# The gate") } } },
    });
    expect(vendor.asked).toMatchObject([{ method: "POST", url: "/v2/scrape" }]);
    expect(vendor.asked[0]?.headers.authorization).toBeUndefined();
  });

  it("is told our key where there is one: its address then stands in front of the vendor", async () => {
    vendor.answers({ body: { success: true, data: { links: [] } } });
    expect((await run("fastcrw/map", { url: "https://gate.example/" })).status).toBe(200);
    expect(vendor.asked[0]).toMatchObject({ url: "/crw/v1/map", headers: { authorization: "Bearer k" } });
  });

  it("does not sell what it does not have, and says why", async () => {
    const { status, json } = await run("firecrawl/unblock", { url: "https://gate.example/" });
    expect(status).toBe(503);
    expect(json).toMatchObject({
      error: "upstream_not_configured",
      data: { reason: expect.stringMatching(/himself/) },
    });
    expect(vendor.asked).toEqual([]);
  });

  it("is spoken to in its own paths where they differ from the vendor's", async () => {
    const messages = [{ role: "user", content: "I do not eat meat." }];
    vendor.answers({ body: { results: [] } });
    expect((await run("mem0/add", { messages, user_id: "ada" })).json).toMatchObject({ ok: true, charged_cents: 1 });
    expect((await run("mem0/search", { query: "food", user_id: "ada" })).json).toMatchObject({ ok: true });
    expect(vendor.asked).toMatchObject([
      { method: "POST", url: "/mem0/memories", body: { messages, infer: true } },
      { method: "POST", url: "/mem0/search", body: { query: "food", top_k: 10 } },
    ]);
    const [added, searched] = vendor.asked.map(({ body }) => body as { user_id: string; filters: { user_id: string } });
    expect(searched?.filters.user_id).toBe(added?.user_id);
    expect(added?.user_id).not.toBe("ada");
    vendor.answers({ body: { id: "agent-0f1e2d3c-4b5a-4697-8877-665544332211" } });
    expect((await run("letta/agent-create", {})).status).toBe(200);
    expect(vendor.asked[0]).toMatchObject({ url: "/letta/v1/agents/" });
  });

  it("costs us nothing, and shows the key that it was given", async () => {
    const catalog = await shippedCatalog({ env: { MEM0_BASE_URL: "http://127.0.0.1:1", MEM0_SERVER_API_KEY: "m0sk" } });
    const { spec, keys, configured } = catalog.adapters(LIVE).get("mem0") ?? {};
    const sent = { headers: { "x-api-key": "m0sk" } };
    expect({
      keys,
      configured,
      shown: spec?.auth.shown?.({ ...sent, query: new URLSearchParams(), fields: {} }),
    }).toEqual({ keys: ["m0sk"], configured: true, shown: true });
    expect(catalog.action("mem0/add", LIVE)?.offers[0]?.spec.upstreamCents).toBe(0);
  });

  it("counts as configured without a key", async () => {
    const { json } = await gateway.admin("GET", "/admin/v1/providers");
    const providers = json.providers as { id: string; on: boolean }[];
    const on = providers.filter((provider) => provider.on).map(({ id }) => id);
    expect(on).toEqual(expect.arrayContaining(["firecrawl", "letta", "mem0", "searxng"]));
  });
});

describe("searxng/search", () => {
  it("asks for JSON, and takes nobody else's address", async () => {
    vendor.answers({ body: FOUND });
    const params = { q: "tides brest", engines: "brave,duckduckgo", time_range: "week", safesearch: 2, pageno: 2 };
    expect(await run("searxng/search", params)).toMatchObject({ json: { charged_cents: 1, data: FOUND } });
    const asked = new URL(vendor.asked[0]?.url ?? "", vendor.url);
    expect(asked.pathname).toBe("/searx/search");
    expect(Object.fromEntries(asked.searchParams)).toEqual({ ...params, safesearch: "2", pageno: "2", format: "json" });
    for (const more of [{ format: "html" }, { base_url: "http://169.254.169.254" }, { engines: "!!bad" }])
      expect((await run("searxng/search", { q: "tides", ...more })).status).toBe(400);
    expect(vendor.asked).toHaveLength(1);
  });

  it.each([
    [{ ...FOUND, results: [], unresponsive_engines: [["brave", "timeout"]] }, 0],
    [{ ...FOUND, results: [], answers: [{ answer: "42" }] }, 1],
  ])("an answer of %j costs %d", async (body, cents) => {
    vendor.answers({ body });
    expect((await run("searxng/search", { q: "tides" })).json).toMatchObject({ ok: true, charged_cents: cents });
  });

  it("is a source of core/onesearch, and the server a rung of core/onescrape", async () => {
    vendor.answers({ body: FOUND });
    const searched = await run("core/onesearch", { query: "the gate", facets: ["web"] });
    expect(JSON.stringify(searched.json)).toContain("https://gate.example/a");
    expect(vendor.asked.some(({ url }) => url.startsWith("/searx/search?"))).toBe(true);
    vendor.answers({ body: PAGE });
    const read = await run("core/onescrape", { urls: ["https://gate.example/story"] });
    expect(read).toMatchObject({ status: 200, json: { data: { rows: [{ provider: "firecrawl" }] } } });
  });

  it("tells the operator, and not the caller, that its settings forbid JSON", async () => {
    vendor.answers({ status: 403, headers: { "content-type": "text/html" }, body: "<h1>Forbidden</h1>" });
    const { status, json } = await run("searxng/search", { q: "tides" });
    expect([status, json.error]).toEqual([503, "upstream_not_configured"]);
    expect(JSON.stringify(json)).not.toContain("settings");
    expect(
      gateway.lines().filter((line) => /SEARXNG_BASE_URL; its settings\.yml must have json/.test(line)),
    ).toHaveLength(1);
  });
});
