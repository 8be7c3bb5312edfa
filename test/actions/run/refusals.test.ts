// What a failed action call says about money: nothing was charged, the remaining balance, and what would have been sufficient.
import { describe, expect, it } from "vitest";
import { nanoFromCents } from "../../../src/core/money.ts";
import { shortError } from "../../../src/kernel/refused-hold.ts";
import { forFile } from "../../support/for-file.ts";
import { withinAMinute } from "../../support/gateway.ts";
import { planOver } from "../../support/scripted-plan.ts";
import { readAnswer, startAcmeGateway } from "./acme-gateway.ts";

const gateway = forFile(await startAcmeGateway());

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

  it.each([
    ["POST", "/api/run/acme/search"],
    ["GET", "/api/run/acme/search"],
    ["DELETE", "/api/run/acme/search"],
    ["GET", "/api/run"],
    ["POST", "/api/run/acme/search/more"],
  ])("a call that is turned away for coming too often: %s %s", async (method, path) => {
    await withinAMinute(async () => {
      const account = await gateway.live({ creditCents: 4, requestsPerMinute: 1 });
      await gateway.run(account, "acme/search", {});
      const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
      for (let times = 0; times < 3; times++) {
        const answer = await fetch(`${gateway.url}${path}`, { method, headers });
        expect(await readAnswer(answer)).toMatchObject({
          status: 429,
          json: { error: "rate_limited", charged_cents: 0, balance_remaining_cents: 4 },
        });
      }
    });
  });

  it("too many calls of an account at a time", async () => {
    const account = await gateway.live({ creditCents: 4, inFlight: 1 });
    gateway.vendor.answers({ status: 500, body: {} });
    const both = await Promise.all([1, 2].map(() => gateway.run(account, "acme/search", { q: "tea" })));
    const limited = both.find(({ status }) => status === 429);
    expect(limited?.json).toMatchObject({ charged_cents: 0, balance_remaining_cents: 4 });
  });

  it.each<[what: string, method: string, type: string, body: string, status: number]>([
    ["a wrong method", "DELETE", "application/json", "", 405],
    ["a wrong type", "POST", "text/plain", "q=tea", 415],
    ["a body that is too long", "POST", "application/json", JSON.stringify({ q: "x".repeat(5_000_000) }), 413],
  ])("what never reaches an action says it too: %s", async (_, method, type, body, status) => {
    const account = await gateway.live({ creditCents: 4 });
    const ask = (more: Record<string, string>) =>
      fetch(`${gateway.url}/api/run/acme/search`, {
        method,
        headers: { "content-type": type, ...more },
        ...(body === "" ? {} : { body }),
      });
    const known = await readAnswer(await ask({ authorization: `Bearer ${account.key}` }));
    expect(known).toMatchObject({ status, json: { ok: false, charged_cents: 0, balance_remaining_cents: 4 } });
    const { json } = await readAnswer(await ask({}));
    expect(json).toMatchObject({ ok: false, charged_cents: 0 });
    expect(json).not.toHaveProperty("balance_remaining_cents");
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
      shortError(
        { outcome: "ceiling", period: "day", ceilingNano: bound, resetsAtMs: 0, ...counted },
        { plan, amount: bound, nowMs: 0 },
      ),
      shortError(
        { outcome: "inference_cap", capNano: bound, resetsAtMs: 0, ...counted },
        { plan, amount: bound, nowMs: 0 },
      ),
    ];
    for (const { options } of told) {
      const sums = { spent_cents: 30, absorbed_cents: 20, held_cents: 10, free_cents: 40, needed_cents: 100 };
      expect(options.data).toMatchObject(sums);
    }
  });
});
