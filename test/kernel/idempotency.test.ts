// Idempotency-Key on unary chat: one charge however often a request is sent, and no stored answer for uncharged calls.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callChat, type SeenCall } from "../support/chat-call.ts";
import { type GatedSandbox, startGatedSandbox } from "../support/gated-sandbox.ts";
import { eventually, startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";
import { getAs } from "../support/keyed-fetch.ts";
import { removeFolder } from "../support/remove-folder.ts";

const HELLO = { model: "sandbox/ok", messages: [{ role: "user", content: "hello" }], max_tokens: 100 };

let gate: GatedSandbox;
let gateway: TestGateway;
let dataDir: string;

async function start(): Promise<void> {
  gateway = await startTestGateway({ DATA_DIR: dataDir, SANDBOX_URL: gate.url });
}

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "tollgate-idempotency-"));
  gate = await startGatedSandbox();
  await start();
});

afterAll(async () => {
  await gateway.stop();
  await gate.close();
  removeFolder(dataDir);
});

function send(key: string, idempotencyKey: string, body: Readonly<Record<string, unknown>> = HELLO) {
  return callChat(body, { url: gateway.url, key, headers: { "idempotency-key": idempotencyKey } });
}

async function charges({ key }: TestAccount): Promise<Record<string, unknown>[]> {
  const response = await getAs(key, `${gateway.url}/api/v1/transactions?limit=1000`);
  const { transactions } = (await response.json()) as { transactions: Record<string, unknown>[] };
  return transactions.filter(({ kind }) => kind === "charge");
}

async function agentKey({ key }: TestAccount): Promise<string> {
  const response = await fetch(`${gateway.url}/api/v1/agents`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: "{}",
  });
  return String(((await response.json()) as { api_key: string }).api_key);
}

function served(seen: SeenCall): number {
  return gate.sandbox.books().requests.filter(({ requestId }) => requestId === seen.requestId).length;
}

function expectReplay(again: SeenCall, first: SeenCall): void {
  expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
  expect(again.body).toBe(first.body);
  expect(again.requestId).not.toBe(first.requestId);
  expect(served(again)).toBe(0);
}

describe("the same key and body", () => {
  it("answers the same again and charges once", async () => {
    const account = await gateway.account();
    const first = await send(account.key, "order-1");
    expect([first.status, first.headers.get("idempotent-replayed")]).toEqual([200, null]);
    expectReplay(await send(account.key, "order-1"), first);
    const again = await send(account.key, "order-1");
    expectReplay(again, first);
    expect((await charges(account)).map(({ request_id }) => request_id)).toEqual([first.requestId]);
    expect(await gateway.record(again.requestId)).toMatchObject({
      outcome: "replayed",
      status: 200,
      charged_nano_usd: 0,
      transaction_id: (await gateway.record(first.requestId)).transaction_id,
    });
    expect(await gateway.doctor()).toEqual([]);
  });

  it("reads the quoted form and the bare one, and the fields of the body in any order, as the same", async () => {
    const account = await gateway.account();
    const first = await send(account.key, '"order-2"');
    const { max_tokens, messages, model } = HELLO;
    expectReplay(await send(account.key, "order-2", { max_tokens, messages, model }), first);
    expect(await charges(account)).toHaveLength(1);
  });

  it("is told 409 while the first runs, and gets its answer afterwards", async () => {
    const account = await gateway.account();
    gate.shut();
    const running = send(account.key, "order-3");
    await eventually(() => (gate.waiting() === 1 ? true : undefined), "the first to run");
    const early = await send(account.key, "order-3");
    expect([early.status, early.error?.code]).toEqual([409, "idempotency_in_progress"]);
    expect([early.headers.get("retry-after"), early.headers.get("x-should-retry")]).toEqual(["5", "true"]);
    gate.open();
    const first = await running;
    expectReplay(await send(account.key, "order-3"), first);
    expect(await charges(account)).toHaveLength(1);
  });

  it("lets one of fifty at once through", async () => {
    const account = await gateway.account();
    gate.shut();
    const all = Array.from({ length: 50 }, () => send(account.key, "order-4"));
    await eventually(() => (gate.waiting() === 1 ? true : undefined), "one to run");
    gate.open();
    const seen = await Promise.all(all);
    const [first] = seen.filter(({ status, headers }) => status === 200 && !headers.has("idempotent-replayed"));
    expect(first).toBeDefined();
    for (const one of seen) expect(one.status === 409 || one.body === first?.body).toBe(true);
    expect(await charges(account)).toHaveLength(1);
  });

  it("answers the same after a restart of the gateway", async () => {
    const account = await gateway.account();
    const first = await send(account.key, "order-5");
    await gateway.stop();
    await start();
    expectReplay(await send(account.key, "order-5"), first);
    expect(await charges(account)).toHaveLength(1);
    expect(await gateway.doctor()).toEqual([]);
  });

  it("cannot be answered again where the answer was too large to keep, and names the transaction", async () => {
    const account = await gateway.account();
    const huge = { ...HELLO, model: "sandbox/huge-event" };
    const first = await send(account.key, "order-6", huge);
    expect(first.status).toBe(200);
    const again = await send(account.key, "order-6", huge);
    expect([again.status, again.error?.code]).toEqual([409, "replay_unavailable"]);
    const [charge] = await charges(account);
    expect(again.error?.metadata).toEqual({ transaction_id: charge?.transaction_id });
    expect(again.headers.get("x-should-retry")).toBe("false");
  });
});

describe("the same key", () => {
  it("with another body is 422", async () => {
    const account = await gateway.account();
    await send(account.key, "order-1");
    const other = await send(account.key, "order-1", { ...HELLO, max_tokens: 99 });
    expect([other.status, other.error?.code]).toEqual([422, "idempotency_mismatch"]);
    expect(await charges(account)).toHaveLength(1);
  });

  it("of two API keys of an account is two requests", async () => {
    const account = await gateway.account();
    const agent = await agentKey(account);
    const first = await send(account.key, "order-1");
    const second = await send(agent, "order-1");
    expect([second.status, second.headers.get("idempotent-replayed")]).toEqual([200, null]);
    expectReplay(await send(agent, "order-1"), second);
    expectReplay(await send(account.key, "order-1"), first);
    expect(await charges(account)).toHaveLength(2);
  });

  // Header values are bytes: the last has an "ü" in UTF-8.
  it.each(["has space", '""', "x".repeat(256), "a\u00c3\u00bcb"])("is refused where it is %j", async (bad) => {
    const account = await gateway.account();
    const seen = await send(account.key, bad);
    expect([seen.status, seen.error?.code]).toEqual([400, "bad_request"]);
    expect(await charges(account)).toEqual([]);
  });

  it("is refused with a stream", async () => {
    const account = await gateway.account();
    const seen = await send(account.key, "order-1", { ...HELLO, stream: true });
    expect([seen.status, seen.error?.code]).toEqual([400, "bad_request"]);
  });
});

describe("what was not charged is not kept", () => {
  it("a refusal: the same key runs once there is money", async () => {
    const account = await gateway.account({ creditCents: 0 });
    const refused = await send(account.key, "order-1");
    expect([refused.status, refused.error?.code]).toEqual([402, "insufficient_balance"]);
    await gateway.admin("POST", `/admin/v1/accounts/${account.accountId}/credits`, { cents: 100, reference: "r" });
    const first = await send(account.key, "order-1");
    expect([first.status, first.headers.get("idempotent-replayed")]).toEqual([200, null]);
    expectReplay(await send(account.key, "order-1"), first);
  });

  it("but the provider's refusal of the request itself is: it would be the same again", async () => {
    const account = await gateway.account();
    const body = { ...HELLO, model: "sandbox/400" };
    const refused = await send(account.key, "order-1", body);
    const again = await send(account.key, "order-1", body);
    expect([refused.status, refused.error?.code]).toEqual([400, "upstream_rejected"]);
    expect([again.status, again.error?.code]).toEqual([400, "upstream_rejected"]);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect((await send(account.key, "order-1", { ...body, max_tokens: 3 })).error?.code).toBe("idempotency_mismatch");
    expect(await charges(account)).toEqual([]);
    expect(await gateway.doctor()).toEqual([]);
  });

  it.each(["sandbox/503", "sandbox/malformed", "sandbox/cut-after-10"])(
    "a failure such as %s: the same request runs again",
    async (model) => {
      const account = await gateway.account();
      const failed = await send(account.key, "order-1", { ...HELLO, model });
      expect(failed.status).toBeGreaterThanOrEqual(400);
      const again = await send(account.key, "order-1", { ...HELLO, model });
      expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([failed.status, null]);
      expect(served(again)).toBeGreaterThan(0);
      expect(await charges(account)).toEqual([]);
      expect(await gateway.doctor()).toEqual([]);
    },
  );

  it("a call whose client left goes on, because whoever asks again under its key wants that answer", async () => {
    const account = await gateway.account();
    gate.shut();
    const leaving = new AbortController();
    const headers = { "idempotency-key": "order-1" };
    const left = callChat(HELLO, { url: gateway.url, key: account.key, headers, signal: leaving.signal });
    await eventually(() => (gate.waiting() === 1 ? true : undefined), "the call to run");
    leaving.abort();
    expect((await left).broken).toBe(true);
    expect((await send(account.key, "order-1")).status).toBe(409);
    gate.open();
    const first = await eventually(async () => {
      const seen = await send(account.key, "order-1");
      return seen.status === 409 ? undefined : seen;
    }, "the answer to be kept");
    expect([first.status, first.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
    expect(await charges(account)).toHaveLength(1);
  });
});
