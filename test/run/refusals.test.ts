// What a call of an action that came to nothing says of money: nothing was charged, what is left, and what would have done.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { shortError } from "../../src/kernel/refused-hold.ts";
import { nanoFromCents } from "../../src/money.ts";
import { planOver } from "../support/scripted-plan.ts";
import { type AcmeGateway, readAnswer, startAcmeGateway } from "./acme-gateway.ts";

let gateway: AcmeGateway;
beforeAll(async () => {
  gateway = await startAcmeGateway();
});
afterAll(() => gateway.stop());

const items = Array.from({ length: 20 }, String);

describe("a failed call says that nothing was charged, and what is left", () => {
  it.each<[what: string, action: string, params: unknown, status: number]>([
    ["params that are wrong", "acme/search", { q: "" }, 400],
    ["a body that is no JSON", "acme/search", "{", 400],
    ["an action that is not there", "acme/nothing", {}, 404],
    ["a price above max_cost_cents", "acme/ranged", { items, max_cost_cents: 1 }, 402],
    ["a price above the balance", "acme/buy", { sku: "x" }, 402],
    ["a refusal of the vendor", "acme/free", {}, 400],
    ["a failure of the vendor", "acme/search", { q: "tea" }, 500],
  ])("%s", async (_, action, params, status) => {
    const account = await gateway.live({ creditCents: 4 });
    gateway.vendor.answers({ status: action === "acme/free" ? 400 : 500, body: { error: "no" } });
    const answer = await gateway.run(account, action, params);
    expect(answer).toMatchObject({ status, json: { ok: false, charged_cents: 0, balance_remaining_cents: 4 } });
    expect(await gateway.balanceCents(account)).toBe(4);
  });

  it("after calls that were charged", async () => {
    const account = await gateway.live({ creditCents: 10 });
    gateway.vendor.answers({ body: { order: "o1" } });
    expect((await gateway.run(account, "acme/buy", { sku: "x" })).json.balance_remaining_cents).toBe(5);
    expect((await gateway.run(account, "acme/buy", {})).json).toMatchObject({
      charged_cents: 0,
      balance_remaining_cents: 5,
    });
  });

  it("of nobody that is known there is nothing left to tell", async () => {
    const { status, json } = await gateway.run("tg_sk_wrong", "acme/search", { q: "tea" });
    expect([status, json.charged_cents]).toEqual([401, 0]);
    expect(json).not.toHaveProperty("balance_remaining_cents");
  });

  it("a call that is turned away for coming too often is not looked up", async () => {
    const account = await gateway.live({ creditCents: 4, requestsPerMinute: 1 });
    await gateway.run(account, "acme/search", {});
    const { status, json } = await gateway.run(account, "acme/search", {});
    expect([status, json.error, json.charged_cents]).toEqual([429, "rate_limited", 0]);
    expect(json).not.toHaveProperty("balance_remaining_cents");
  });

  it("what never reaches an action says it too", async () => {
    const url = `${gateway.url}/api/run/acme/search`;
    expect((await readAnswer(await fetch(url, { method: "DELETE" }))).json).toMatchObject({
      ok: false,
      charged_cents: 0,
    });
    const text = { method: "POST", headers: { "content-type": "text/plain" }, body: "q=tea" };
    expect((await readAnswer(await fetch(url, text))).json).toMatchObject({ ok: false, charged_cents: 0 });
  });
});

describe("a call that is refused for its price says what would do", () => {
  it("max_cost_cents: needed_cents is enough", async () => {
    const account = await gateway.live({ creditCents: 100 });
    gateway.vendor.answers({ body: { ok: 1 } });
    const refused = await gateway.run(account, "acme/ranged", { items, max_cost_cents: 1 });
    expect(refused.json).toMatchObject({ error: "max_cost_exceeded", data: { needed_cents: 2 } });
    const { needed_cents } = refused.json.data as { needed_cents: number };
    expect((await gateway.run(account, "acme/ranged", { items, max_cost_cents: needed_cents })).status).toBe(200);
  });

  it("the balance: what is needed and what is free", async () => {
    const account = await gateway.live({ creditCents: 4 });
    const { json } = await gateway.run(account, "acme/buy", { sku: "x" });
    expect(json.data).toMatchObject({ needed_cents: 5, free_cents: 4, balance_cents: 4, held_cents: 0 });
  });

  it("a ceiling or a cap: what was spent, borne by us, held and free adds up to it", () => {
    const cents = { spentNano: 30, absorbedNano: 20, heldNano: 10 };
    const parts = Object.fromEntries(Object.entries(cents).map(([name, value]) => [name, nanoFromCents(value)]));
    const counted = parts as Record<keyof typeof cents, ReturnType<typeof nanoFromCents>>;
    const bound = nanoFromCents(100);
    const { plan } = planOver([], {});
    const told = [
      shortError({ outcome: "ceiling", period: "day", ceilingNano: bound, resetsAtMs: 0, ...counted }, { plan, amount: bound, nowMs: 0 }),
      shortError({ outcome: "inference_cap", capNano: bound, resetsAtMs: 0, ...counted }, { plan, amount: bound, nowMs: 0 }),
    ];
    for (const { options } of told) {
      const sums = { spent_cents: 30, absorbed_cents: 20, held_cents: 10, free_cents: 40, needed_cents: 100 };
      expect(options.data).toMatchObject(sums);
    }
  });
});
