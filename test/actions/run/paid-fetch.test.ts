// POST /api/v1/fetch: requests to public addresses, including merchants that we pay, and merchants that take the money without delivering.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openWallet, type Wallet } from "../../../src/money/wallet/wallet.ts";
import { Merchant, type Mood } from "../../money/wallet/merchant.ts";
import { eventually, startTestGateway, type TestAccount, type TestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { removeFolder } from "../../support/remove-folder.ts";
import { head, type Outside, redirect, say, startOutside } from "../../upstream/outside.ts";

const KEY = `0x${"11".repeat(32)}` as const;
const CREDIT_CENTS = 5_000;

const merchant = new Merchant("x402");
const overMpp = new Merchant("mpp");
let outside: Outside;
let wallet: Wallet;
let gateway: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  await Promise.all([merchant.listen(), overMpp.listen()]);
  outside = await startOutside();
  outside.names["shop.example"] = ["127.0.0.1"];
  outside.names["other.example"] = ["127.0.0.2"];
  outside.names["inner.example"] = ["127.0.0.1"];
  wallet = await openWallet({ mpp: KEY, x402: KEY, gas: null });
  gateway = await startTestGateway(
    {
      X402_WALLET_PRIVATE_KEY: KEY,
      MPP_WALLET_PRIVATE_KEY: KEY,
      WALLET_CENTS_PER_DAY: "100000",
      PAID_FETCH: "1",
      X402_RPC_URL: `${merchant.url}/rpc`,
    },
    {
      wallet,
      internet: {
        allowForTests: [
          `127.0.0.2:${outside.port}`,
          ...[merchant, overMpp].map(({ url }) => `127.0.0.1:${new URL(url).port}`),
        ],
        resolve: async (name) => [outside.names[name] ?? []].flat() as string[],
        msMaxForTests: 1_500,
      },
    },
  );
});
afterAll(async () => {
  const findings = await gateway.doctor();
  await gateway.stop();
  wallet.close();
  await Promise.all([merchant.close(), overMpp.close(), outside.close()]);
  expect(findings).toEqual([]);
});
beforeEach(async () => {
  account = await gateway.account({ kind: "personal", creditCents: CREDIT_CENTS });
  merchant.mood = "honest";
  merchant.units = 30_000n;
  merchant.nowS = () => Math.floor(Date.now() / 1_000);
  merchant.taken.length = 0;
  merchant.seen.length = 0;
  outside.heads.length = 0;
  outside.play = (socket) => say(socket, { "content-type": "text/plain" }, "hello");
});

interface Told {
  readonly status: number;
  readonly json: Record<string, unknown> & { readonly data?: Record<string, unknown> };
}

async function ask(
  params: object,
  { key = account.key, path = "/api/v1/fetch", headers = {} as Record<string, string> } = {},
): Promise<Told> {
  const response = await postAs(key, `${gateway.url}${path}`, { max_cost_cents: 10, ...params }, headers);
  return { status: response.status, json: (await response.json()) as Told["json"] };
}

async function leftCents(): Promise<number> {
  const headers = { authorization: `Bearer ${account.key}` };
  const own = (await (await fetch(`${gateway.url}/api/v1/account`, { headers })).json()) as Record<string, unknown>;
  expect(own.held_cents).toBe(0);
  return Number(own.balance_cents);
}

const paidUrl = (path = "/thing", name = "shop.example") => `http://${name}:${new URL(merchant.url).port}${path}`;

describe("an address that wants nothing", () => {
  it("is asked as the caller says, for a cent", async () => {
    const { json } = await ask({
      url: outside.url("/a?b=c"),
      method: "POST",
      headers: { "X-Own": "mine", authorization: "Bearer theirs" },
      body: { q: 1 },
    });
    expect(json).toMatchObject({ ok: true, charged_cents: 1 });
    expect(json.data).toMatchObject({ status: 200, text: "hello", paid_usd: "0", final_url: outside.url("/a?b=c") });
    expect(outside.heads[0]).toMatch(/^POST \/a\?b=c /);
    expect(outside.heads[0]).toMatch(/x-own: mine/i);
    expect(outside.heads[0]).toMatch(/authorization: Bearer theirs/i);
    expect(outside.heads[0]).toMatch(/content-type: application\/json/i);
    expect(outside.heads[0]).not.toContain(account.key);
    expect(await leftCents()).toBe(CREDIT_CENTS - 1);
  });

  it("is the action core/fetch, with the descriptor of one", async () => {
    const { json } = await ask({ url: outside.url("/") }, { path: "/api/run/core/fetch" });
    expect(json).toMatchObject({ ok: true, charged_cents: 1 });
    const described = await fetch(`${gateway.url}/api/run/core/fetch`);
    expect(await described.json()).toMatchObject({ data: { price: { mode: "capped", max_cost_required: true } } });
  });

  it("may answer that there is nothing, which is told and free", async () => {
    outside.play = (socket) => socket.end(`${head(404, { "content-type": "text/plain" })}none`);
    expect((await ask({ url: outside.url("/") })).json).toMatchObject({
      ok: true,
      charged_cents: 0,
      data: { status: 404, text: "none" },
    });
    expect(await leftCents()).toBe(CREDIT_CENTS);
  });

  it("is followed to another server without the caller's headers, and after a POST not at all", async () => {
    outside.play = (socket, path) =>
      path === "/from" ? redirect(socket, outside.url("/to", "other.example")) : say(socket, {}, "there");
    const headers = { "x-own": "secret" };
    const { json } = await ask({ url: outside.url("/from"), headers });
    expect(json.data).toMatchObject({ status: 200, final_url: outside.url("/to", "other.example") });
    expect(outside.heads.map((one) => one.includes("secret"))).toEqual([true, false]);
    const posted = await ask({ url: outside.url("/from"), method: "POST", headers, body: "x" });
    expect(posted.json.data).toMatchObject({ status: 302, final_url: outside.url("/from") });
    expect(outside.heads).toHaveLength(3);
  });
});

describe("what comes to nothing is not charged", () => {
  it.each([
    ["a private address", () => ({ url: "http://10.0.0.1/" }), "bad_url"],
    ["this machine", () => ({ url: "http://127.0.0.1/" }), "bad_url"],
    ["a name that leads inside", () => ({ url: outside.url("/", "inner.example") }), "bad_url"],
    ["another scheme", () => ({ url: "file:///etc/passwd" }), "bad_url"],
    ["a header that is ours", () => ({ url: outside.url("/"), headers: { Host: "x" } }), "bad_request"],
    ["a header with a line in it", () => ({ url: outside.url("/"), headers: { a: "b\r\nc: d" } }), "bad_request"],
    ["a body of a GET", () => ({ url: outside.url("/"), body: "x" }), "bad_request"],
    ["no bound", () => ({ url: outside.url("/"), max_cost_cents: null }), "max_cost_required"],
    ["a bound below the fee", () => ({ url: outside.url("/"), max_cost_cents: 0 }), "max_cost_exceeded"],
  ])("%s", async (_, params, code) => {
    const { json } = await ask(params());
    expect(json).toMatchObject({ ok: false, error: code });
    expect(outside.heads).toEqual([]);
    expect(outside.innerConnections()).toBe(0);
    expect(await leftCents()).toBe(CREDIT_CENTS);
  });

  it.each([
    ["a redirect inside", (socket) => redirect(socket, `http://127.0.0.1:${outside.port}/`), "bad_url"],
    ["ten gigabytes, said", (socket) => say(socket, { "content-length": "10000000000" }, "x"), "bad_url"],
    [
      "endless bytes, not said",
      (socket) => {
        socket.write(head(200));
        const pour = () => {
          while (!socket.destroyed && socket.write(Buffer.alloc(65_536)));
        };
        socket.on("drain", pour);
        pour();
      },
      "bad_url",
    ],
    ["a server that hangs", () => {}, "upstream_error"],
    ["one that breaks off", (socket) => void socket.destroy(), "upstream_error"],
  ] as [string, Outside["play"], string][])("%s", async (_, play, code) => {
    outside.play = play;
    const { json } = await ask({ url: outside.url("/") });
    expect(json).toMatchObject({ ok: false, error: code });
    expect(outside.innerConnections()).toBe(0);
    expect(await leftCents()).toBe(CREDIT_CENTS);
  });

  it("is counted as a hundredth of a cent of unpaid cost, whatever came of it", async () => {
    outside.play = (socket) => socket.end(`${head(404, { "content-type": "text/plain" })}none`);
    await ask({ url: outside.url("/") });
    outside.play = (socket) => void socket.destroy();
    await ask({ url: outside.url("/") });
    const { json } = await gateway.admin("GET", `/admin/v1/accounts/${account.accountId}`);
    expect(json.unpaid).toMatchObject({ today_nano_usd: 200_000 });
  });

  it("a write of which nobody knows whether it happened is not sent again under its key", async () => {
    outside.play = (socket) => void socket.destroy();
    const params = { url: outside.url("/"), method: "POST", body: "x" };
    const headers = { "idempotency-key": "once" };
    expect((await ask(params, { headers })).json.error).toBe("upstream_error");
    expect((await ask(params, { headers })).json.error).toBe("outcome_unknown");
    expect(outside.heads).toHaveLength(1);
  });
});

describe("a merchant", () => {
  it("is paid what it asks, and the caller is charged that and a cent, in one posting", async () => {
    const { json } = await ask({ url: paidUrl("/thing", "shop.example"), method: "POST", body: { a: 1 } });
    expect(json).toMatchObject({
      ok: true,
      charged_cents: 4,
      data: { status: 200, text: '{"ok":1}', paid_usd: "0.03" },
    });
    expect(merchant.taken).toHaveLength(1);
    expect(merchant.seen.map(({ body }) => body)).toEqual(['{"a":1}', '{"a":1}']);
    expect(await leftCents()).toBe(CREDIT_CENTS - 4);
    const row = await gateway.admin("GET", `/admin/v1/transactions/${json.transaction_id}`);
    expect(row.json).toMatchObject({ asked: "core/fetch" });
    expect(JSON.stringify(row.json)).toContain("40000000");
  });

  it("is paid once for one Idempotency-Key", async () => {
    const headers = { "idempotency-key": "paid-once" };
    const first = await ask({ url: paidUrl() }, { headers });
    const second = await ask({ url: paidUrl() }, { headers });
    expect(second.json).toEqual(first.json);
    expect(merchant.taken).toHaveLength(1);
    expect(await leftCents()).toBe(CREDIT_CENTS - 4);
  });

  it("that asks more than the caller allows is not paid, and what would be enough is said", async () => {
    const { status, json } = await ask({ url: paidUrl(), max_cost_cents: 3 });
    expect([status, json.error, json.data]).toMatchObject([402, "max_cost_exceeded", { needed_cents: 4 }]);
    expect(merchant.taken).toEqual([]);
    expect((await ask({ url: paidUrl(), max_cost_cents: 4 })).json).toMatchObject({ ok: true, charged_cents: 4 });
  });

  it.each(["asks on another network", "asks for another coin", "asks for nothing", "writes nonsense"] as Mood[])(
    "that %s is not paid, and nothing is charged",
    async (mood) => {
      merchant.mood = mood;
      expect((await ask({ url: paidUrl() })).json).toMatchObject({ ok: false, error: "merchant_unpaid" });
      expect(merchant.taken).toEqual([]);
      expect(await leftCents()).toBe(CREDIT_CENTS);
    },
  );

  // Each has its own name: a merchant that took money without delivering is not paid for a while.
  it.each([
    ["takes and asks again", 402],
    ["takes and fails", 500],
    ["takes and does not find", 404],
    ["takes and closes", null],
    ["takes and hangs", null],
  ] as [Mood, number | null][])("that %s costs its caller what it was paid, and no fee", async (mood, status) => {
    const name = `${mood.replaceAll(" ", "-")}.example`;
    outside.names[name] = ["127.0.0.1"];
    merchant.mood = mood;
    const { json } = await ask({ url: paidUrl("/thing", name) });
    expect(json).toMatchObject({ ok: true, charged_cents: 3, data: { status, paid_usd: "0.03" } });
    expect(JSON.stringify(json)).not.toMatch(/"signature"|payment-signature/);
    expect(merchant.taken).toHaveLength(1);
    expect(await leftCents()).toBe(CREDIT_CENTS - 3);
  });

  it("that did not take what it was shown gives its caller the money back, once the payment has lapsed", async () => {
    outside.names["asks-again.example"] = ["127.0.0.1"];
    merchant.mood = "asks again";
    const { json } = await ask({ url: paidUrl("/thing", "asks-again.example") });
    expect(json).toMatchObject({ ok: true, charged_cents: 3, data: { status: 402 } });
    merchant.nowS = () => Math.floor(Date.now() / 1_000) + 600;
    // Recent payments are checked after a second.
    await eventually(async () => {
      const { json: looked } = await gateway.admin("POST", "/admin/v1/wallet/reconcile", {});
      return looked.unmade === 1 ? true : undefined;
    }, "the chain's word");
    expect(await leftCents()).toBe(CREDIT_CENTS);
  });

  it("is paid over MPP only where it bears what the network takes, which no caller is charged", async () => {
    const url = `http://shop.example:${new URL(overMpp.url).port}/thing`;
    const { json } = await ask({ url });
    expect(json).toMatchObject({ ok: false, error: "merchant_unpaid" });
    expect(json.message).toContain("what the network takes");
    expect(overMpp.taken).toEqual([]);
    expect(await leftCents()).toBe(CREDIT_CENTS);
    overMpp.sponsors = true;
    expect((await ask({ url })).json).toMatchObject({ ok: true, charged_cents: 4, data: { paid_usd: "0.03" } });
    expect(overMpp.taken).toHaveLength(1);
  });

  it("is paid for by its caller where the long answer cannot be kept as a file", async () => {
    merchant.answer = () => ({ body: "x".repeat(2 * 1_048_576), type: "application/octet-stream" });
    const folder = join(gateway.dataDir, "files");
    removeFolder(folder);
    writeFileSync(folder, "in the way");
    try {
      const { json } = await ask({ url: paidUrl() });
      expect(json).toMatchObject({ ok: true, charged_cents: 4, data: { status: 200, paid_usd: "0.03" } });
      expect(String(json.data?.base64)).toHaveLength(4 * Math.ceil((2 * 1_048_576 + 2) / 3));
    } finally {
      rmSync(folder);
      mkdirSync(folder);
      merchant.answer = () => ({ body: { ok: 1 } });
    }
    expect(merchant.taken).toHaveLength(1);
    expect(await leftCents()).toBe(CREDIT_CENTS - 4);
  });

  it("is paid for a sandbox account in play money, and no server is asked", async () => {
    const { key } = await gateway.account({ kind: "sandbox" });
    const { json } = await ask({ url: "https://shop.example/paid/thing" }, { key });
    expect(json).toMatchObject({ ok: true, charged_cents: 2, data: { status: 200, paid_usd: "0.01" } });
    expect((await ask({ url: "https://shop.example/missing" }, { key })).json).toMatchObject({
      charged_cents: 0,
      data: { status: 404 },
    });
    expect(merchant.seen).toEqual([]);
  });
});
