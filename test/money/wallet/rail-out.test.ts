// Merchants that are paid per call, honest and lying: each is paid once, at most the agreed amount, and the books say so.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Rail } from "../../../src/catalog/auth.ts";
import { NO_WALLET, openWallet, type Wallet } from "../../../src/money/wallet/wallet.ts";
import { startTestGateway, type TestAccount, type TestGateway } from "../../support/gateway.ts";
import { Merchant, type Mood, PAY_TO } from "./merchant.ts";

const KEY = `0x${"11".repeat(32)}` as const;

type Proven = { of: string; proved: number; unknown: number };

interface Told {
  readonly status: number;
  readonly json: Record<string, unknown>;
  readonly text: string;
  readonly headers: Headers;
}

/** The action that tests each rail: it costs a few cents, at a merchant that accepts the rail. */
const CASES: Readonly<
  Record<Rail, { readonly path: string; readonly body: object; readonly base: string; readonly payTo: string }>
> = {
  mpp: { path: "/api/run/govlaws/search", body: { query: "tides" }, base: "GOVLAWS_BASE_URL", payTo: "GOVLAWS_PAY_TO" },
  x402: {
    path: "/api/run/sayer-and-stone/purchase",
    body: {
      sku: "SR-1",
      email: "ada@example.com",
      shipping: { name: "Ada", address_line1: "1 A St", city: "Napa", state: "CA", zip: "94558" },
      max_cost_cents: 3,
    },
    base: "SAYER_AND_STONE_BASE_URL",
    payTo: "SAYER_AND_STONE_PAY_TO",
  },
};

describe.each(["mpp", "x402"] as const)("over %s", (rail) => {
  const { path, body, base } = CASES[rail];
  const merchant = new Merchant(rail);
  let wallet: Wallet = NO_WALLET;
  let gateway: TestGateway;
  let account: TestAccount;

  async function start(more: Record<string, string> = {}): Promise<void> {
    gateway = await startTestGateway(
      {
        MPP_WALLET_PRIVATE_KEY: KEY,
        X402_WALLET_PRIVATE_KEY: KEY,
        MPP_RPC_URL: `${merchant.url}/rpc`,
        X402_RPC_URL: `${merchant.url}/rpc`,
        [base]: merchant.url,
        ...more,
      },
      { wallet },
    );
    account = await gateway.account({ kind: "personal", creditCents: 1_000 });
  }

  async function stop(): Promise<void> {
    const findings = await gateway.doctor();
    await gateway.stop();
    expect(findings).toEqual([]);
  }

  beforeAll(async () => {
    wallet = await openWallet({ mpp: KEY, x402: KEY, gas: null });
    await merchant.listen();
  });
  afterAll(async () => {
    wallet.close();
    await merchant.close();
  });
  beforeEach(() => {
    merchant.mood = "honest";
    merchant.units = 30_000n;
    merchant.seen.length = 0;
    merchant.taken.length = 0;
    merchant.answer = () => ({ body: { results: [{ citation: "12 CFR 1026.43" }], order_id: "ord_1" } });
  });

  async function call(headers: Record<string, string> = {}, more: object = {}): Promise<Told> {
    const response = await fetch(gateway.url + path, {
      method: "POST",
      headers: { authorization: `Bearer ${account.key}`, "content-type": "application/json", ...headers },
      body: JSON.stringify({ ...body, ...more }),
    });
    const text = await response.text();
    return { status: response.status, json: JSON.parse(text), text, headers: response.headers };
  }
  const walletOf = async () => (await gateway.admin("GET", "/admin/v1/wallet")).json;

  describe("an honest merchant", () => {
    beforeAll(() => start());
    afterAll(stop);

    it("is paid once by the very same request, and what it was paid is the charge", async () => {
      const { status, json } = await call();
      expect(json).toMatchObject({ ok: true, charged_cents: 3 });
      expect(status).toBe(200);
      expect(merchant.taken).toHaveLength(1);
      const [first, second, ...rest] = merchant.seen;
      expect(rest).toEqual([]);
      expect([second?.method, second?.url, second?.body]).toEqual([first?.method, first?.url, first?.body]);
    });

    it("is paid what it asks, where that is less than listed", async () => {
      merchant.units = 12_345n;
      const { json } = await call();
      const row = await gateway.admin("GET", `/admin/v1/transactions/${json.transaction_id}`);
      expect(json.ok).toBe(true);
      expect(JSON.stringify(row.json)).toContain("12345000");
    });

    it("leaves a receipt", async () => {
      const { json } = await call();
      const [last] = (await walletOf()).last as Record<string, unknown>[];
      expect(last).toMatchObject({
        transaction_id: json.transaction_id,
        rail,
        pay_to: PAY_TO,
        amount_usd: "0.03",
        state: "made",
        transaction: merchant.taken.at(-1)?.transactionHash,
      });
    });

    it("is on chain as the books have it, which doctor says", async () => {
      await call();
      const last = ((await walletOf()).last as unknown[]).length;
      const told = await gateway.admin("GET", "/admin/v1/doctor");
      expect(told.json.findings).toEqual([]);
      // Payments of earlier tests may no longer be on any chain.
      const [{ of, proved, unknown } = { of: "", proved: 0, unknown: 0 }] = told.json.payments as Proven[];
      expect([of, Number(proved) + Number(unknown)]).toEqual(["payments to merchants", last]);
      expect(proved).toBeGreaterThan(0);
    });

    it("is not paid where the caller may not spend it", async () => {
      const { key } = await gateway.account({ kind: "personal", creditCents: 1 });
      const { status } = await call({ authorization: `Bearer ${key}` });
      expect(status).toBe(402);
      expect(merchant.seen).toEqual([]);
    });

    it("is paid once for one Idempotency-Key", async () => {
      const first = await call({ "idempotency-key": `"${rail}-1"` });
      const second = await call({ "idempotency-key": `"${rail}-1"` });
      expect(second.json.transaction_id).toBe(first.json.transaction_id);
      expect(merchant.taken).toHaveLength(1);
    });
  });

  describe("a merchant that asks for what it is not to get", () => {
    beforeAll(() => start({ [CASES[rail].payTo]: PAY_TO }));
    afterAll(stop);

    const asks: readonly Mood[] = [
      "asks to be paid elsewhere",
      "asks for another coin",
      "asks on another network",
      "asks for nothing",
      "names nobody",
      "says nothing of how",
      "writes nonsense",
      ...(rail === "mpp" ? (["asks for what has lapsed"] as const) : []),
    ];
    it.each(asks)("%s: nothing is paid, nothing charged", async (mood) => {
      merchant.mood = mood;
      const { status, json } = await call();
      expect(json).toMatchObject({ ok: false, error: "merchant_unpaid", charged_cents: 0 });
      expect(status).toBe(503);
      expect(merchant.seen).toHaveLength(1);
      expect((await walletOf()).spent_today_usd).toBe("0");
    });

    it("asks more than it may cost: the caller is told how much, and nothing is paid", async () => {
      merchant.mood = "dear";
      const { status, json } = await call();
      const told = rail === "mpp" ? "merchant_unpaid" : "max_cost_exceeded";
      expect(json).toMatchObject({ ok: false, error: told, charged_cents: 0 });
      expect(status).toBe(rail === "mpp" ? 503 : 402);
      expect(merchant.seen).toHaveLength(1);
    });
  });

  describe("a merchant that takes the money", () => {
    beforeEach(() => start());
    afterEach(stop);

    it.each(["takes and asks again", "asks again", "finds the wallet empty"] as const)(
      "and %s: it is not paid twice, nor by the next call",
      async (mood) => {
        merchant.mood = mood;
        const { json } = await call();
        expect(json).toMatchObject({ ok: false, charged_cents: 0 });
        expect(merchant.seen).toHaveLength(2);
        const next = await call();
        expect(next.json).toMatchObject({ error: "merchant_unpaid" });
        expect(next.headers.get("retry-after")).toMatch(/^\d+$/);
        expect(merchant.seen).toHaveLength(3);
        expect((await walletOf()).in_doubt).toHaveLength(1);
      },
    );

    it("and hangs: the payment is in doubt meanwhile, and not made again when the merchant closes at last", async () => {
      merchant.mood = "takes and hangs";
      const taken = new Promise<void>((resolve) => {
        merchant.onTaken = resolve;
      });
      const calling = call();
      await taken;
      expect((await walletOf()).in_doubt).toMatchObject([{ answered_status: null, amount_usd: "0.03" }]);
      for (const response of merchant.hanging.splice(0)) response.destroy();
      expect((await calling).json).toMatchObject({ ok: false, charged_cents: 0 });
      expect(merchant.seen).toHaveLength(2);
      expect(merchant.taken).toHaveLength(1);
    });

    it.each(["takes and fails", "takes and closes"] as const)(
      "and %s: it is not asked again, and the cost is known",
      async (mood) => {
        merchant.mood = mood;
        const { json, text } = await call();
        expect(json).toMatchObject({ ok: false, charged_cents: 0 });
        expect(merchant.taken).toHaveLength(1);
        expect(merchant.seen).toHaveLength(2);
        const shown = merchant.seen[1]?.headers[rail === "mpp" ? "authorization" : "payment-signature"];
        expect(text).not.toContain(String(shown).slice(-40));
        expect(await gateway.metricsText()).toMatch(/^tollgate_unpaid_cost_usd_total\{charged="0"\} 0\.03$/m);
      },
    );
  });

  describe("a wallet with a limit", () => {
    beforeAll(() => start({ WALLET_CENTS_PER_DAY: "5" }));
    afterAll(stop);

    it("pays no more in a day, whoever calls, and says until when", async () => {
      const answers = await Promise.all([call(), call(), call()]);
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      const refused = answers.find(({ status }) => status !== 200);
      expect(refused?.json).toMatchObject({ error: "merchant_unpaid" });
      expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(merchant.taken).toHaveLength(1);
    });
  });
});
