// What an account's free calls may cost us in a day: misses for which a vendor takes its price all the same.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { manualClock } from "../../src/clock.ts";
import { createUnpaidCosts } from "../../src/limits/unpaid-costs.ts";
import { nanoFromCents, ZERO } from "../../src/money.ts";
import { type AcmeGateway, startAcmeGateway } from "./acme-gateway.ts";

const NOON = Date.UTC(2026, 10, 22, 12);
const leg = (cents: number, failure: "provider_overloaded" | null = null) => {
  return { failure, upstreamNano: nanoFromCents(cents) };
};

describe("what is counted", () => {
  const begin = (freeCents: number | null = 10) => {
    const clock = manualClock(NOON);
    const freeNano = freeCents === null ? null : nanoFromCents(freeCents);
    return { clock, unpaid: createUnpaidCosts({ clock, freeNano }) };
  };

  it("is what vendors took for calls that were free, until midnight UTC", () => {
    const { clock, unpaid } = begin();
    unpaid.note("ada", ZERO, [leg(6), leg(4)]);
    expect(unpaid.refusedForSeconds("ada")).toBeNull();
    unpaid.note("ada", ZERO, [leg(1)]);
    expect(unpaid.refusedForSeconds("ada")).toBe(12 * 3_600);
    expect(unpaid.refusedForSeconds("eve")).toBeNull();
    clock.advance(12 * 3_600_000);
    expect(unpaid.refusedForSeconds("ada")).toBeNull();
  });

  it("is not what a vendor failed at, nor what was paid for at a loss", () => {
    const { unpaid } = begin();
    unpaid.note("ada", ZERO, [leg(50, "provider_overloaded")]);
    unpaid.note("ada", nanoFromCents(1), [leg(50)]);
    expect(unpaid.refusedForSeconds("ada")).toBeNull();
  });

  it("is what fetches of our own come to as well, whatever came of them: a hundredth of a cent each", () => {
    const { unpaid } = begin(1);
    const own = { failure: null, upstreamNano: ZERO, own: true } as const;
    const cut = { ...own, failure: "caller_unsupported" } as const;
    for (let call = 0; call < 50; call++) unpaid.note("ada", ZERO, [own, cut]);
    expect(unpaid.refusedForSeconds("ada")).toBeNull();
    unpaid.note("eve", nanoFromCents(2), [own, cut]);
    unpaid.note("ada", ZERO, [cut]);
    expect([unpaid.refusedForSeconds("ada"), unpaid.refusedForSeconds("eve")]).toEqual([12 * 3_600, null]);
  });

  it("may be half of what the account paid that day, where that is more", () => {
    const { unpaid } = begin();
    unpaid.note("ada", nanoFromCents(100), [leg(60)]);
    unpaid.note("ada", ZERO, [leg(50)]);
    expect(unpaid.refusedForSeconds("ada")).toBeNull();
    unpaid.note("ada", ZERO, [leg(1)]);
    expect(unpaid.refusedForSeconds("ada")).not.toBeNull();
    unpaid.note("ada", nanoFromCents(2), [leg(1)]);
    expect(unpaid.refusedForSeconds("ada")).toBeNull();
  });

  it("is nothing where there is no bound", () => {
    const { unpaid } = begin(null);
    unpaid.note("ada", ZERO, [leg(5_000)]);
    expect(unpaid.refusedForSeconds("ada")).toBeNull();
  });
});

describe("an account whose pages nobody can read", () => {
  it("is refused further ones once our own fetches come to more than it may have, with no vendor at all", async () => {
    const gateway = await startAcmeGateway({ UNPAID_COST_CENTS: "1" }, { internet: { resolve: async () => [] } });
    const eve = await gateway.live({ creditCents: 100 });
    const urls = Array.from({ length: 5 }, (_, n) => `https://nobody-${n}.example/`);
    const read = async () => (await gateway.run(eve, "core/onescrape", { urls })).json.error;
    let calls = 0;
    let told = await read();
    for (; told === "all_blocked" && calls < 50; calls++) told = await read();
    // A hundred fetches are a cent; the call that passes it is still let in.
    expect([told, calls]).toEqual(["unpaid_costs", 21]);
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

  it("is refused what may be free again, and nothing else; others are not", async () => {
    const [eve, ada] = [await gateway.live({ creditCents: 100 }), await gateway.live({ creditCents: 100 })];
    const miss = (account: typeof eve, headers = {}) => gateway.run(account, "acme/search", { q: "nothing" }, headers);
    gateway.vendor.answers((response) => {
      response.writeHead(503).end("{}");
    });
    // An outage costs nobody anything.
    for (let call = 0; call < 4; call++) expect((await miss(eve)).status).toBe(500);
    gateway.vendor.answers((response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ results: [] }));
    });
    let free = 0;
    let last = await miss(eve);
    for (; last.status === 200 && free < 50; free++) {
      expect(last.json).toMatchObject({ ok: true, charged_cents: 0 });
      last = await miss(eve);
    }
    expect(free).toBeGreaterThan(1);
    expect(free).toBeLessThan(20);
    expect(last).toMatchObject({ status: 429, json: { ok: false, error: "unpaid_costs", charged_cents: 0 } });
    expect(Number(last.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(last.headers.get("x-should-retry")).toBe("false");
    expect((await miss(ada)).status).toBe(200);
    // What is paid for in any case goes on, and paying makes room.
    gateway.vendor.answers((response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ bought: true }));
    });
    const asked = gateway.vendor.asked.length;
    expect((await gateway.run(eve, "acme/buy", { sku: "x" })).status).toBe(200);
    expect(gateway.vendor.asked.length).toBe(asked + 1);
    expect(await gateway.heldCents(eve)).toBe(0);
  });
});
