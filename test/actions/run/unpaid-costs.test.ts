// The daily limit on what an account's calls cost us beyond their charges: misses that a vendor charges for anyway.
import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestAccount } from "../../support/gateway.ts";
import { type AcmeGateway, startAcmeGateway } from "./acme-gateway.ts";

/** How a vendor ends a call, and its cost to us. */
const ENDS: [string, (response: ServerResponse) => void, number][] = [
  ["does not answer in time may have done its work", () => {}, 5_000_000],
  ["breaks off its answer has done it", (to) => void to.writeHead(200).write("{", () => to.destroy()), 5_000_000],
  ["closes the connection at once has not", (to) => void to.socket?.destroy(), 0],
  ["says that it fails has not", (to) => void to.writeHead(503).end("{}"), 0],
];

describe("an account whose pages nobody can read", () => {
  it("is refused further ones once our own fetches come to more than it may have, with no vendor at all", async () => {
    const gateway = await startAcmeGateway({ UNPAID_COST_CENTS: "1" }, { internet: { resolve: async () => [] } });
    const eve = await gateway.live({ creditCents: 100 });
    const urls = Array.from({ length: 5 }, (_, n) => `https://nobody-${n}.example/`);
    const read = async () => (await gateway.run(eve, "core/onescrape", { urls })).json.error;
    let calls = 0;
    let told = await read();
    for (; told === "all_blocked" && calls < 50; calls++) told = await read();
    // A hundred fetches are a cent.
    expect([told, calls]).toEqual(["unpaid_costs", 20]);
    expect(await gateway.balanceCents(eve)).toBe(100);
    await gateway.stop();
  });
});

describe("an account whose free misses cost us more than it may have", () => {
  let gateway: AcmeGateway;
  beforeAll(async () => {
    gateway = await startAcmeGateway({ UNPAID_COST_CENTS: "2" });
  });
  afterAll(() => gateway.stop());

  const answers = (body: unknown, status = 200) =>
    gateway.vendor.answers((response) => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
  const miss = (account: TestAccount) => gateway.run(account, "acme/search", { q: "nothing" });
  /** The number of misses before an account is refused, and the refusal. */
  async function misses(account: TestAccount) {
    answers({ results: [] });
    let last = await miss(account);
    let free = 0;
    for (; last.status === 200 && free < 50; free++) last = await miss(account);
    return { free, last };
  }

  it("is refused whatever may cost us more until midnight; what is free goes on, and others", async () => {
    const [eve, ada] = [await gateway.live({ creditCents: 100 }), await gateway.live({ creditCents: 100 })];
    answers({}, 503);
    // An outage costs neither side anything.
    for (let call = 0; call < 4; call++) expect((await miss(eve)).status).toBe(500);
    const { free, last } = await misses(eve);
    expect(free).toBeGreaterThan(1);
    expect(free).toBeLessThan(20);
    expect(last).toMatchObject({ status: 429, json: { ok: false, error: "unpaid_costs", charged_cents: 0 } });
    expect(Number(last.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(last.headers.get("x-should-retry")).toBe("false");
    const asked = gateway.vendor.asked.length;
    expect((await gateway.run(eve, "acme/buy", { sku: "x" })).json.error).toBe("unpaid_costs");
    expect((await gateway.run(eve, "core/result", { job_id: "job_of_nobody" })).json.error).toBe("not_found");
    expect(gateway.vendor.asked.length).toBe(asked);
    expect((await miss(ada)).status).toBe(200);
    expect(await gateway.heldCents(eve)).toBe(0);
  });

  it("may have more where its calls have paid more than they cost", async () => {
    const [eve, ada] = [await gateway.live({ creditCents: 100 }), await gateway.live({ creditCents: 100 })];
    const { free } = await misses(eve);
    answers({ bought: true });
    expect((await gateway.run(ada, "acme/buy", { sku: "x" })).status).toBe(200);
    expect((await misses(ada)).free).toBeGreaterThan(free);
  });

  it.each(ENDS)("a vendor that %s", async (_, answer, nano) => {
    const ada = await gateway.live({ creditCents: 100 });
    gateway.vendor.answers(answer);
    const { status, json } = await gateway.run(ada, "acme/steps", { q: "slow" });
    expect([status, json.charged_cents]).toEqual([500, 0]);
    const row = await gateway.admin("GET", `/admin/v1/accounts/${ada.accountId}`);
    expect(row.json.unpaid).toMatchObject({ today_nano_usd: nano });
  });

  it("is seen by the operator, with its bound, and counted in the metrics", async () => {
    const eve = await gateway.live({ creditCents: 100 });
    const { free } = await misses(eve);
    const row = await gateway.admin("GET", `/admin/v1/accounts/${eve.accountId}`);
    const each = 5_000_000;
    expect(row.json.unpaid).toEqual({
      ...{ today_nano_usd: free * each, margin_nano_usd: 0, bound_nano_usd: 20_000_000 },
    });
    const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
    const [, usd] = /^tollgate_unpaid_cost_usd_total\{charged="0"\} (.*)$/m.exec(metrics) ?? [];
    expect(Number(usd)).toBeGreaterThanOrEqual((free * each) / 1e9);
  });
});
