// Refunds, and everything that refuses a paid call: the caller's error, and that nothing else changes.
import { describe, expect, it } from "vitest";
import { NANO_PER_CENT } from "../../src/core/money.ts";
import { type CallOptions, callChat, type SeenCall } from "../support/chat-call.ts";
import { forFile } from "../support/for-file.ts";
import { startTestGateway, type TestAccount, withinAMinute } from "../support/gateway.ts";
import { sendAs } from "../support/keyed-fetch.ts";

const HELLO = { model: "sandbox/ok", stream: true, messages: [{ role: "user", content: "hello" }], max_tokens: 100 };

interface Transaction {
  readonly transaction_id: string;
  readonly kind: string;
  readonly request_id: string | null;
  readonly key_id: string | null;
  readonly charged_cents: number;
  readonly charged_nano_usd: number;
  readonly credited_nano_usd?: number;
}

const gateway = forFile(await startTestGateway());

function call(
  key: string,
  body: Readonly<Record<string, unknown>> = HELLO,
  more: Pick<CallOptions, "onContent"> = {},
): Promise<SeenCall> {
  return callChat(body, { url: gateway.url, key, ...more });
}

async function api(key: string, method: string, path: string, body?: unknown) {
  const response = await sendAs(key, method, `${gateway.url}/api/v1${path}`, body);
  return { status: response.status, json: (await response.json()) as Record<string, unknown> };
}

async function transactions(key: string): Promise<Transaction[]> {
  return (await api(key, "GET", "/transactions?limit=1000")).json.transactions as Transaction[];
}

async function charges(key: string): Promise<Transaction[]> {
  return (await transactions(key)).filter(({ kind }) => kind === "charge");
}

async function balanceCents({ key }: TestAccount): Promise<number> {
  return Number((await api(key, "GET", "/account")).json.balance_cents);
}

async function agent({ key }: TestAccount, fields: Record<string, unknown> = {}): Promise<{ id: string; key: string }> {
  const { json } = await api(key, "POST", "/agents", fields);
  return { id: String(json.id), key: String(json.api_key) };
}

/** The call was refused before the first byte, and reached neither the upstream nor the ledger. */
async function expectRefused(seen: SeenCall, status: number, code: string): Promise<void> {
  expect([seen.status, seen.error?.code]).toEqual([status, code]);
  expect(await gateway.record(seen.requestId)).toMatchObject({ outcome: "refused", status, code });
  const { requests } = await gateway.books();
  expect(requests.filter(({ requestId }) => requestId === seen.requestId)).toEqual([]);
  expect(await gateway.doctor()).toEqual([]);
}

describe("a refund", () => {
  it("gives a charge back once, and leaves what was spent as it was", async () => {
    const account = await gateway.account({ creditCents: 100 });
    await call(account.key);
    const [charge] = await charges(account.key);
    expect(await balanceCents(account)).toBe(99);
    const path = `/admin/v1/transactions/${charge?.transaction_id}/refund`;
    const first = await gateway.admin("POST", path, { reason: "the answer was wrong" });
    expect(first.json).toMatchObject({ repeated: false, refunded_nano_usd: charge?.charged_nano_usd });
    const second = await gateway.admin("POST", path, { reason: "again" });
    expect(second.json).toEqual({ ...first.json, repeated: true });
    expect(await balanceCents(account)).toBe(100);

    const rows = await transactions(account.key);
    const refunds = rows.filter(({ kind }) => kind === "refund");
    expect(refunds).toEqual([
      expect.objectContaining({
        transaction_id: first.json.refund_id,
        charged_nano_usd: 0,
        credited_nano_usd: charge?.charged_nano_usd,
        reference: charge?.transaction_id,
      }),
    ]);
    expect(rows.find(({ transaction_id }) => transaction_id === charge?.transaction_id)).toEqual(charge);
    const { json } = await gateway.admin("GET", `/admin/v1/accounts/${account.accountId}`);
    expect(json).toMatchObject({ spent_cents: 1, balance_cents: 100 });
    expect(await gateway.doctor()).toEqual([]);
  });

  it("asked for fifty times at once is given once", async () => {
    const account = await gateway.account({ creditCents: 100 });
    await call(account.key);
    const [charge] = await charges(account.key);
    const asks = Array.from({ length: 50 }, () =>
      gateway.admin("POST", `/admin/v1/transactions/${charge?.transaction_id}/refund`, { reason: "once" }),
    );
    const answers = await Promise.all(asks);
    expect(answers.filter(({ json }) => json.repeated === false)).toHaveLength(1);
    expect(new Set(answers.map(({ json }) => json.refund_id)).size).toBe(1);
    expect(await balanceCents(account)).toBe(100);
  });

  it("of a refund, of a top-up and of nothing is 404", async () => {
    const account = await gateway.account();
    await gateway.admin("POST", `/admin/v1/accounts/${account.accountId}/credits`, { cents: 5, reference: "r" });
    const topUp = (await transactions(account.key)).find(({ kind }) => kind === "topup");
    for (const id of [topUp?.transaction_id, "tx_none"]) {
      const { status, json } = await gateway.admin("POST", `/admin/v1/transactions/${id}/refund`, { reason: "no" });
      expect([status, json.error]).toEqual([404, "not_found"]);
    }
  });
});

describe("who may not pay", () => {
  it("a frozen account is 403, and 200 again when it is let go", async () => {
    const account = await gateway.account();
    expect((await call(account.key)).status).toBe(200);
    await gateway.admin("PATCH", `/admin/v1/accounts/${account.accountId}`, { frozen: true });
    await expectRefused(await call(account.key), 403, "account_frozen");
    const wrong = await call(account.key, { ...HELLO, model: "sandbox/no-such-thing", max_tokens: -1 });
    expect([wrong.status, wrong.error?.code]).toEqual([400, "bad_request"]);
    expect(await charges(account.key)).toHaveLength(1);
    await gateway.admin("PATCH", `/admin/v1/accounts/${account.accountId}`, { frozen: false });
    expect((await call(account.key)).status).toBe(200);
  });

  /** A call whose answer has begun and lasts a while. */
  async function running(key: string): Promise<{ readonly ends: Promise<SeenCall> }> {
    const { promise: begun, resolve: onContent } = Promise.withResolvers<void>();
    const ends = call(key, { ...HELLO, model: "sandbox/ok-at-20" }, { onContent });
    await begun;
    return { ends };
  }

  it("a call that runs when its account is frozen is answered and charged", async () => {
    const account = await gateway.account();
    const { ends } = await running(account.key);
    await gateway.admin("PATCH", `/admin/v1/accounts/${account.accountId}`, { frozen: true });
    expect((await ends).acknowledged).toBe(true);
    expect(await charges(account.key)).toHaveLength(1);
  });

  it("a call that runs when its key is revoked, or may spend nothing any more, is answered and charged", async () => {
    const account = await gateway.account();
    const [revoked, capped] = [await agent(account), await agent(account)];
    for (const [{ id, key }, method, change, code] of [
      [revoked, "DELETE", undefined, "invalid_token"],
      [capped, "PATCH", { ceiling_cents: 0, ceiling_period: "day" }, "api_key_limit_exceeded"],
    ] as const) {
      const { ends } = await running(key);
      expect((await api(account.key, method, `/agents/${id}`, change)).status).toBe(200);
      expect((await call(key)).error?.code).toBe(code);
      expect((await ends).acknowledged).toBe(true);
    }
    const charged = await charges(account.key);
    expect(charged.map(({ key_id }) => key_id).toSorted()).toEqual([revoked.id, capped.id].toSorted());
    expect(await gateway.doctor()).toEqual([]);
  });

  it("a paused key is 403, while the other keys of its account go on", async () => {
    const account = await gateway.account();
    const paused = await agent(account);
    expect((await call(paused.key)).status).toBe(200);
    await api(account.key, "PATCH", `/agents/${paused.id}`, { paused: true });
    await expectRefused(await call(paused.key), 403, "key_paused");
    expect((await call(account.key)).status).toBe(200);
    await api(account.key, "PATCH", `/agents/${paused.id}`, { paused: false });
    expect((await call(paused.key)).status).toBe(200);
  });

  it("a revoked key is 401", async () => {
    const account = await gateway.account();
    const revoked = await agent(account);
    expect((await call(revoked.key)).status).toBe(200);
    await api(account.key, "DELETE", `/agents/${revoked.id}`);
    await expectRefused(await call(revoked.key), 401, "invalid_token");
  });
});

describe("request windows", () => {
  it("of an account: 429 with the time until the window ends, and nothing is charged", async () => {
    const { account, seen } = await withinAMinute(async () => {
      const limited = await gateway.account({ requestsPerMinute: 3 });
      const answers: SeenCall[] = [];
      for (let at = 0; at < 8; at++) answers.push(await call(limited.key));
      return { account: limited, seen: answers };
    });
    const passed = seen.filter(({ status }) => status === 200);
    const refused = seen.filter(({ status }) => status !== 200);
    expect([passed.length, refused.length]).toEqual([3, 5]);
    for (const one of refused) {
      await expectRefused(one, 429, "rate_limited");
      expect(one.headers.get("retry-after")).toBe(one.headers.get("ratelimit-reset"));
      expect(Number(one.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
      expect(Number(one.headers.get("retry-after"))).toBeLessThanOrEqual(60);
      expect([one.headers.get("ratelimit-remaining"), one.headers.get("x-should-retry")]).toEqual(["0", "true"]);
    }
    for (const one of seen) {
      expect([one.headers.get("ratelimit-limit"), one.headers.get("ratelimit-policy")]).toEqual(["3", "3;w=60"]);
    }
    await gateway.admin("PATCH", `/admin/v1/accounts/${account.accountId}`, {
      rate_limit: { requests_per_minute: 1_000 },
    });
    expect(await charges(account.key)).toHaveLength(passed.length);
  });
});

describe("a key's ceiling", () => {
  it.each(["day", "week", "month"])(
    "of a %s that is too low for good says what is left and when it ends",
    async (period) => {
      const account = await gateway.account();
      const { key } = await agent(account, { ceiling_cents: 1, ceiling_period: period });
      expect((await call(key)).status).toBe(200);
      const seen = await call(key, { ...HELLO, max_tokens: 10_000 });
      await expectRefused(seen, 402, "api_key_limit_exceeded");
      expect([seen.headers.get("retry-after"), seen.headers.get("x-should-retry")]).toEqual([null, "false"]);
      const data = seen.error?.metadata ?? {};
      expect(data).toMatchObject({ ceiling_cents: 1, ceiling_period: period, spent_cents: 1, held_cents: 0 });
      expect(data).not.toHaveProperty("temporary");
      const resetsAtMs = Date.parse(String(data.resets_at));
      expect(resetsAtMs % 86_400_000).toBe(0);
      const days = { day: 1, week: 7, month: 31 }[period] ?? 0;
      expect(resetsAtMs).toBeGreaterThan(Date.now());
      expect(resetsAtMs).toBeLessThanOrEqual(Date.now() + days * 86_400_000);
      const affordable = Number(data.affordable_output_tokens);
      expect(affordable).toBeGreaterThan(0);
      expect((await call(key, { ...HELLO, max_tokens: affordable + 1 })).status).toBe(402);
      expect((await call(key, { ...HELLO, max_tokens: affordable })).status).toBe(200);
    },
  );

  it("binds only its key, and counts only that key's calls", async () => {
    const account = await gateway.account();
    const tight = await agent(account, { ceiling_cents: 0, ceiling_period: "day" });
    await expectRefused(await call(tight.key), 402, "api_key_limit_exceeded");
    expect((await call(account.key)).status).toBe(200);
    const other = await agent(account, { ceiling_cents: 1, ceiling_period: "day" });
    expect((await call(other.key)).status).toBe(200);
    await api(account.key, "PATCH", `/agents/${tight.id}`, { ceiling_cents: null });
    expect((await call(tight.key)).status).toBe(200);
  });
});

describe("too little money for good", () => {
  it("of the balance is 402 with what would have been possible", async () => {
    const account = await gateway.account({ creditCents: 1 });
    const seen = await call(account.key, { ...HELLO, max_tokens: 10_000 });
    await expectRefused(seen, 402, "insufficient_balance");
    expect([seen.headers.get("retry-after"), seen.headers.get("x-should-retry")]).toEqual([null, "false"]);
    expect(seen.error?.metadata).toMatchObject({ balance_cents: 1, held_cents: 0 });
    const affordable = Number(seen.error?.metadata?.affordable_output_tokens);
    expect((await call(account.key, { ...HELLO, max_tokens: affordable + 1 })).status).toBe(402);
    expect((await call(account.key, { ...HELLO, max_tokens: affordable })).status).toBe(200);
  });

  it("of the inference cap is 429 until midnight", async () => {
    const account = await gateway.account({ inferenceCapCents: 1 });
    const untilMidnight = () => Math.ceil((86_400_000 - (Date.now() % 86_400_000)) / 1_000);
    const before = untilMidnight();
    const seen = await call(account.key, { ...HELLO, max_tokens: 10_000 });
    const after = untilMidnight();
    await expectRefused(seen, 429, "inference_cap");
    expect(seen.headers.get("x-should-retry")).toBe("false");
    const seconds = Number(seen.headers.get("retry-after"));
    expect([seconds <= before, seconds >= after]).toEqual([true, true]);
    expect(seen.error?.metadata).toMatchObject({ cap_cents: 1, spent_cents: 0, held_cents: 0 });
  });
});

describe("what is seen of transactions", () => {
  it("by an agent key are its own, by the primary key all, by another account none", async () => {
    const account = await gateway.account();
    const agents = [await agent(account), await agent(account)];
    const stranger = await gateway.account();
    const keys = [account.key, ...agents.map(({ key }) => key)];
    for (const key of keys) for (let at = 0; at < 3; at++) await call(key);

    const all = await charges(account.key);
    expect(all).toHaveLength(9);
    for (const { id, key } of agents) {
      const own = await transactions(key);
      expect(own).toEqual(all.filter(({ key_id }) => key_id === id));
      expect(own).toHaveLength(3);
      const foreign = all.find(({ key_id }) => key_id !== id);
      expect((await api(key, "GET", `/transactions/${foreign?.transaction_id}`)).status).toBe(404);
      expect((await api(key, "GET", `/transactions/${own[0]?.transaction_id}`)).json).toEqual({
        ...own[0],
        legs: expect.any(Array),
      });
      expect((await api(key, "GET", "/account")).json.key).toMatchObject({ id, spent_cents: 1 });
    }
    expect(await charges(stranger.key)).toEqual([]);
    expect((await api(stranger.key, "GET", `/transactions/${all[0]?.transaction_id}`)).status).toBe(404);
    const spentNano = all.reduce((sum, { charged_nano_usd }) => sum + charged_nano_usd, 0);
    expect(all.reduce((sum, { charged_cents }) => sum + charged_cents, 0)).toBe(Math.ceil(spentNano / NANO_PER_CENT));
  });

  it("a cursor of another account's list leads nowhere", async () => {
    const [ada, bob] = [await gateway.account(), await gateway.account()];
    for (const { key } of [ada, bob]) for (let at = 0; at < 3; at++) await call(key);
    const { json } = await api(ada.key, "GET", "/transactions?limit=1");
    const page = await api(bob.key, "GET", `/transactions?cursor=${json.next_cursor}`);
    expect(page.json).toEqual({ transactions: [], next_cursor: null });
  });
});
