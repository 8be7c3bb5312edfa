// The operator's guard on a real gateway: what it is shown, what its verdicts do, and what its failures do, shut and open.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";
import { startVendor, type VendorAnswer, type VendorServer } from "../support/vendor-server.ts";

type Json = Record<string, unknown>;

let guard: VendorServer;
beforeAll(async () => {
  guard = await startVendor();
});
afterAll(() => guard.close());

async function ask(
  { url }: TestGateway,
  { key }: TestAccount,
  verdict: VendorAnswer,
  path = "/api/llm/v1/chat/completions",
  body: Json = { model: "core/cheap", max_tokens: 20, messages: [{ role: "user", content: "Hello" }] },
) {
  guard.answers(verdict);
  const response = await fetch(`${url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: response.status, json: (await response.json()) as Json, headers: response.headers };
}

const code = ({ json }: { json: Json }) => (json.error as Json | undefined)?.code;
const pass = { body: { action: "pass" } };

describe("a guard", () => {
  let gateway: TestGateway;
  let account: TestAccount;
  beforeAll(async () => {
    gateway = await startTestGateway({ GUARD_URL: `${guard.url}/guard`, GUARD_SECONDS: "0.5" });
    account = await gateway.account();
  });
  afterAll(async () => {
    expect(await gateway.doctor()).toEqual([]);
    await gateway.stop();
  });
  const charges = async () => {
    const { json } = await gateway.admin("GET", `/admin/v1/transactions?account=${account.accountId}`);
    return (json.transactions as Json[]).filter(({ kind }) => kind === "charge").length;
  };

  it("is shown a request as it came, with whose it is, and lets it pass", async () => {
    const seen = await ask(gateway, account, pass);
    expect(seen.status).toBe(200);
    expect(guard.asked.map(({ url, body }) => [url, body])).toEqual([
      [
        "/guard",
        {
          request_id: seen.headers.get("x-request-id"),
          path: "/api/llm/v1/chat/completions",
          account_id: account.accountId,
          key_id: expect.stringMatching(/^key_/),
          body: { model: "core/cheap", max_tokens: 20, messages: [{ role: "user", content: "Hello" }] },
        },
      ],
    ]);
  });

  it("refuses with its reason before anything is held, models and actions alike", async () => {
    const before = await charges();
    const no = { body: { action: "refuse", reason: "It names a person." } };
    const refused = await ask(gateway, account, no);
    expect([refused.status, code(refused)]).toEqual([403, "guard_refused"]);
    expect(JSON.stringify(refused.json)).toContain("It names a person.");
    expect((await ask(gateway, account, no, "/api/run/brave/news", { q: "tea" })).json.error).toBe("guard_refused");
    expect(await charges()).toBe(before);
  });

  it("gives back another body, which is checked as any other", async () => {
    const edited = { model: "core/mid", max_tokens: 20, messages: [{ role: "user", content: "Bonjour" }] };
    const seen = await ask(gateway, account, { body: { action: "edit", body: edited } });
    expect(seen.status).toBe(200);
    expect(await gateway.record(seen.headers.get("x-request-id"))).toMatchObject({ asked: "core/mid" });
    const broken = await ask(gateway, account, { body: { action: "edit", body: { ...edited, messages: 1 } } });
    expect(broken.status).toBe(400);
  });

  it("is not asked of what is refused or free in any case, and of an account at most as often at once as it may call", async () => {
    const poor = await gateway.account({ creditCents: 0 });
    expect([(await ask(gateway, poor, pass)).status, guard.asked]).toEqual([402, []]);
    expect([(await ask(gateway, account, pass, "/api/run/brave/news")).status, guard.asked]).toEqual([400, []]);
    const narrow = await gateway.account({ inFlight: 2 });
    const all = await Promise.all(Array.from({ length: 5 }, () => ask(gateway, narrow, () => {})));
    const codes = all.map(code).sort();
    expect(codes.slice(-2)).toEqual(["guard_unavailable", "guard_unavailable"]);
    expect([guard.asked.length, codes.slice(0, 3)]).toEqual([2, Array(3).fill("concurrency_limit")]);
  });

  it.each<readonly [string, VendorAnswer]>([
    ["hangs", () => {}],
    ["answers an error", { status: 500, body: {} }],
    ["answers no JSON", { body: "yes" }],
    ["answers no verdict", { body: { action: "perhaps" } }],
    ["redirects", { status: 302, headers: { location: "http://127.0.0.1:1/" }, body: {} }],
    [
      "announces more than it sends",
      (response) => {
        response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
        response.write('{"action":"pass"}');
        response.socket?.destroySoon();
      },
    ],
    [
      "says that it sends 10 GB",
      (response) => void response.writeHead(200, { "content-length": String(10 ** 10) }).write("{"),
    ],
  ])("that %s keeps the door shut", async (_, verdict) => {
    const before = await charges();
    const seen = await ask(gateway, account, verdict);
    expect([seen.status, code(seen)]).toEqual([503, "guard_unavailable"]);
    expect(await charges()).toBe(before);
  });
});

it("a guard that does not answer lets requests pass where the operator wants that, and the log says so", async () => {
  const gateway = await startTestGateway({ GUARD_URL: "http://127.0.0.1:9/", GUARD_OPEN: "1" });
  const account = await gateway.account();
  expect((await ask(gateway, account, pass)).status).toBe(200);
  expect(gateway.lines().some((line) => line.includes("the guard did not answer"))).toBe(true);
  await gateway.stop();
});
