// A metered session through a whole gateway, as its caller sees it and as the ledger has it: opened, used, closed, and paid by the minute.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readAnswer } from "../run/acme-gateway.ts";
import { eventually, startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(async () => {
  expect(await gateway.doctor()).toEqual([]);
  await gateway.stop();
});

async function run(account: TestAccount, action: string, params: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${gateway.url}/api/run/daytona/${action}`, {
    method: "POST",
    headers: { authorization: `Bearer ${account.key}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(params),
  });
  return readAnswer(response);
}

async function open(account: TestAccount, params: object = {}): Promise<string> {
  const opened = await run(account, "create_session", params);
  expect(opened.json).toMatchObject({ ok: true, charged_cents: 0 });
  return String((opened.json.data as Record<string, unknown>).session_id);
}

async function moneyOf({ key }: TestAccount) {
  const response = await fetch(`${gateway.url}/api/v1/account`, { headers: { authorization: `Bearer ${key}` } });
  const { balance_cents, held_cents } = (await response.json()) as Record<string, number>;
  return { balance: balance_cents, held: held_cents };
}

describe("a session", () => {
  it("keeps what commands have written until it is closed, and is charged its started minute", async () => {
    const account = await gateway.account({ creditCents: 100 });
    const session_id = await open(account, { envs: { WHO: "ada" } });
    expect(session_id).toMatch(/^ses_/);
    // Thirty minutes of 18.3 cents an hour.
    expect(await moneyOf(account)).toEqual({ balance: 100, held: 10 });
    const session = (params: object) => run(account, "session", { session_id, ...params });
    expect((await session({ command: "echo hello $WHO > note" })).json).toMatchObject({ ok: true, charged_cents: 0 });
    expect((await session({ command: "cat note" })).json.data).toEqual({
      stdout: "hello ada\n",
      stderr: "",
      exit_code: 0,
    });
    expect((await session({ code: "print(6 * 7)" })).json.data).toMatchObject({ stdout: "42\n", exit_code: 0 });
    expect((await session({ code: "console.log('hi')", language: "typescript" })).json.data).toMatchObject({
      stdout: "hi\n",
    });
    expect((await session({ command: "nonsense" })).json.data).toMatchObject({
      stderr: "bash: nonsense: command not found\n",
      exit_code: 127,
    });
    const closed = await run(account, "close", { session_id });
    expect(closed.json.data).toEqual({ session_id, status: "closed", ended: "closed", minutes: 1, session_cents: 1 });
    expect((await run(account, "close", { session_id })).json.data).toEqual(closed.json.data);
    expect(await moneyOf(account)).toEqual({ balance: 99, held: 0 });
    expect((await session({ command: "echo again" })).json).toMatchObject({ ok: false, error: "session_closed" });
  });
});
void eventually;
