// Actions whose requests are made by a function of their adapter: what it may request, what its result means, and what can go wrong in it.
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startAcmeGateway } from "./acme-gateway.ts";

const gateway = forFile(await startAcmeGateway());
const account = await gateway.live({ creditCents: 1_000 });

const taken = { body: { bench: "b 1", next: "https://elsewhere.invalid/v1/benches/b-1/work?x=1" } };
const busy = { body: { state: "busy" } };
const done = { body: { state: "done", made: ["chair"] } };
const given = { body: {} };

async function make(params: object = {}) {
  const before = await gateway.balanceCents(account);
  const told = await gateway.run(account, "workshop/make", params);
  return { ...told, cents: before - (await gateway.balanceCents(account)) };
}

describe("a script", () => {
  it("asks as often as it takes: one call, one charge, our key shown as the adapter says", async () => {
    gateway.vendor.answers(taken, busy, busy, done, given);
    const told = await make();
    expect([told.status, told.cents, told.json.data]).toEqual([200, 3, { bench: "b 1", made: ["chair"] }]);
    const next = { method: "GET", url: "/v1/benches/b-1/work?x=1", body: "" };
    expect(gateway.vendor.asked).toMatchObject([
      { method: "POST", url: "/v1/benches", body: { signed: "key-of-ours signed" } },
      { method: "POST", url: "/v1/benches/b%201", body: { wish: "chair" } },
      next,
      next,
      { method: "DELETE", url: "/v1/benches/b%201" },
    ]);
    expect(gateway.vendor.asked.every(({ headers }) => headers["x-key"] === "key-of-ours")).toBe(true);
  });

  it("is ended by a failure that the rules know, and can clear up behind itself", async () => {
    gateway.vendor.answers(taken, { body: { broken: true } }, given);
    const told = await make();
    expect([told.status, told.json.error, told.cents]).toEqual([500, "upstream_error", 0]);
    expect(gateway.vendor.asked[2]).toMatchObject({ method: "DELETE", url: "/v1/benches/b%201" });
  });

  it("is ended by a miss that the rules know", async () => {
    gateway.vendor.answers(taken, { body: { wood: "none" } }, given);
    const told = await make();
    expect([told.status, told.cents, told.json.data]).toEqual([200, 0, { made: [] }]);
  });

  it("says itself that nothing was found, or whose fault it is", async () => {
    gateway.vendor.answers(taken, { body: { state: "sold out" } }, given);
    expect(await make()).toMatchObject({ status: 200, cents: 0, json: { ok: true, data: { made: null } } });
    gateway.vendor.answers(taken, { body: { state: "unknown" } }, given);
    const refused = await make({ wish: "dragon" });
    expect([refused.json.error, refused.cents]).toEqual(["upstream_rejected", 0]);
    expect(refused.text).toContain("nobody can make a dragon");
    gateway.vendor.answers(taken, busy);
    expect(await make({ tries: 1 })).toMatchObject({ status: 500, cents: 0, json: { error: "upstream_error" } });
  });

  it("is held to what its action issues and sells", async () => {
    gateway.vendor.answers(taken, { body: { state: "done" } }, given);
    expect(await make()).toMatchObject({ status: 500, cents: 0, json: { error: "upstream_error" } });
    gateway.vendor.answers({ body: { bench: 7.5 } }, done, given);
    expect((await make()).status).toBe(200);
    gateway.vendor.answers({ body: { bench: ".." } }, done, given);
    expect(await make()).toMatchObject({ status: 500, cents: 0, json: { error: "upstream_error" } });
    expect(gateway.vendor.asked).toHaveLength(1);
  });

  it("is played by the sandbox, whose answers are the example's", async () => {
    const play = await gateway.account();
    const told = await gateway.run(play, "workshop/make");
    expect([told.status, told.json.charged_cents]).toEqual([200, 3]);
    expect(told.json.data).toMatchObject({ bench: expect.stringMatching(/^bench-/), made: ["chair"] });
    const broken = await gateway.run(
      play,
      "workshop/make",
      {},
      { "x-tollgate-sandbox-fault": "means-provider_server_error" },
    );
    expect([broken.status, broken.json.error]).toEqual([500, "upstream_error"]);
  });
});

describe("what goes wrong in a script", () => {
  it.each([
    ["at once", 500, "internal_error"],
    ["ended at once", 500, "upstream_error"],
    ["a field that is not there", 500, "upstream_error"],
    ["a word", 500, "upstream_error"],
    ["a loop", 500, "upstream_error"],
    ["to wait", 500, "upstream_error"],
  ])("%s: the call is free, and the gateway lives", async (wish, status, error) => {
    const before = await gateway.balanceCents(account);
    gateway.vendor.answers({ status: 500, body: {} }, { body: {} });
    if (wish !== "a loop") gateway.vendor.answers({ body: {} });
    const told = await gateway.run(account, "workshop/odd", { wish });
    expect([told.status, told.json.error]).toEqual([status, error]);
    expect(await gateway.balanceCents(account)).toBe(before);
    expect(await gateway.heldCents(account)).toBe(0);
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
  });

  it("an answer that it does not wait for ends nothing, whatever becomes of it", async () => {
    gateway.vendor.answers((response) => void response.socket?.destroy());
    expect(await gateway.run(account, "workshop/odd", { wish: "to go on" })).toMatchObject({ status: 200 });
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
  });
});

it("after all of it the books agree", async () => {
  expect(await gateway.doctor()).toEqual([]);
});
