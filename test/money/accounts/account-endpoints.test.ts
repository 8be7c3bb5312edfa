// What an account shows its keys: the balance, and the transactions.
import { beforeEach, describe, expect, test } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { openGate } from "./gate.ts";
import { type Account, openAccount, openAgent } from "./open-account.ts";

let own: Account;

const gate = forFile(await openGate());
beforeEach(async () => {
  own = await openAccount(gate);
});

const agent = (body?: object) => openAgent(gate, own, body);

describe("GET /api/v1/account", () => {
  test("shows balance, holds and the key that asks", async () => {
    await gate.charge(own.id, own.keyId, 1.5);
    const { status, body } = await gate.call(own.key, "GET", "/api/v1/account");
    expect(status).toBe(200);
    expect(body).toEqual({
      account_id: own.id,
      kind: "personal",
      balance_cents: 498,
      held_cents: 0,
      key: { id: own.keyId, label: "primary", ceiling_cents: null, ceiling_period: null, spent_cents: 2 },
    });
  });

  test("works for an agent key too, with its own ceiling", async () => {
    const { id, key } = await agent({ ceiling_cents: 50, ceiling_period: "day" });
    await gate.charge(own.id, id, 3);
    const { body } = await gate.call(key, "GET", "/api/v1/account");
    expect(body.key).toEqual({ id, label: "robot", ceiling_cents: 50, ceiling_period: "day", spent_cents: 3 });
    expect(body.balance_cents).toBe(497);
  });

  test.each([
    [null, "No key was sent"],
    ["tg_sk_wrong", "unknown"],
  ])("key %j is 401", async (key, words) => {
    const { status, body } = await gate.call(key, "GET", "/api/v1/account");
    expect([status, body.error]).toEqual([401, "invalid_token"]);
    expect(body.message).toContain(words);
  });
});

test("a frozen account reads, and changes no keys", async () => {
  await gate.admin("PATCH", `/admin/v1/accounts/${own.id}`, { frozen: true });
  expect((await gate.call(own.key, "GET", "/api/v1/account")).status).toBe(200);
  const { status, body } = await gate.call(own.key, "POST", "/api/v1/agents", {});
  expect([status, body.error]).toEqual([403, "account_frozen"]);
});

describe("GET /api/v1/transactions", () => {
  test("shows what was charged for what, without what it cost us", async () => {
    const id = await gate.charge(own.id, own.keyId, 1.25);
    const { status, body } = await gate.call(own.key, "GET", `/api/v1/transactions/${id}`);
    expect(status).toBe(200);
    expect(body).toEqual({
      transaction_id: id,
      kind: "charge",
      request_id: expect.stringMatching(/^req_/),
      created_at: new Date(gate.clock.epochMs()).toISOString(),
      key_id: own.keyId,
      key_label: "primary",
      endpoint: "chat",
      model: "acme/small",
      charged_cents: 2,
      charged_nano_usd: 12_500_000,
      charged_usd: "0.0125",
      usage: { input_tokens: 10, cache_read_tokens: 2, cache_write_tokens: 0, output_tokens: 5, reasoning_tokens: 1 },
      legs: [
        { id: `${id}.1`, vendor: "brand", model: "acme/small", ok: false, ms: 40, reason: "provider" },
        { id: `${id}.2`, vendor: "acme", model: "acme/small", ok: true, ms: 120, reason: null },
      ],
    });
    const { body: list } = await gate.call(own.key, "GET", "/api/v1/transactions?limit=1");
    expect(list.transactions[0]).toEqual({ ...body, legs: undefined });
  });

  test("finds a transaction by the id of one of its legs, and shows that alone", async () => {
    const id = await gate.charge(own.id, own.keyId, 1);
    const leg = (number: number) => gate.call(own.key, "GET", `/api/v1/transactions/${id}.${number}`);
    expect((await leg(2)).body).toMatchObject({ transaction_id: id, legs: [{ id: `${id}.2`, vendor: "acme" }] });
    expect([(await leg(3)).status, (await leg(0)).status]).toEqual([404, 404]);
  });

  test("pages through all of them once, newest first", async () => {
    const ids: string[] = [];
    for (let call = 0; call < 5; call += 1) {
      ids.unshift(await gate.charge(own.id, own.keyId, 1));
      gate.clock.advance(1_000);
    }
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? "limit=2" : `limit=2&cursor=${encodeURIComponent(cursor)}`;
      const { body } = await gate.call(own.key, "GET", `/api/v1/transactions?${query}`);
      expect(body.transactions.length).toBeLessThanOrEqual(2);
      seen.push(
        ...body.transactions
          .filter((row: { kind: string }) => row.kind === "charge")
          .map((row: { transaction_id: string }) => row.transaction_id),
      );
      cursor = body.next_cursor;
    } while (cursor !== null);
    expect(seen).toEqual(ids);
  });

  test("cents of the rows add up to the cents of the spend", async () => {
    for (let call = 0; call < 10; call += 1) await gate.charge(own.id, own.keyId, 0.25);
    const { body } = await gate.call(own.key, "GET", "/api/v1/transactions");
    const cents = body.transactions.reduce((sum: number, row: { charged_cents: number }) => sum + row.charged_cents, 0);
    expect(cents).toBe(3);
  });

  test("credits and refunds are rows that charge nothing", async () => {
    const id = await gate.charge(own.id, own.keyId, 5);
    await gate.admin("POST", `/admin/v1/accounts/${own.id}/credits`, { cents: 100, reference: "invoice-1" });
    await gate.admin("POST", `/admin/v1/transactions/${id}/refund`, { reason: "was wrong" });
    const { body } = await gate.call(own.key, "GET", "/api/v1/transactions");
    const rows = new Map(body.transactions.map((row: { kind: string; reference?: string }) => [row.kind, row]));
    expect(rows.get("refund")).toMatchObject({ charged_cents: 0, charged_nano_usd: 0, credited_nano_usd: 50_000_000 });
    expect(body.transactions).toContainEqual(
      expect.objectContaining({
        kind: "topup",
        charged_cents: 0,
        credited_nano_usd: 1_000_000_000,
        reference: "invoice-1",
      }),
    );
  });

  test.each(["limit=0", "limit=1001", "limit=ten", "limit=-1", "cursor=%00", "offset=5"])(
    "?%s is 400",
    async (query) => {
      const { status, body } = await gate.call(own.key, "GET", `/api/v1/transactions?${query}`);
      expect([status, body.error]).toEqual([400, "bad_request"]);
      expect(body.param).toBe(query.split("=")[0]);
    },
  );

  test("a cursor that nobody gave out is no crash", async () => {
    const { status } = await gate.call(own.key, "GET", "/api/v1/transactions?cursor=made.up");
    expect([200, 400]).toContain(status);
  });

  test("of another account is 404", async () => {
    const other = await openAccount(gate);
    const id = await gate.charge(other.id, other.keyId, 1);
    expect((await gate.call(own.key, "GET", `/api/v1/transactions/${id}`)).status).toBe(404);
  });
});
