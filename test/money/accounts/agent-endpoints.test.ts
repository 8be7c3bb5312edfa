// An account's keys: made, changed, paused, rotated and revoked by its primary key.
import { beforeEach, describe, expect, test } from "vitest";
import { GatewayError } from "../../../src/core/errors.ts";
import { revokeKey } from "../../../src/money/accounts/keys.ts";
import { forFile } from "../../support/for-file.ts";
import { openGate } from "./gate.ts";
import { type Account, openAccount, openAgent } from "./open-account.ts";

let own: Account;

const gate = forFile(await openGate());
beforeEach(async () => {
  own = await openAccount(gate);
});

const agent = (body?: object) => openAgent(gate, own, body);

describe("POST /api/v1/agents", () => {
  test("makes a key and shows its secret once", async () => {
    const { status, body } = await gate.call(own.key, "POST", "/api/v1/agents", {
      label: "robot",
      ceiling_cents: 100,
      ceiling_period: "week",
      external_id: "r-1",
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      label: "robot",
      external_id: "r-1",
      primary: false,
      ceiling_cents: 100,
      ceiling_period: "week",
      spent_cents: 0,
      last_used_at: null,
      paused: false,
      created_at: new Date(gate.clock.epochMs()).toISOString(),
    });
    expect(body.api_key).toMatch(/^tg_sk_[0-9A-Za-z]{49}$/);
    const { body: list } = await gate.call(own.key, "GET", "/api/v1/agents");
    expect(list.agents).toHaveLength(2);
    expect(JSON.stringify(list)).not.toContain(body.api_key);
    expect((await gate.call(body.api_key, "GET", "/api/v1/account")).status).toBe(200);
  });

  test("without a body makes a key without a ceiling", async () => {
    const { status, body } = await gate.call(own.key, "POST", "/api/v1/agents");
    expect(status).toBe(201);
    expect(body).toMatchObject({ label: "agent", ceiling_cents: null, ceiling_period: null, external_id: null });
  });

  test("a ceiling without a period is one of a month", async () => {
    const { body } = await gate.call(own.key, "POST", "/api/v1/agents", { ceiling_cents: 0 });
    expect(body).toMatchObject({ ceiling_cents: 0, ceiling_period: "month" });
  });

  test("takes what the key may call, and until when", async () => {
    const { status, body } = await gate.call(own.key, "POST", "/api/v1/agents", {
      services: ["files", "exa/search", "core/onescrape-deep", "browser/create_session", "files"],
      models: ["cheap", "core/cheap", "openai/gpt-5.4-nano", "custom/Qwen3:8b"],
      expires_at: "2026-05-06T15:30:00+02:00",
    });
    expect(status).toBe(201);
    const limits = {
      services: ["files", "exa/search", "core/onescrape-deep", "browser/create_session"],
      models: ["core/cheap", "openai/gpt-5.4-nano", "custom/Qwen3:8b"],
      expires_at: "2026-05-06T13:30:00.000Z",
    };
    expect(body).toMatchObject(limits);
    const { body: own_row } = await gate.call(body.api_key, "GET", "/api/v1/agents");
    expect(own_row.agents).toMatchObject([limits]);
  });

  test("without limits makes a key for everything and for ever; empty lists are for nothing", async () => {
    const { body: free } = await gate.call(own.key, "POST", "/api/v1/agents", { services: null, expires_at: null });
    expect(free).toMatchObject({ services: null, models: null, expires_at: null });
    const { body: bound } = await gate.call(own.key, "POST", "/api/v1/agents", { services: [], models: [] });
    expect(bound).toMatchObject({ services: [], models: [] });
  });

  test("an external_id is taken once per account", async () => {
    await agent({ external_id: "r-1" });
    const again = await gate.call(own.key, "POST", "/api/v1/agents", { external_id: "r-1" });
    expect([again.status, again.body.error, again.body.param]).toEqual([409, "conflict", "external_id"]);
    const other = await openAccount(gate);
    expect((await gate.call(other.key, "POST", "/api/v1/agents", { external_id: "r-1" })).status).toBe(201);
  });

  test("bytes that are no UTF-8 are 400, not kept as other text", async () => {
    const { status, body } = await gate.call(
      own.key,
      "POST",
      "/api/v1/agents",
      Buffer.from('{"label":"caf\xe9"}', "latin1"),
    );
    expect([status, body.error]).toEqual([400, "bad_request"]);
    expect(body.message).toContain("UTF-8");
  });

  test("of a sandbox account makes a sandbox key", async () => {
    const sandbox = await openAccount(gate, { kind: "sandbox" });
    expect(sandbox.key).toMatch(/^tg_sk_test_/);
    const { body } = await gate.call(sandbox.key, "POST", "/api/v1/agents");
    expect(body.api_key).toMatch(/^tg_sk_test_/);
  });

  test.each([
    [{ label: "" }, "label"],
    [{ label: "x".repeat(101) }, "label"],
    [{ label: 5 }, "label"],
    [{ ceiling_cents: -1 }, "ceiling_cents"],
    [{ ceiling_cents: 1.5 }, "ceiling_cents"],
    [{ ceiling_cents: "100" }, "ceiling_cents"],
    [{ ceiling_cents: 1e300 }, "ceiling_cents"],
    [{ ceiling_cents: 1, ceiling_period: "year" }, "ceiling_period"],
    [{ ceiling_period: "day" }, "ceiling_period"],
    [{ external_id: "" }, "external_id"],
    [{ external_id: "order \ud800" }, "external_id"],
    [{ label: "\udc00" }, "label"],
    [{ cieling_cents: 5 }, "cieling_cents"],
    [{ services: "files" }, "services"],
    [{ services: ["Files"] }, "services.0"],
    [{ services: ["files", "files/get/more"] }, "services.1"],
    [{ services: ["../admin"] }, "services.0"],
    [{ services: [""] }, "services.0"],
    [{ services: ["s".repeat(201)] }, "services.0"],
    [{ services: Array.from({ length: 201 }, (_, at) => `s${at}`) }, "services"],
    [{ models: ["openai/"] }, "models.0"],
    [{ models: ["a b"] }, "models.0"],
    [{ models: [null] }, "models.0"],
    [{ models: Array.from({ length: 201 }, (_, at) => `maker/m${at}`) }, "models"],
    [{ expires_at: "tomorrow" }, "expires_at"],
    [{ expires_at: "2026-13-01T00:00:00Z" }, "expires_at"],
    [{ expires_at: "2026-05-06" }, "expires_at"],
    [{ expires_at: 1_900_000_000_000 }, "expires_at"],
    [{ expires_at: "2026-05-06T12:00:00Z" }, "expires_at"],
    [{ expires_at: "2026-05-06T13:59:59+02:00" }, "expires_at"],
  ])("%j is 400 and names the field", async (body, field) => {
    const answer = await gate.call(own.key, "POST", "/api/v1/agents", body);
    expect([answer.status, answer.body.error, answer.body.param]).toEqual([400, "bad_request", field]);
    expect(answer.body.message).toContain(`${field}: `);
    expect(answer.body.data.fields).toEqual([{ path: field, message: expect.any(String) }]);
  });

  test("all fields at fault are told at once", async () => {
    const { body } = await gate.call(own.key, "POST", "/api/v1/agents", { label: 5, ceiling_cents: "x" });
    expect(body.data.fields.map(({ path }: { path: string }) => path)).toEqual(["label", "ceiling_cents"]);
    expect(body.message).toContain("1 more");
  });

  test.each(["{", "[]", "null", '"text"', "\u0000"])("the body %j is 400", async (body) => {
    expect(await gate.call(own.key, "POST", "/api/v1/agents", body)).toMatchObject({
      status: 400,
      body: { error: "bad_request" },
    });
  });
});

describe("PATCH /api/v1/agents/{id}", () => {
  test("changes what is named and nothing else", async () => {
    const { id } = await agent({ ceiling_cents: 100, ceiling_period: "day", external_id: "r-1" });
    const path = `/api/v1/agents/${id}`;
    const renamed = await gate.call(own.key, "PATCH", path, { label: "new" });
    expect(renamed).toMatchObject({ status: 200, body: { label: "new", ceiling_cents: 100, ceiling_period: "day" } });
    const raised = await gate.call(own.key, "PATCH", path, { ceiling_cents: 200 });
    expect(raised.body).toMatchObject({ label: "new", ceiling_cents: 200, ceiling_period: "day", external_id: "r-1" });
    const freed = await gate.call(own.key, "PATCH", path, { ceiling_cents: null });
    expect(freed.body).toMatchObject({ ceiling_cents: null, ceiling_period: null });
  });

  test("changes the lists and the expiry one by one, and takes them off", async () => {
    const { id } = await agent({ services: ["files"], models: ["mid"], expires_at: "2026-05-07T00:00:00Z" });
    const path = `/api/v1/agents/${id}`;
    const changed = await gate.call(own.key, "PATCH", path, { services: ["exa"] });
    const rest = { models: ["core/mid"], expires_at: "2026-05-07T00:00:00.000Z" };
    expect(changed).toMatchObject({ status: 200, body: { services: ["exa"], ...rest } });
    await gate.call(own.key, "PATCH", path, { label: "renamed" });
    const freed = await gate.call(own.key, "PATCH", path, { services: null, models: null, expires_at: null });
    expect(freed.body).toMatchObject({ label: "renamed", services: null, models: null, expires_at: null });
  });

  test("a key that has expired is 401 and says so, until it is given more time", async () => {
    const { id, key } = await agent({ expires_at: new Date(gate.clock.epochMs() + 5_000).toISOString() });
    expect((await gate.call(key, "GET", "/api/v1/account")).status).toBe(200);
    gate.clock.advance(5_000);
    const { status, body } = await gate.call(key, "GET", "/api/v1/account");
    expect([status, body.error, body.message]).toEqual([401, "invalid_token", "This key has expired."]);
    const { body: rows } = await gate.call(own.key, "GET", "/api/v1/agents");
    expect(rows.agents.map((row: { id: string }) => row.id)).toContain(id);
    const later = { expires_at: new Date(gate.clock.epochMs() + 5_000).toISOString() };
    expect((await gate.call(own.key, "PATCH", `/api/v1/agents/${id}`, later)).status).toBe(200);
    expect((await gate.call(key, "GET", "/api/v1/account")).status).toBe(200);
  });

  test("changes sent at the same time do not undo each other", async () => {
    const { id } = await agent({ ceiling_cents: 500, ceiling_period: "day" });
    const path = `/api/v1/agents/${id}`;
    const changes = [{ label: "renamed" }, { ceiling_cents: 5 }, { ceiling_period: "week" }, { paused: true }];
    await Promise.all(changes.map((change) => gate.call(own.key, "PATCH", path, change)));
    const { body } = await gate.call(own.key, "GET", "/api/v1/agents");
    expect(body.agents).toContainEqual(expect.objectContaining({ id, ...Object.assign({}, ...changes) }));
  });

  test.each([
    [{ ceiling_cents: null }, { ceiling_cents: 5 }],
    [{ ceiling_period: "week" }, { ceiling_cents: null }],
  ])("%j and %j at the same time leave a ceiling with a period, or neither", async (one, other) => {
    const { id } = await agent({ ceiling_cents: 500, ceiling_period: "day" });
    const path = `/api/v1/agents/${id}`;
    await Promise.all([one, other].map((change) => gate.call(own.key, "PATCH", path, change)));
    const { body } = await gate.call(own.key, "GET", "/api/v1/agents");
    const row = body.agents.find((key: { id: string }) => key.id === id);
    expect(row.ceiling_period === null).toBe(row.ceiling_cents === null);
  });

  test("takes the short names as well", async () => {
    const { id } = await agent();
    const { body } = await gate.call(own.key, "PATCH", `/api/v1/agents/${id}`, { ceiling: 70, period: "week" });
    expect(body).toMatchObject({ ceiling_cents: 70, ceiling_period: "week" });
  });

  test.each([
    [{ ceiling: 1, ceiling_cents: 1 }, "ceiling"],
    [{ ceiling: 1, period: "day", ceiling_period: "day" }, "period"],
    [{ period: "day" }, "ceiling_period"],
    [{ external_id: "new" }, "external_id"],
    [{ paused: "yes" }, "paused"],
    [{ services: ["no such"] }, "services.0"],
    [{ models: "cheap" }, "models"],
    [{ expires_at: "2020-01-01T00:00:00Z" }, "expires_at"],
  ])("%j is 400", async (body, field) => {
    const { id } = await agent();
    const answer = await gate.call(own.key, "PATCH", `/api/v1/agents/${id}`, body);
    expect([answer.status, answer.body.param]).toEqual([400, field]);
  });

  test("pauses and resumes a key at once", async () => {
    const { id, key } = await agent();
    await gate.call(key, "GET", "/api/v1/account");
    const paused = await gate.call(own.key, "PATCH", `/api/v1/agents/${id}`, { paused: true });
    expect(paused.body.paused).toBe(true);
    expect((await gate.call(key, "GET", "/api/v1/account")).status).toBe(200);
    await expect(gate.charge(own.id, id, 1)).rejects.toThrow("paused");
    await gate.call(own.key, "PATCH", `/api/v1/agents/${id}`, { paused: false });
    await gate.charge(own.id, id, 1);
  });

  test.each([
    ["paused", true],
    ["services", []],
    ["models", ["core/cheap"]],
    ["expires_at", "2100-01-01T00:00:00Z"],
  ])("does not set %s of the primary key", async (field, value) => {
    const path = `/api/v1/agents/${own.keyId}`;
    const { status, body } = await gate.call(own.key, "PATCH", path, { [field]: value });
    expect([status, body.error, body.param]).toEqual([409, "conflict", field]);
    const { body: rows } = await gate.call(own.key, "GET", "/api/v1/agents");
    expect(rows.agents).toMatchObject([{ paused: false, services: null, models: null, expires_at: null }]);
    const nothing = { paused: false, services: null, models: null, expires_at: null };
    expect((await gate.call(own.key, "PATCH", path, nothing)).status).toBe(200);
  });

  test("knows only the account's own keys", async () => {
    const other = await openAccount(gate);
    for (const id of [other.keyId, "key_none", "%2e%2e"]) {
      const { status, body } = await gate.call(own.key, "PATCH", `/api/v1/agents/${id}`, { label: "mine" });
      expect([status, body.error]).toEqual([404, "not_found"]);
    }
  });
});

describe("rotating and revoking", () => {
  test("rotate swaps the secret in place; the old one stops at once", async () => {
    const { id, key } = await agent({ ceiling_cents: 100 });
    await gate.call(key, "GET", "/api/v1/account");
    const { status, body } = await gate.call(own.key, "POST", `/api/v1/agents/${id}/rotate`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ id, ceiling_cents: 100 });
    expect((await gate.call(key, "GET", "/api/v1/account")).status).toBe(401);
    expect((await gate.call(body.api_key, "GET", "/api/v1/account")).body.key.id).toBe(id);
  });

  test("the primary key can rotate itself", async () => {
    const { body } = await gate.call(own.key, "POST", `/api/v1/agents/${own.keyId}/rotate`);
    expect((await gate.call(own.key, "GET", "/api/v1/account")).status).toBe(401);
    expect((await gate.call(body.api_key, "POST", "/api/v1/agents")).status).toBe(201);
  });

  test("delete revokes a key at once, and only once", async () => {
    const { id, key } = await agent();
    await gate.call(key, "GET", "/api/v1/account");
    expect(await gate.call(own.key, "DELETE", `/api/v1/agents/${id}`)).toEqual({
      status: 200,
      body: { id, revoked: true },
    });
    expect((await gate.call(key, "GET", "/api/v1/account")).status).toBe(401);
    expect((await gate.call(own.key, "DELETE", `/api/v1/agents/${id}`)).status).toBe(404);
  });

  test("a revocation that the ledger could not acknowledge is not taken for one that it could when it is repeated", async () => {
    const refused = new GatewayError("ledger_unavailable");
    const books = { ...gate.ledger, deleteKey: () => Promise.reject(refused) };
    const rules = { get: async () => null, put: async () => 1 };
    const parts = { books, rules, clock: gate.clock, unsold: () => null };
    await expect(revokeKey(parts, { accountId: own.id, keyId: "key_gone" })).rejects.toBe(refused);
  });

  test("the primary key cannot be revoked", async () => {
    const { status } = await gate.call(own.key, "DELETE", `/api/v1/agents/${own.keyId}`);
    expect(status).toBe(409);
    expect((await gate.call(own.key, "GET", "/api/v1/account")).status).toBe(200);
  });
});

describe("an agent key", () => {
  test("changes no keys, not even its own", async () => {
    const { id, key } = await agent();
    const attempts: [string, string][] = [
      ["POST", "/api/v1/agents"],
      ["PATCH", `/api/v1/agents/${id}`],
      ["POST", `/api/v1/agents/${id}/rotate`],
      ["DELETE", `/api/v1/agents/${id}`],
    ];
    for (const [method, path] of attempts) {
      const { status, body } = await gate.call(key, method, path, {});
      expect([status, body.error]).toEqual([403, "key_cannot_mint_keys"]);
    }
    expect((await gate.call(own.key, "GET", "/api/v1/agents")).body.agents).toHaveLength(2);
  });

  test("sees its own row and transactions alone", async () => {
    const { id, key } = await agent();
    const mine = await gate.charge(own.id, id, 1);
    const others = await gate.charge(own.id, own.keyId, 1);
    const { body: rows } = await gate.call(key, "GET", "/api/v1/agents");
    expect(rows.agents.map((row: { id: string }) => row.id)).toEqual([id]);
    const { body: page } = await gate.call(key, "GET", "/api/v1/transactions");
    expect(page.transactions.map((row: { transaction_id: string }) => row.transaction_id)).toEqual([mine]);
    expect((await gate.call(key, "GET", `/api/v1/transactions/${mine}`)).status).toBe(200);
    expect((await gate.call(key, "GET", `/api/v1/transactions/${others}`)).status).toBe(404);
  });
});
