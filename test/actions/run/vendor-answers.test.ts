// Actions with several steps, long answers, owned ids, and callers who disconnect.
import { createHash } from "node:crypto";
import { request } from "node:http";
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { eventually } from "../../support/gateway.ts";
import { startAcmeGateway } from "./acme-gateway.ts";

const gateway = forFile(await startAcmeGateway());

describe("an action that launches, polls and fetches", () => {
  const launched = { body: { job_id: "j7", status_url: "https://elsewhere.invalid/v1/jobs/j7?x=1" } };
  const working = { body: { status: "working" } };
  const done = { body: { status: "done" } };

  it("is one call and one charge", async () => {
    const account = await gateway.live({ creditCents: 100 });
    gateway.vendor.answers(launched, working, working, done, { body: { result: 42 } });
    const { json } = await gateway.run(account, "acme/steps", { q: "tea" });
    expect(json).toMatchObject({ ok: true, data: { result: 42 }, charged_cents: 1 });
    const poll = { method: "GET", url: "/v1/jobs/j7?x=1" };
    expect(gateway.vendor.asked).toMatchObject([
      { method: "POST", url: "/v1/jobs" },
      poll,
      poll,
      poll,
      { method: "GET", url: "/v1/jobs/j7/result" },
    ]);
    expect(gateway.vendor.asked.every(({ headers }) => headers.authorization === "Bearer acme-key")).toBe(true);
    expect(await gateway.transactions(account)).toHaveLength(1);
  });

  it("outlives a poll that fails in passing, but not one that always fails", async () => {
    const account = await gateway.live({ creditCents: 100 });
    gateway.vendor.answers(launched, { status: 500, body: {} }, done, { body: { result: 42 } });
    expect((await gateway.run(account, "acme/steps", { q: "tea" })).status).toBe(200);
    gateway.vendor.answers(launched, { status: 500, body: {} });
    expect((await gateway.run(account, "acme/steps", { q: "tea" })).status).toBe(500);
    expect(gateway.vendor.asked.filter(({ method }) => method === "POST")).toHaveLength(1);
    expect(await gateway.balanceCents(account)).toBe(99);
  });

  it("is not charged when it is never done", async () => {
    const account = await gateway.live({ creditCents: 100 });
    gateway.vendor.answers(launched, working);
    const { status, json } = await gateway.run(account, "acme/steps", { q: "tea" });
    expect([status, json.error]).toEqual([500, "upstream_error"]);
    expect(await gateway.balanceCents(account)).toBe(100);
    expect(await gateway.heldCents(account)).toBe(0);
  });

  it("is not charged when the vendor names no address for the next step", async () => {
    const account = await gateway.live({ creditCents: 100 });
    gateway.vendor.answers({ body: { job_id: "j7" } });
    expect((await gateway.run(account, "acme/steps", { q: "tea" })).status).toBe(500);
    expect(await gateway.balanceCents(account)).toBe(100);
  });
});

describe("ids", () => {
  it("that a vendor issued are their payer's alone", async () => {
    const [ada, eve] = [await gateway.live(), await gateway.live()];
    gateway.vendor.answers({ body: { job_id: "j9" } });
    await gateway.run(ada, "acme/launch", { q: "tea" });
    gateway.vendor.answers({ body: { status: "done" } });
    const foreign = await gateway.run(eve, "acme/poll", { job_id: "j9" });
    expect([foreign.status, foreign.json.error]).toEqual([404, "not_found"]);
    expect(gateway.vendor.asked).toEqual([]);
    expect((await gateway.run(ada, "acme/poll", { job_id: "j9" })).status).toBe(200);
    expect((await gateway.run(ada, "acme/poll", { job_id: "j10" })).status).toBe(404);
  });

  it("of a call that failed belong to nobody", async () => {
    const account = await gateway.live();
    gateway.vendor.answers({ body: { job_id: "j11", error_code: 3 } });
    expect((await gateway.run(account, "acme/launch", { q: "tea" })).status).toBe(500);
    expect((await gateway.run(account, "acme/poll", { job_id: "j11" })).status).toBe(404);
  });

  it("that callers choose go upstream as a hash of their own, and come back as they wrote them", async () => {
    const [ada, eve] = [await gateway.live(), await gateway.live()];
    const seen: unknown[] = [];
    gateway.vendor.answers((response, { body }) => {
      seen.push((body as { user_id: string }).user_id);
      response.end(JSON.stringify({ ...(body as object), note: `kept for ${seen.at(-1)}` }));
    });
    const id = 'user "1"';
    const answer = await gateway.run(ada, "acme/memory", { user_id: id });
    expect(answer.json.data).toEqual({ user_id: id, note: `kept for ${id}` });
    await gateway.run(ada, "acme/memory", { user_id: id });
    await gateway.run(eve, "acme/memory", { user_id: id });
    expect(seen[0]).toBe(seen[1]);
    expect(seen[2]).not.toBe(seen[0]);
    expect(String(seen[0])).not.toContain("user");
  });
});

describe("a long answer", () => {
  const rows = Array.from({ length: 60_000 }, (_, at) => ({ at, name: `row ${at} ünï` }));
  const body = JSON.stringify({ rows });

  it("is passed on byte for byte inside of the envelope, and charged at its end", async () => {
    const account = await gateway.live({ creditCents: 100 });
    gateway.vendor.answers({ body });
    const answer = await gateway.run(account, "bulk/dump");
    const hash = (text: string) => createHash("sha256").update(text).digest("hex");
    const data = answer.text.slice('{"ok":true,"data":'.length, answer.text.indexOf(',"charged_cents":'));
    expect(hash(data)).toBe(hash(body));
    expect(answer.json).toMatchObject({ ok: true, charged_cents: 2, balance_remaining_cents: 98 });
    expect(answer.json.transaction_id).toMatch(/^tx_/);
    expect(await gateway.transactions(account)).toHaveLength(1);
  });

  it.each<[string, string]>([
    ["that ends too early though correctly framed", body.slice(0, -10)],
    ["that is no JSON behind its first bracket", `[${"x".repeat(2_000_000)}`],
  ])("%s is cut off and not charged", async (_, broken) => {
    const account = await gateway.live({ creditCents: 100 });
    gateway.vendor.answers({ body: broken });
    await expect(gateway.run(account, "bulk/dump")).rejects.toThrow();
    await eventually(async () => ((await gateway.heldCents(account)) === 0 ? true : undefined), "the hold to end");
    expect(await gateway.balanceCents(account)).toBe(100);
  });

  it("that does not even begin as JSON is told as an error", async () => {
    const account = await gateway.live({ creditCents: 100 });
    gateway.vendor.answers({ body: "x".repeat(2_000_000) });
    expect((await gateway.run(account, "bulk/dump")).json.error).toBe("upstream_error");
    expect(await gateway.balanceCents(account)).toBe(100);
  });

  it("whose vendor breaks off is cut off too, and not charged", async () => {
    const account = await gateway.live({ creditCents: 100 });
    gateway.vendor.answers((response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": String(body.length * 2) });
      response.write(body, () => response.destroy());
    });
    await expect(gateway.run(account, "bulk/dump")).rejects.toThrow();
    await eventually(async () => ((await gateway.heldCents(account)) === 0 ? true : undefined), "the hold to end");
    expect(await gateway.balanceCents(account)).toBe(100);
    expect(await gateway.doctor()).toEqual([]);
  });

  it("that somebody has to look into is buffered up to a bound", async () => {
    const account = await gateway.live({ creditCents: 100 });
    gateway.vendor.answers({ body: JSON.stringify({ results: rows }) });
    expect((await gateway.run(account, "acme/search", { q: "tea" })).json.charged_cents).toBe(1);
    gateway.vendor.answers({ body: JSON.stringify({ results: ["x".repeat(33 * 1024 * 1024)] }) });
    const tooLong = await gateway.run(account, "acme/search", { q: "tea" });
    expect([tooLong.status, tooLong.json.error]).toEqual([500, "upstream_error"]);
    expect(await gateway.balanceCents(account)).toBe(99);
  });
});

describe("a caller who leaves", () => {
  it("does not stop the vendor's work: it is charged, and its answer is kept under its key", async () => {
    const account = await gateway.live({ creditCents: 100 });
    const letGo = Promise.withResolvers<void>();
    gateway.vendor.answers((response) => void letGo.promise.then(() => response.end('{"order":"o1"}')));
    const { port } = new URL(gateway.url);
    const headers = {
      authorization: `Bearer ${account.key}`,
      "content-type": "application/json",
      "idempotency-key": "order-1",
    };
    const leaving = request({ port, method: "POST", path: "/api/run/acme/buy", headers });
    leaving.on("error", () => {});
    leaving.end('{"sku":"x"}');
    await eventually(() => (gateway.vendor.asked.length === 1 ? true : undefined), "the vendor to be asked");
    leaving.destroy();
    letGo.resolve();
    await eventually(async () => ((await gateway.balanceCents(account)) === 95 ? true : undefined), "the charge");
    const again = await gateway.run(account, "acme/buy", { sku: "x" }, { "idempotency-key": "order-1" });
    expect([again.headers.get("idempotent-replayed"), again.json.data]).toEqual(["true", { order: "o1" }]);
    expect(gateway.vendor.asked).toHaveLength(1);
  });

  it("in the middle of a long answer does not stop it either", async () => {
    const account = await gateway.live({ creditCents: 100 });
    const half = "x".repeat(3_000_000);
    const letGo = Promise.withResolvers<void>();
    gateway.vendor.answers((response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.write(`{"a":"${half}`);
      void letGo.promise.then(() => response.end(`${half}"}`));
    });
    const { port } = new URL(gateway.url);
    const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
    const leaving = request({ port, method: "POST", path: "/api/run/bulk/dump", headers });
    leaving.on("error", () => {});
    const begun = new Promise<void>((resolve) => {
      // The bytes are not read: the gateway must pause the vendor until its caller has gone.
      leaving.on("response", (response) => {
        response.pause();
        resolve();
      });
    });
    leaving.end("{}");
    await begun;
    leaving.destroy();
    letGo.resolve();
    await eventually(async () => ((await gateway.balanceCents(account)) === 98 ? true : undefined), "the charge");
  });
});

describe("a vendor that asks to be left alone", () => {
  it("is not asked again until its rest is over: the next calls are told at once how long to wait", async () => {
    const account = await gateway.live({ creditCents: 100 });
    gateway.vendor.answers({ status: 430, body: "blocked" });
    expect((await gateway.run(account, "resting/get")).status).toBe(500);
    const asked = gateway.vendor.asked.length;
    const next = await gateway.run(account, "resting/get");
    expect([next.status, next.json.error]).toEqual([500, "upstream_error"]);
    expect(Number(next.headers.get("retry-after"))).toBeGreaterThan(500);
    expect(gateway.vendor.asked).toHaveLength(asked);
    expect(await gateway.balanceCents(account)).toBe(100);
  });
});

describe("a good status with an error in the body", () => {
  it.each([{ error: "out of cheese" }, { error: { code: 7 } }])(
    "is a failure that nobody wrote a rule for: %j",
    async (body) => {
      const account = await gateway.live({ creditCents: 100 });
      gateway.vendor.answers({ body });
      const answer = await gateway.run(account, "bulk/dump");
      expect([answer.status, answer.json.error]).toEqual([500, "upstream_error"]);
      expect(await gateway.balanceCents(account)).toBe(100);
    },
  );

  it.each([{ error: null, rows: [] }, { error: "", rows: [] }, { rows: [{ error: "x" }] }])(
    "is none where the field says nothing, or is deeper: %j",
    async (body) => {
      const account = await gateway.live({ creditCents: 100 });
      gateway.vendor.answers({ body });
      expect((await gateway.run(account, "bulk/dump")).json.charged_cents).toBe(2);
    },
  );
});
