import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { openGate } from "./gate.ts";

const gate = forFile(await openGate());

async function open(body: object = {}): Promise<{ id: string; key: string; balance: number }> {
  const { status, body: account } = await gate.admin("POST", "/admin/v1/accounts", { name: "one", ...body });
  expect(status).toBe(201);
  return { id: account.account_id, key: account.api_key, balance: account.balance_cents };
}

describe("POST /admin/v1/accounts", () => {
  test.each([
    [{}, 200, "personal"],
    [{ kind: "business" }, 1_000, "business"],
    [{ kind: "sandbox" }, 1_000, "sandbox"],
    [{ credit_cents: 5 }, 5, "personal"],
    [{ credit_cents: 0 }, 0, "personal"],
  ])("%j opens with %i cents", async (body, cents, kind) => {
    const { id, key, balance } = await open(body);
    expect(balance).toBe(cents);
    const { body: own } = await gate.call(key, "GET", "/api/v1/account");
    expect(own).toMatchObject({ account_id: id, kind, balance_cents: cents });
  });

  test.each([
    [{}, "name"],
    [{ name: "" }, "name"],
    [{ name: "x", kind: "gold" }, "kind"],
    [{ name: "x", credit_cents: -5 }, "credit_cents"],
    [{ name: "x", credit: 5 }, "credit"],
  ])("%j is 400", async (body, field) => {
    const before = await gate.ledger.accounts();
    const answer = await gate.admin("POST", "/admin/v1/accounts", body);
    expect([answer.status, answer.body.error, answer.body.param]).toEqual([400, "bad_request", field]);
    expect(await gate.ledger.accounts()).toEqual(before);
  });

  test("opens no sandbox account where there is no sandbox", async () => {
    const closed = await openGate({ sandbox: false });
    const { status, body } = await closed.admin("POST", "/admin/v1/accounts", { name: "x", kind: "sandbox" });
    await closed.close();
    expect([status, body.param]).toEqual([400, "kind"]);
  });
});

test("accounts are listed page by page, each once, and the next page is where the last one ended", async () => {
  const ids = new Set<string>();
  for (let at = 0; at < 3; at++) ids.add((await open()).id);
  const seen: string[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const query: string = cursor === "" ? "?limit=2" : `?limit=2&cursor=${cursor}`;
    const { status, body } = await gate.admin("GET", `/admin/v1/accounts${query}`);
    expect(status).toBe(200);
    expect(body.accounts.length).toBeLessThanOrEqual(2);
    seen.push(...body.accounts.map((row: { account_id: string }) => row.account_id));
    cursor = body.next_cursor;
  }
  const all = (await gate.ledger.accounts()).map(({ accountId }) => accountId);
  expect(seen.toSorted()).toEqual(all.toSorted());
  expect(seen).toEqual(expect.arrayContaining([...ids]));
  expect((await gate.admin("GET", "/admin/v1/accounts?limit=1001")).status).toBe(400);
  const [id = ""] = ids;
  const { body: keyed } = await gate.admin("GET", `/admin/v1/accounts/${id}`);
  for (const q of [id, id.slice(0, 15), keyed.keys[0].id]) {
    const { accounts } = (await gate.admin("GET", `/admin/v1/accounts?q=${q}`)).body;
    expect(accounts.map((row: { account_id: string }) => row.account_id)).toEqual([id]);
  }
  expect((await gate.admin("GET", "/admin/v1/accounts?q=")).status).toBe(400);
});

test("everything below /admin/v1 needs the admin token; an account's key is none", async () => {
  const { id, key } = await open();
  const paths: [string, string][] = [
    ["POST", "/admin/v1/accounts"],
    ["GET", "/admin/v1/accounts"],
    ["GET", `/admin/v1/accounts/${id}`],
    ["PATCH", `/admin/v1/accounts/${id}`],
    ["POST", `/admin/v1/accounts/${id}/credits`],
    ["POST", `/admin/v1/accounts/${id}/keys`],
    ["GET", "/admin/v1/transactions/tx_1"],
    ["POST", "/admin/v1/transactions/tx_1/refund"],
    ["GET", "/admin/v1/doctor"],
    ["POST", "/admin/v1/backup"],
  ];
  for (const [method, path] of paths) {
    for (const token of [null, "wrong", key]) expect((await gate.call(token, method, path, {})).status).toBe(401);
  }
});

describe("an account", () => {
  test("is shown with its keys, and no secret", async () => {
    const { id, key } = await open({ name: "Ada" });
    const { body } = await gate.admin("GET", `/admin/v1/accounts/${id}`);
    expect(body).toMatchObject({
      account_id: id,
      name: "Ada",
      kind: "personal",
      created_at: new Date(gate.clock.epochMs()).toISOString(),
      frozen: false,
      balance_cents: 200,
      held_cents: 0,
      granted_cents: 200,
      spent_cents: 0,
      inference_cap_cents: 1_000,
      rate_limit: { requests_per_minute: 600, in_flight: 64 },
      keys: [{ label: "primary", primary: true }],
    });
    expect(JSON.stringify(body)).not.toContain(key);
    const { body: list } = await gate.admin("GET", "/admin/v1/accounts");
    expect(list.accounts.map((row: { account_id: string }) => row.account_id)).toContain(id);
    expect((await gate.admin("GET", "/admin/v1/accounts/acct_none")).status).toBe(404);
  });

  test("that is frozen has no paid calls from the next one on", async () => {
    const { id, key } = await open();
    const keyId = (await gate.call(key, "GET", "/api/v1/account")).body.key.id;
    await gate.charge(id, keyId, 1);
    const { body } = await gate.admin("PATCH", `/admin/v1/accounts/${id}`, { frozen: true });
    expect(body.frozen).toBe(true);
    await expect(gate.charge(id, keyId, 1)).rejects.toThrow("frozen");
    await gate.admin("PATCH", `/admin/v1/accounts/${id}`, { frozen: false });
    await gate.charge(id, keyId, 1);
  });

  test("takes new limits, one by one", async () => {
    const { id } = await open();
    const path = `/admin/v1/accounts/${id}`;
    await gate.admin("PATCH", path, { rate_limit: { in_flight: 512 } });
    await gate.admin("PATCH", path, { rate_limit: { requests_per_minute: 10_000 }, inference_cap_cents: 5_000 });
    expect((await gate.admin("GET", path)).body).toMatchObject({
      inference_cap_cents: 5_000,
      rate_limit: { requests_per_minute: 10_000, in_flight: 512 },
    });
  });

  test("an account's bounds are shown, and are strict for as long as the operator wants", async () => {
    const { id, key } = await open();
    const path = `/admin/v1/accounts/${id}`;
    expect((await gate.admin("GET", path)).body).toMatchObject({ strict_bounds: false });
    expect((await gate.admin("PATCH", path, { strict_bounds: true })).body).toMatchObject({ strict_bounds: true });
    expect((await gate.admin("GET", "/admin/v1/accounts")).body.accounts).toContainEqual(
      expect.objectContaining({ account_id: id, strict_bounds: true, frozen: false }),
    );
    expect((await gate.call(key, "GET", "/api/v1/account")).body).not.toHaveProperty("strict_bounds");
    expect((await gate.admin("PATCH", path, { strict_bounds: false })).body).toMatchObject({ strict_bounds: false });
  });

  test.each([
    [{ frozen: "yes" }, "frozen"],
    [{ strict_bounds: 1 }, "strict_bounds"],
    [{ rate_limit: { in_flight: 0 } }, "rate_limit.in_flight"],
    [{ rate_limit: { per_minute: 5 } }, "rate_limit.per_minute"],
    [{ balance_cents: 5 }, "balance_cents"],
    [{ name: "\ud800" }, "name"],
  ])("does not take %j", async (body, field) => {
    const { id } = await open();
    const answer = await gate.admin("PATCH", `/admin/v1/accounts/${id}`, body);
    expect([answer.status, answer.body.param]).toEqual([400, field]);
  });

  test("a limit that is too high is told how high it may be", async () => {
    const { id } = await open();
    const rate_limit = { requests_per_minute: 10_000_001, in_flight: 1_000_001 };
    const { status, body } = await gate.admin("PATCH", `/admin/v1/accounts/${id}`, { rate_limit });
    expect(status).toBe(400);
    expect(body.data.fields).toEqual([
      { path: "rate_limit.requests_per_minute", message: "must be at most 10000000" },
      { path: "rate_limit.in_flight", message: "must be at most 1000000" },
    ]);
  });
});

describe("GET /admin/v1/transactions/{id}", () => {
  test("shows all that is kept of a transaction, with what each of its legs cost us", async () => {
    const { id, key } = await open({ credit_cents: 500 });
    const keyId = (await gate.call(key, "GET", "/api/v1/account")).body.key.id;
    const transaction = await gate.charge(id, keyId, 3);
    const { status, body } = await gate.admin("GET", `/admin/v1/transactions/${transaction}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      ...{ transaction_id: transaction, account_id: id, key_id: keyId, kind: "charge", charged_nano_usd: 30_000_000 },
      ...{ endpoint: "chat", model: "acme/small", asked: "core/cheap", served: "acme/small", vendor: "acme" },
      ...{ upstream_nano_usd: 1, absorbed_nano_usd: 0, absorb_reason: null, price_version: "acme/small@2026-01-01" },
      legs: [
        { id: `${transaction}.1`, vendor: "brand", ok: false, ms: 40, reason: "provider", upstream_nano_usd: 0 },
        { id: `${transaction}.2`, vendor: "acme", ok: true, ms: 120, reason: null, upstream_nano_usd: 1 },
      ],
    });
    expect((await gate.admin("GET", `/admin/v1/transactions/${transaction}.2`)).body.legs).toHaveLength(1);
    expect((await gate.admin("GET", "/admin/v1/transactions/tx_none")).status).toBe(404);
    expect((await gate.call(key, "GET", `/admin/v1/transactions/${transaction}`)).status).toBe(401);
  });
});

describe("credits and refunds", () => {
  test("a credit counts once per reference", async () => {
    const { id, key } = await open();
    const path = `/admin/v1/accounts/${id}/credits`;
    const first = await gate.admin("POST", path, { cents: 300, reference: "invoice-1" });
    expect(first).toMatchObject({ status: 200, body: { balance_cents: 500, repeated: false } });
    const again = await gate.admin("POST", path, { cents: 300, reference: "invoice-1" });
    expect(again).toMatchObject({ status: 200, body: { balance_cents: 500, repeated: true } });
    expect((await gate.call(key, "GET", "/api/v1/account")).body.balance_cents).toBe(500);
  });

  test.each([
    [{ cents: 0, reference: "r" }, "cents"],
    [{ cents: -5, reference: "r" }, "cents"],
    [{ cents: 5 }, "reference"],
    [{ cents: 900_000_000, reference: "r" }, "cents"],
    [{ cents: 5, reference: "\ud800" }, "reference"],
  ])("%j is 400 and credits nothing", async (body, field) => {
    const { id, key } = await open();
    const answer = await gate.admin("POST", `/admin/v1/accounts/${id}/credits`, body);
    expect([answer.status, answer.body.param]).toEqual([400, field]);
    expect((await gate.call(key, "GET", "/api/v1/account")).body.balance_cents).toBe(200);
  });

  test("a credit needs an account", async () => {
    const body = { cents: 5, reference: "r" };
    expect((await gate.admin("POST", "/admin/v1/accounts/acct_none/credits", body)).status).toBe(404);
  });

  test("a charge is given back once", async () => {
    const { id, key } = await open();
    const keyId = (await gate.call(key, "GET", "/api/v1/account")).body.key.id;
    const transaction = await gate.charge(id, keyId, 50);
    const path = `/admin/v1/transactions/${transaction}/refund`;
    const first = await gate.admin("POST", path, { reason: "was wrong" });
    expect(first.body).toMatchObject({ refunded_usd: "0.5", refunded_nano_usd: 500_000_000, repeated: false });
    const again = await gate.admin("POST", path, { reason: "was wrong" });
    expect(again.body).toMatchObject({ refund_id: first.body.refund_id, repeated: true });
    expect((await gate.call(key, "GET", "/api/v1/account")).body.balance_cents).toBe(200);
    expect((await gate.admin("POST", "/admin/v1/transactions/tx_none/refund", { reason: "x" })).status).toBe(404);
    expect((await gate.admin("POST", path, {})).body.param).toBe("reason");
  });
});

describe("keys in the operator's hands", () => {
  test("are made, paused, resumed, rotated and revoked like the account's own", async () => {
    const { id } = await open();
    const path = `/admin/v1/accounts/${id}/keys`;
    const { status, body: made } = await gate.admin("POST", path, { label: "robot", ceiling_cents: 10 });
    expect(status).toBe(201);
    const key = `${path}/${made.id}`;
    expect((await gate.call(made.api_key, "GET", "/api/v1/account")).body.key.ceiling_cents).toBe(10);
    expect((await gate.admin("PATCH", key, { paused: true })).body.paused).toBe(true);
    expect((await gate.admin("PATCH", key, { paused: false })).body.paused).toBe(false);
    const { body: rotated } = await gate.admin("POST", `${key}/rotate`);
    expect((await gate.call(made.api_key, "GET", "/api/v1/account")).status).toBe(401);
    expect((await gate.call(rotated.api_key, "GET", "/api/v1/account")).status).toBe(200);
    expect((await gate.admin("DELETE", key)).status).toBe(200);
    expect((await gate.call(rotated.api_key, "GET", "/api/v1/account")).status).toBe(401);
  });

  test("belong to the account that the path names", async () => {
    const [one, other] = [await open(), await open()];
    const { body: made } = await gate.admin("POST", `/admin/v1/accounts/${one.id}/keys`, {});
    for (const method of ["PATCH", "DELETE"]) {
      expect((await gate.admin(method, `/admin/v1/accounts/${other.id}/keys/${made.id}`, {})).status).toBe(404);
    }
    expect((await gate.admin("POST", "/admin/v1/accounts/acct_none/keys", {})).status).toBe(404);
  });
});

describe("the ledger's care", () => {
  test("the doctor finds nothing wrong with a used ledger", async () => {
    const { id, key } = await open();
    await gate.charge(id, (await gate.call(key, "GET", "/api/v1/account")).body.key.id, 1);
    const { status, body } = await gate.admin("GET", "/admin/v1/doctor");
    expect(status).toBe(200);
    expect(body).toMatchObject({ accounts: expect.any(Number), holds: 0, findings: [] });
  });

  test("a backup is written where nothing is, and nowhere else", async () => {
    await open();
    const path = join(gate.folder, "copy.sqlite");
    expect(await gate.admin("POST", "/admin/v1/backup", { path })).toEqual({ status: 200, body: { path } });
    expect(existsSync(path)).toBe(true);
    writeFileSync(join(gate.folder, "precious"), "keep me");
    const over = await gate.admin("POST", "/admin/v1/backup", { path: join(gate.folder, "precious") });
    expect([over.status, over.body.error]).toEqual([409, "conflict"]);
    expect((await gate.admin("POST", "/admin/v1/backup", { path: "relative" })).body.param).toBe("path");
  });
});

describe("watching", () => {
  test("health, readiness and metrics need no token", async () => {
    expect(await gate.call(null, "GET", "/healthz")).toEqual({ status: 200, body: { ok: true } });
    expect(await gate.call(null, "GET", "/readyz")).toEqual({ status: 200, body: { ready: true } });
    expect(await gate.call(null, "GET", "/metrics")).toEqual({ status: 200, body: "up 1\n" });
  });

  test("a process that cannot serve says why", async () => {
    gate.readiness = { ready: false, reason: "draining" };
    expect(await gate.call(null, "GET", "/readyz")).toEqual({
      status: 503,
      body: { ready: false, reason: "draining" },
    });
  });
});
