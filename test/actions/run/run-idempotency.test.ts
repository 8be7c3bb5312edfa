// Repeats of a call under one Idempotency-Key: it runs once, the answer is repeated, it is never charged twice, and a write is never sent
// twice.
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { eventually } from "../../support/gateway.ts";
import type { VendorAnswer } from "../../support/vendor-server.ts";
import { startAcmeGateway } from "./acme-gateway.ts";

const gateway = forFile(await startAcmeGateway());

const KEY = { "idempotency-key": "order-1" };

/** An answer that waits until it is released. */
function held(body: unknown): { answer: VendorAnswer; letGo: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const answer: VendorAnswer = (response) => void promise.then(() => response.end(JSON.stringify(body)));
  return { answer, letGo: resolve };
}

describe("a call that was charged", () => {
  it("is answered again with the same body, and neither sent nor charged again", async () => {
    const account = await gateway.live({ creditCents: 100 });
    gateway.vendor.answers({ body: { order: "o1" } }, { body: { order: "o2" } });
    const first = await gateway.run(account, "acme/buy", { sku: "x" }, KEY);
    const again = await gateway.run(account, "acme/buy", { sku: "x" }, KEY);
    expect(again.status).toBe(200);
    expect(again.text).toBe(first.text);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(first.headers.get("idempotent-replayed")).toBeNull();
    expect(gateway.vendor.asked).toHaveLength(1);
    expect(await gateway.transactions(account)).toHaveLength(1);
    expect(await gateway.balanceCents(account)).toBe(95);
  });

  it("takes a quoted key for the same key, and another order of fields for the same body", async () => {
    const account = await gateway.live();
    gateway.vendor.answers({ body: { results: ["a"] } });
    await gateway.run(account, "acme/search", '{"q":"tea","limit":3}', KEY);
    const again = await gateway.run(account, "acme/search", '{"limit":3,"q":"tea"}', {
      "idempotency-key": '"order-1"',
    });
    expect(again.headers.get("idempotent-replayed")).toBe("true");
  });

  it("refuses another body under the key, also another bound on the cost", async () => {
    const account = await gateway.live();
    gateway.vendor.answers({ body: { results: ["a"] } });
    await gateway.run(account, "acme/search", { q: "tea" }, KEY);
    for (const other of [{ q: "coffee" }, { q: "tea", max_cost_cents: 5 }]) {
      const refused = await gateway.run(account, "acme/search", other, KEY);
      expect([refused.status, refused.json.error]).toEqual([422, "idempotency_mismatch"]);
    }
  });

  it("means nothing to another account, and nothing on another path", async () => {
    const [one, other] = [await gateway.live(), await gateway.live()];
    gateway.vendor.answers({ body: { results: ["a"] } });
    await gateway.run(one, "acme/search", { q: "tea" }, KEY);
    expect((await gateway.run(other, "acme/search", { q: "tea" }, KEY)).headers.get("idempotent-replayed")).toBeNull();
    expect((await gateway.run(one, "acme/launch", { q: "tea" }, KEY)).headers.get("idempotent-replayed")).toBeNull();
  });

  it("whose answer was too long to keep says so, with its transaction", async () => {
    const account = await gateway.live();
    gateway.vendor.answers({ body: { rows: "x".repeat(1_100_000) } });
    const first = await gateway.run(account, "bulk/dump", {}, KEY);
    const again = await gateway.run(account, "bulk/dump", {}, KEY);
    expect([again.status, again.json.error]).toEqual([409, "replay_unavailable"]);
    expect(again.json.data).toEqual({ transaction_id: first.json.transaction_id });
  });
});

describe("a call that still runs", () => {
  it.each(["acme/search", "acme/buy"])("is not run twice: %s answers 409 until it has ended", async (action) => {
    const account = await gateway.live();
    const params = action === "acme/buy" ? { sku: "x" } : { q: "tea" };
    const { answer, letGo } = held({ results: ["a"] });
    gateway.vendor.answers(answer);
    const running = gateway.run(account, action, params, KEY);
    await eventually(() => (gateway.vendor.asked.length === 1 ? true : undefined), "the vendor to be asked");
    const others = await Promise.all([1, 2, 3].map(() => gateway.run(account, action, params, KEY)));
    for (const other of others) {
      expect([other.status, other.json.error]).toEqual([409, "idempotency_in_progress"]);
      expect(Number(other.headers.get("retry-after"))).toBeGreaterThan(0);
    }
    letGo();
    expect((await running).status).toBe(200);
    expect(gateway.vendor.asked).toHaveLength(1);
    expect((await gateway.run(account, action, params, KEY)).headers.get("idempotent-replayed")).toBe("true");
  });
});

describe("a call that failed", () => {
  it("by the vendor's refusal of its input is refused again without asking", async () => {
    const account = await gateway.live();
    gateway.vendor.answers({ status: 404, body: { message: "no such sku" } });
    const first = await gateway.run(account, "acme/buy", { sku: "x" }, KEY);
    const again = await gateway.run(account, "acme/buy", { sku: "x" }, KEY);
    expect([first.status, first.json.error]).toEqual([404, "upstream_rejected"]);
    expect([again.status, again.text]).toEqual([404, first.text]);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(gateway.vendor.asked).toHaveLength(1);
  });

  it("read, by the vendor's own trouble: the key is free for another try", async () => {
    const account = await gateway.live();
    gateway.vendor.answers({ status: 503, body: {} }, { body: { results: ["a"] } });
    expect((await gateway.run(account, "acme/search", { q: "tea" }, KEY)).status).toBe(500);
    expect((await gateway.run(account, "acme/search", { q: "tea" }, KEY)).status).toBe(200);
  });

  it("write, before the vendor can have begun: the key is free for another try", async () => {
    const account = await gateway.live();
    gateway.vendor.answers(
      { status: 429, body: {} },
      { status: 429, body: {} },
      { status: 429, body: {} },
      { body: {} },
    );
    expect((await gateway.run(account, "acme/buy", { sku: "x" }, KEY)).status).toBe(500);
    expect((await gateway.run(account, "acme/buy", { sku: "x" }, KEY)).status).toBe(200);
  });

  it.each<[string, VendorAnswer]>([
    ["a server error", { status: 500, body: {} }],
    ["a cut connection", (response) => response.destroy()],
    ["a body that is no JSON", { body: "<html>" }],
  ])("write, after it may have begun (%s): it is sent once and never again", async (_, answer) => {
    const account = await gateway.live({ creditCents: 100 });
    gateway.vendor.answers(answer);
    expect((await gateway.run(account, "acme/buy", { sku: "x" }, KEY)).status).toBe(500);
    const again = await gateway.run(account, "acme/buy", { sku: "x" }, KEY);
    expect([again.status, again.json.error]).toEqual([409, "outcome_unknown"]);
    expect(gateway.vendor.asked).toHaveLength(1);
    expect(await gateway.balanceCents(account)).toBe(100);
    expect(await gateway.doctor()).toEqual([]);
  });
});
