// Calling an action: the vendor's request, the caller's answer and the ledger's entries.
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startAcmeGateway } from "./acme-gateway.ts";

const gateway = forFile(await startAcmeGateway());

describe("a call that succeeds", () => {
  it("sends the params under the vendor's names, with our key and nothing of the caller's", async () => {
    const account = await gateway.live();
    gateway.vendor.answers({ body: { results: ["a"] } });
    await gateway.run(account, "acme/search", { q: "tea", limit: 3, max_cost_cents: 2 });
    const [asked] = gateway.vendor.asked;
    expect(asked).toMatchObject({ method: "POST", url: "/v1/search" });
    expect(asked?.body).toEqual({ mode: "fast", query: "tea", limit: 3 });
    expect(asked?.headers.authorization).toBe("Bearer acme-key");
    expect(JSON.stringify(asked?.headers)).not.toContain(account.key);
    expect(asked?.headers["x-request-id"]).toBeUndefined();
  });

  it("answers the envelope around the vendor's body as it came, and charges the listed price once", async () => {
    const account = await gateway.live({ creditCents: 100 });
    gateway.vendor.answers({ body: '{"results": ["a"],  "n":1e2}' });
    const answer = await gateway.run(account, "acme/search", { q: "tea" });
    expect(answer.status).toBe(200);
    expect(answer.text).toContain('"data":{"results": ["a"],  "n":1e2}');
    const [row] = await gateway.transactions(account);
    expect(answer.json).toMatchObject({ ok: true, charged_cents: 1, balance_remaining_cents: 99 });
    expect(row).toMatchObject({
      transaction_id: answer.json.transaction_id,
      request_id: answer.headers.get("x-request-id"),
      service: "acme",
      action: "search",
      charged_cents: 1,
      charged_nano_usd: 10_000_000,
    });
    expect(await gateway.heldCents(account)).toBe(0);
  });

  it("takes an empty body as no params", async () => {
    const account = await gateway.live();
    gateway.vendor.answers({ body: { ok: 1 } });
    expect((await gateway.run(account, "acme/free", "")).status).toBe(200);
  });

  it("has the four RateLimit headers and a request id", async () => {
    const account = await gateway.live();
    gateway.vendor.answers({ body: { results: ["a"] } });
    const { headers } = await gateway.run(account, "acme/search", { q: "tea" });
    for (const name of ["limit", "remaining", "reset", "policy"]) expect(headers.get(`ratelimit-${name}`)).toBeTruthy();
    expect(headers.get("x-request-id")).toMatch(/^req_/);
    expect(headers.get("content-type")).toBe("application/json");
  });

  it("has them when a browser asks first whether it may be called, which counts for nothing", async () => {
    const ask = async () => {
      const { status, headers } = await fetch(`${gateway.url}/api/run/acme/search`, { method: "OPTIONS" });
      return [status, ...["limit", "remaining", "policy"].map((name) => headers.get(`ratelimit-${name}`))];
    };
    const [first, second] = [await ask(), await ask()];
    expect(first).toEqual([200, expect.stringMatching(/^\d+$/), expect.stringMatching(/^\d+$/), expect.any(String)]);
    expect(second[1]).toBe(first[1]);
    expect(Number(second[2])).toBeGreaterThanOrEqual(Number(first[2]));
  });
});

describe("what it costs", () => {
  it("fractions of a cent are real: ten calls of a tenth are one cent", async () => {
    const account = await gateway.live({ creditCents: 100 });
    gateway.vendor.answers({ body: { ok: 1 } });
    const charged: unknown[] = [];
    for (let call = 0; call < 10; call++) {
      charged.push((await gateway.run(account, "acme/ranged", { items: ["a"] })).json.charged_cents);
    }
    expect(charged).toEqual([1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    expect(await gateway.balanceCents(account)).toBe(99);
  });

  it("a ranged price follows the params", async () => {
    const account = await gateway.live({ creditCents: 100 });
    gateway.vendor.answers({ body: { ok: 1 } });
    const items = Array.from({ length: 20 }, String);
    expect((await gateway.run(account, "acme/ranged", { items })).json.charged_cents).toBe(2);
  });

  it.each([
    [{ used: 3 }, 6],
    [{ used: 0 }, 1],
    [{ used: 1_000 }, 10],
    [{ used: "2" }, 4],
    [{}, 1],
    [{ used: [1, 2, 3] }, 6],
    [{ used: -4 }, 1],
    [{ used: 1.7 }, 4],
  ])("a capped price is read from the answer, within its bounds: %j", async (body, cents) => {
    const account = await gateway.live({ creditCents: 100 });
    gateway.vendor.answers({ body });
    const { json } = await gateway.run(account, "acme/capped");
    expect(json.charged_cents).toBe(cents);
    expect(await gateway.balanceCents(account)).toBe(100 - cents);
  });

  it("a miss is ok and free where its price says so", async () => {
    const account = await gateway.live({ creditCents: 100 });
    gateway.vendor.answers({ body: { results: [] } });
    const answer = await gateway.run(account, "acme/search", { q: "nothing" });
    expect(answer).toMatchObject({ status: 200, json: { ok: true, data: { results: [] }, charged_cents: 0 } });
    expect(await gateway.balanceCents(account)).toBe(100);
  });

  it("a free action writes nothing, runs without money and for a paused key", async () => {
    const account = await gateway.live({ creditCents: 0 });
    gateway.vendor.answers({ body: { ok: 1 } });
    const answer = await gateway.run(account, "acme/free");
    expect(answer.json).toEqual({ ok: true, data: { ok: 1 }, charged_cents: 0, balance_remaining_cents: 0 });
    expect(await gateway.transactions(account)).toEqual([]);
  });

  it("max_cost_cents below the quote refuses before anything is held or sent", async () => {
    const account = await gateway.live({ creditCents: 100 });
    gateway.vendor.answers({ body: { ok: 1 } });
    const items = Array.from({ length: 20 }, String);
    const refused = await gateway.run(account, "acme/ranged", { items, max_cost_cents: 1 });
    expect(refused).toMatchObject({ status: 402, json: { ok: false, error: "max_cost_exceeded" } });
    expect(gateway.vendor.asked).toEqual([]);
    expect((await gateway.run(account, "acme/ranged", { items, max_cost_cents: 2 })).status).toBe(200);
  });

  it("the bound on the cost can come in a header, as with models, and the smaller one counts", async () => {
    const account = await gateway.live({ creditCents: 100 });
    gateway.vendor.answers({ body: { ok: 1 } });
    const items = Array.from({ length: 20 }, String);
    const bounded = (cents: string, params = {}) =>
      gateway.run(account, "acme/ranged", { items, ...params }, { "x-tollgate-max-cost-cents": cents });
    expect((await bounded("1", { max_cost_cents: 50 })).json.error).toBe("max_cost_exceeded");
    expect((await bounded("x")).json.data).toMatchObject({ fields: [{ path: "x-tollgate-max-cost-cents" }] });
    expect(gateway.vendor.asked).toEqual([]);
    expect((await bounded("2")).status).toBe(200);
  });

  it("what the balance cannot pay is refused before the vendor is asked", async () => {
    const account = await gateway.live({ creditCents: 4 });
    gateway.vendor.answers({ body: { ok: 1 } });
    const refused = await gateway.run(account, "acme/buy", { sku: "x" });
    expect(refused).toMatchObject({ status: 402, json: { error: "insufficient_balance", data: { balance_cents: 4 } } });
    expect(gateway.vendor.asked).toEqual([]);
  });
});

describe("what is wrong with a call is said with the field's name, and costs nothing", () => {
  it.each([
    ["acme/search", {}, "q"],
    ["acme/search", { q: "" }, "q"],
    ["acme/search", { q: "tea", limit: 10 }, "limit"],
    ["acme/search", { q: "tea", colour: "red" }, "colour"],
    ["acme/search", { q: "tea", max_cost_cents: -1 }, "max_cost_cents"],
    ["acme/search", { q: "tea", max_cost_cents: 1.5 }, "max_cost_cents"],
    ["acme/search", { q: "tea", max_cost_cents: "5" }, "max_cost_cents"],
    ["acme/ranged", { items: [] }, "items"],
    ["acme/ranged", { items: ["a", 3] }, "items.1"],
  ])("%s with %j names %s", async (action, params, field) => {
    const account = await gateway.live();
    gateway.vendor.answers({ body: {} });
    const { status, json } = await gateway.run(account, action, params);
    expect([status, json.error]).toEqual([400, "bad_request"]);
    expect((json.data as { fields: { path: string }[] }).fields.map(({ path }) => path)).toEqual([field]);
    expect(gateway.vendor.asked).toEqual([]);
    expect(await gateway.transactions(account)).toEqual([]);
  });

  it.each(["[1]", "3", "null", "{", '"x"', '{"q":"\xff'])("a body that is no object of params: %s", async (body) => {
    const account = await gateway.live();
    expect((await gateway.run(account, "acme/search", body)).json.error).toBe("bad_request");
  });

  it("an action that is not there is 404 before its params are looked at", async () => {
    const account = await gateway.live();
    expect((await gateway.run(account, "acme/nothing", { x: 1 })).json.error).toBe("not_found");
    expect((await gateway.run(account, "nobody/search", "{")).json.error).toBe("not_found");
  });

  it("without a key it is 401, whatever the body", async () => {
    expect((await gateway.run("tg_sk_wrong", "acme/search", "{")).status).toBe(401);
  });

  it("a vendor without a key of ours is 503", async () => {
    const bare = await startAcmeGateway({ ACME_API_KEY: "" });
    try {
      const answer = await bare.run(await bare.live(), "acme/search", { q: "tea" });
      expect(answer).toMatchObject({ status: 503, json: { error: "upstream_not_configured" } });
    } finally {
      await bare.stop();
    }
  });
});

describe("answers that are no JSON", () => {
  it("text comes under the name that the action gives it", async () => {
    const account = await gateway.live();
    gateway.vendor.answers({ headers: { "content-type": "text/html; charset=utf-8" }, body: "<p>hällo</p>" });
    const { json } = await gateway.run(account, "acme/page");
    expect(json.data).toEqual({ html: "<p>hällo</p>", content_type: "text/html; charset=utf-8" });
  });

  it("bytes come as base64, text of that kind as text", async () => {
    const account = await gateway.live();
    const bytes = Buffer.from([0, 255, 1, 254]);
    gateway.vendor.answers({ headers: { "content-type": "image/png" }, body: bytes });
    const png = await gateway.run(account, "acme/bytes");
    expect(png.json.data).toEqual({ content_type: "image/png", size_bytes: 4, base64: bytes.toString("base64") });
    gateway.vendor.answers({ headers: { "content-type": "text/plain" }, body: "hi" });
    expect((await gateway.run(account, "acme/bytes")).json.data).toMatchObject({ text: "hi", size_bytes: 2 });
  });

  it("a redirect at the vendor's own address is followed as often as the action says, never elsewhere", async () => {
    const account = await gateway.live();
    const to = (location: string) => ({ status: 302, headers: { location }, body: "" });
    gateway.vendor.answers(to("/v1/other?x=1"), { headers: { "content-type": "text/plain" }, body: "hi" });
    expect((await gateway.run(account, "acme/bytes")).json.data).toMatchObject({ text: "hi" });
    expect(gateway.vendor.asked.map(({ url }) => url)).toEqual(["/v1/get", "/v1/other?x=1"]);
    gateway.vendor.answers(to("http://127.0.0.1:1/"));
    expect((await gateway.run(account, "acme/bytes")).status).toBe(500);
    expect(gateway.vendor.asked).toHaveLength(1);
  });
});
