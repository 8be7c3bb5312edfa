// A metered session through a complete gateway, as its caller and the ledger see it: opened, used, closed, and paid by the minute.
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway, type TestAccount } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { shippedCatalog } from "../../support/shipped-catalog.ts";
import { type RunAnswer, readAnswer } from "../run/acme-gateway.ts";

const SECRET = "s3cret-of-the-caller";

const gateway = forFile(await startTestGateway());

async function run(account: TestAccount, action: string, params: unknown, headers: Record<string, string> = {}) {
  const response = await postAs(account.key, `${gateway.url}/api/run/daytona/${action}`, params, headers);
  return readAnswer(response);
}

const idOf = ({ json }: RunAnswer) => String((json.data as Record<string, unknown>).session_id);

async function moneyOf({ key }: TestAccount) {
  const response = await fetch(`${gateway.url}/api/v1/account`, { headers: { authorization: `Bearer ${key}` } });
  const { balance_cents, held_cents } = (await response.json()) as Record<string, number>;
  return { balance: balance_cents, held: held_cents };
}

describe("a session", () => {
  it("keeps what commands have written until it is closed, and is charged its started minute", async () => {
    const account = await gateway.account({ creditCents: 100 });
    const opened = await run(account, "create_session", { envs: { WHO: SECRET } });
    expect(opened.json).toMatchObject({ ok: true, charged_cents: 0, data: { status: "open", vcpus: 2, memory_gb: 4 } });
    const session_id = idOf(opened);
    // Thirty minutes at 18.3 cents an hour.
    expect(await moneyOf(account)).toEqual({ balance: 100, held: 10 });
    const { json: listed } = await gateway.admin("GET", "/admin/v1/jobs");
    expect(listed.jobs).toMatchObject([{ kind: "session", account_id: account.accountId, sandbox: true }]);
    expect(await gateway.metricsText()).toMatch(/^tollgate_sessions_open 1$/m);

    const session = async (params: object) => (await run(account, "session", { session_id, ...params })).json;
    expect(await session({ command: "echo hello $WHO > note" })).toMatchObject({ ok: true, charged_cents: 0 });
    expect((await session({ command: "cat note" })).data).toEqual({
      stdout: `hello ${SECRET}\n`,
      stderr: "",
      exit_code: 0,
    });
    expect((await session({ code: "print(6 * 7)" })).data).toMatchObject({ stdout: "42\n", exit_code: 0 });
    const typed = await session({ code: "console.log('hi')", language: "typescript" });
    expect(typed.data).toMatchObject({ stdout: "hi\n" });
    const nonsense = { stderr: "bash: nonsense: command not found\n", exit_code: 127 };
    expect((await session({ command: "nonsense" })).data).toMatchObject(nonsense);
    expect((await session({ command: "sleep 1000", timeout: 5 })).data).toMatchObject({
      exit_code: 124,
      timed_out: true,
    });
    const flood = (await session({ command: "yes" })).data as { stdout: string; truncated: boolean };
    expect(flood).toMatchObject({ truncated: true, exit_code: 0 });
    expect(flood.stdout).toHaveLength(262_144);

    const stranger = await gateway.account({ creditCents: 100 });
    expect((await run(stranger, "session", { session_id, command: "cat note" })).status).toBe(404);
    expect((await run(stranger, "close", { session_id })).status).toBe(404);

    const closed = await run(account, "close", { session_id });
    expect(closed.json.data).toEqual({ session_id, status: "closed", ended: "closed", minutes: 1, session_cents: 1 });
    expect((await run(account, "close", { session_id })).json.data).toEqual(closed.json.data);
    expect(await moneyOf(account)).toEqual({ balance: 99, held: 0 });
    expect(await session({ command: "echo again" })).toMatchObject({ ok: false, error: "session_closed" });
    expect(gateway.lines().filter((line) => line.includes(SECRET) || line.includes("nonsense"))).toEqual([]);
  });

  it("whose answer was lost is the same one under its Idempotency-Key", async () => {
    const account = await gateway.account({ creditCents: 100 });
    const again = { "idempotency-key": "one" };
    const [first, second] = [
      await run(account, "create_session", {}, again),
      await run(account, "create_session", {}, again),
    ];
    expect(idOf(second)).toBe(idOf(first));
    expect((await moneyOf(account)).held).toBe(10);
    await run(account, "close", { session_id: idOf(first) });
    expect((await moneyOf(account)).balance).toBe(99);
  });

  it.each([
    ["a balance that does not reach", 3, {}, {}, 402, "credits_required"],
    ["a bound below its first hold", 100, { max_cost_cents: 2 }, {}, 402, "max_cost_exceeded"],
    ["a template that is none", 100, { template: "cobol" }, {}, 400, "bad_request"],
    ["a variable that is none", 100, { envs: { "a-b": "x" } }, {}, 400, "bad_request"],
    ["a vendor that fails", 100, {}, { "x-tollgate-sandbox-fault": "500" }, 500, "upstream_error"],
    ["a vendor that refuses our key", 100, {}, { "x-tollgate-sandbox-fault": "401" }, 503, "upstream_not_configured"],
  ])("is not opened with %s, and nothing is held or charged", async (_, credit, params, headers, status, error) => {
    const account = await gateway.account({ creditCents: credit });
    const refused = await run(account, "create_session", params, headers as Record<string, string>);
    expect(refused).toMatchObject({ status, json: { ok: false, error } });
    expect(await moneyOf(account)).toEqual({ balance: credit, held: 0 });
    const { json } = await gateway.admin("GET", "/admin/v1/jobs");
    expect(
      (json.jobs as { account_id: string }[]).filter(({ account_id }) => account_id === account.accountId),
    ).toEqual([]);
  });

  it("beyond ten of one account is refused", async () => {
    const account = await gateway.account({ creditCents: 10_000 });
    const opened = await Promise.all(Array.from({ length: 11 }, () => run(account, "create_session", {})));
    expect(opened.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(opened.find(({ status }) => status !== 200)?.json).toMatchObject({ error: "too_many_inflight" });
    const good = opened.filter(({ status }) => status === 200).map(idOf);
    await Promise.all(good.map((session_id) => run(account, "close", { session_id })));
    expect(await moneyOf(account)).toMatchObject({ held: 0 });
  });
});

describe("every provider of sessions", async () => {
  const catalog = await shippedCatalog();
  const providers = [...catalog.adapters({ sandbox: true }).values()].filter(({ spec }) => spec.sessions !== undefined);

  it.each(providers.map(({ id, spec }) => [id, spec.sessions] as const))(
    "%s takes a template or none: one of its own, or a language",
    async (provider, spec) => {
      const account = await gateway.account({ creditCents: 10_000 });
      const open = async (params: object) => {
        const answer = await postAs(account.key, `${gateway.url}/api/run/${provider}/create_session`, params);
        return readAnswer(answer);
      };
      for (const template of [undefined, "python", "javascript", ...(spec?.templates ?? [])]) {
        const opened = await open(template === undefined ? {} : { template });
        expect([template, opened.status]).toEqual([template, 200]);
      }
      expect(await open({ template: 7 })).toMatchObject({ status: 400, json: { data: { field: "template" } } });
    },
  );

  it.each(providers.map(({ id }) => id))("%s says its size, its price and what bounds it", async (provider) => {
    const response = await fetch(`${gateway.url}/api/run/${provider}/create_session`);
    const described = (await readAnswer(response)).json.data as { description: string };
    expect(described.description).toMatch(/\d+ vCPU, \d+ GB; [\d.]+ cents an hour/);
    expect(described).toMatchObject({ effect: "write", sandbox: true, status: "not_configured" });
  });
});
