// Many concurrent calls against one bound: exactly as many pass as it covers, and the balance is right afterwards.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NANO_PER_CENT } from "../../src/core/money.ts";
import { callChat, type SeenCall } from "../support/chat-call.ts";
import { type GatedSandbox, startGatedSandbox } from "../support/gated-sandbox.ts";
import {
  type AccountOptions,
  eventually,
  startTestGateway,
  type TestAccount,
  type TestGateway,
} from "../support/gateway.ts";
import { postAs } from "../support/keyed-fetch.ts";
import { runs } from "../support/runs.ts";

const CALLS = runs(128, 512);
const COVERED = runs(25, 100);

/** Allows so many tokens that a hold is more than a cent: then some whole number of cents covers exactly COVERED calls. */
const BODY = {
  model: "sandbox/ok",
  stream: true,
  stream_options: { include_usage: true },
  max_tokens: 8_000,
  messages: [{ role: "user", content: "hello [[words: 5]]" }],
};

let gate: GatedSandbox;
let gateway: TestGateway;
let holdNano: number;
let coveringCents: number;

beforeAll(async () => {
  gate = await startGatedSandbox();
  gateway = await startTestGateway({ SANDBOX_URL: gate.url });
  const { key } = await gateway.account();
  const probe = await callChat(BODY, { url: gateway.url, key });
  holdNano = Number((await gateway.record(probe.requestId)).held_nano_usd);
  coveringCents = Math.ceil((COVERED * holdNano) / NANO_PER_CENT);
  expect(coveringCents * NANO_PER_CENT).toBeLessThan((COVERED + 1) * holdNano);
});

afterAll(async () => {
  await gateway.stop();
  await gate.close();
});

function call(key: string, body: Readonly<Record<string, unknown>> = BODY): Promise<SeenCall> {
  return callChat(body, { url: gateway.url, key });
}

async function agentKey({ key }: TestAccount, period: string): Promise<string> {
  const response = await postAs(key, `${gateway.url}/api/v1/agents`, {
    label: period,
    ceiling_cents: coveringCents,
    ceiling_period: period,
  });
  return String(((await response.json()) as { api_key: string }).api_key);
}

async function accountRow({ accountId }: TestAccount): Promise<Record<string, unknown>> {
  return (await gateway.admin("GET", `/admin/v1/accounts/${accountId}`)).json;
}

/** Every call is either refused or waits at the upstream, all at once; then the waiting calls are released. */
async function burst(account: TestAccount, key: string) {
  const refused: SeenCall[] = [];
  gate.shut();
  const calls = Array.from({ length: CALLS }, async () => {
    const seen = await call(key);
    if (seen.status !== 200) refused.push(seen);
    return seen;
  });
  await eventually(() => (refused.length + gate.waiting() === CALLS ? true : undefined), "all calls to overlap");
  const during = await accountRow(account);
  expect(during.held_cents).toBe(Math.ceil((COVERED * holdNano) / NANO_PER_CENT));
  expect(await gateway.doctor()).toEqual([]);
  gate.open();
  const passed = (await Promise.all(calls)).filter(({ status }) => status === 200);
  return { passed, refused };
}

async function openAccount(options: AccountOptions = {}): Promise<TestAccount> {
  return gateway.account({ creditCents: 100_000, ...options });
}

/** The calls that the bound covers completed, each was charged by the upstream's count, nothing is held, and nothing is missing. */
async function expectSettled(account: TestAccount, passed: readonly SeenCall[], grantedCents: number): Promise<number> {
  expect(passed.map(({ acknowledged }) => acknowledged)).toEqual(Array(COVERED).fill(true));
  const rows = gate.sandbox
    .books()
    .requests.filter(({ requestId }) => passed.some((one) => one.requestId === requestId));
  expect(rows).toHaveLength(COVERED);
  const spentNano = rows.reduce((sum, { tokensIn, tokensOut }) => sum + tokensIn * 1_000 + tokensOut * 2_000, 0);
  expect(passed.reduce((sum, { usage }) => sum + Math.round((usage?.cost ?? 0) * 1e9), 0)).toBe(spentNano);
  expect(await accountRow(account)).toMatchObject({
    held_cents: 0,
    spent_cents: Math.ceil(spentNano / NANO_PER_CENT),
    balance_cents: Math.floor((grantedCents * NANO_PER_CENT - spentNano) / NANO_PER_CENT),
    absorbed_nano_usd: 0,
  });
  expect(await gateway.doctor()).toEqual([]);
  return spentNano;
}

/** Only running calls cause the refusal, and it says so before the first byte of a stream. */
function expectTemporary(refused: readonly SeenCall[], status: number, code: string): void {
  expect(refused).toHaveLength(CALLS - COVERED);
  for (const seen of refused) {
    expect([seen.status, seen.error?.code]).toEqual([status, code]);
    expect(seen.headers.get("content-type")).toBe("application/json");
    expect(seen.headers.get("retry-after")).toBe("5");
    expect(seen.headers.get("x-should-retry")).toBe("true");
    expect(seen.error?.metadata).toMatchObject({ temporary: true, held_cents: coveringCents });
  }
}

/** The free balance to the nano, as the refusal of a call that needs far more states it: no sandbox model is expensive enough. */
async function freeNano(key: string): Promise<number> {
  const asked = await call(key, { ...BODY, n: 8, max_tokens: 16_384, model: "openai/gpt-5.5" });
  const free = /and the account has ([\d.]+) USD free|leaves ([\d.]+) USD/.exec(asked.error?.message ?? "");
  return Math.round(Number(free?.[1] ?? free?.[2]) * 1e9);
}

describe(`${CALLS} calls at once on a bound that covers ${COVERED}`, () => {
  it("of the balance: the others are 402 for now, and the balance is right to the nano", async () => {
    const account = await openAccount({ creditCents: coveringCents });
    const { passed, refused } = await burst(account, account.key);
    expectTemporary(refused, 402, "insufficient_balance");
    for (const { error } of refused) expect(error?.metadata).toMatchObject({ balance_cents: coveringCents });
    const spentNano = await expectSettled(account, passed, coveringCents);
    expect(await freeNano(account.key)).toBe(coveringCents * NANO_PER_CENT - spentNano);
    expect((await call(account.key)).acknowledged).toBe(true);
  });

  it.each(["day", "week", "month"])("of a key's %s: the others are 402 for now", async (period) => {
    const account = await openAccount();
    const key = await agentKey(account, period);
    const { passed, refused } = await burst(account, key);
    expectTemporary(refused, 402, "api_key_limit_exceeded");
    const ceiling = { ceiling_cents: coveringCents, ceiling_period: period, spent_cents: 0 };
    for (const { error } of refused) expect(error?.metadata).toMatchObject(ceiling);
    const spentNano = await expectSettled(account, passed, 100_000);
    expect(await freeNano(key)).toBe(coveringCents * NANO_PER_CENT - spentNano);
    expect((await call(key)).acknowledged).toBe(true);
    expect((await call(account.key)).acknowledged).toBe(true);
  });

  it("of the inference cap: the others are 429 for now", async () => {
    const account = await openAccount({ inferenceCapCents: coveringCents });
    const { passed, refused } = await burst(account, account.key);
    expectTemporary(refused, 429, "inference_cap");
    for (const { error } of refused) expect(error?.metadata).toMatchObject({ cap_cents: coveringCents });
    const spentNano = await expectSettled(account, passed, 100_000);
    expect(await freeNano(account.key)).toBe(coveringCents * NANO_PER_CENT - spentNano);
    expect((await call(account.key)).acknowledged).toBe(true);
  });

  it("of calls in flight: the others are 429 until one has ended", async () => {
    const account = await openAccount({ inFlight: COVERED });
    const { passed, refused } = await burst(account, account.key);
    expect(refused).toHaveLength(CALLS - COVERED);
    for (const { status, error, headers } of refused) {
      expect([status, error?.code]).toEqual([429, "concurrency_limit"]);
      expect([headers.get("retry-after"), headers.get("x-should-retry")]).toEqual(["1", "true"]);
    }
    await expectSettled(account, passed, 100_000);
    expect((await call(account.key)).acknowledged).toBe(true);
  });
});
