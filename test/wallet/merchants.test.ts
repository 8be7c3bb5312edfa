// Every merchant's flow, over a stand-in that speaks MPP and one that speaks x402: it is asked, paid what it asks, and gives what it sells.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Rail } from "../../src/catalog/auth.ts";
import { envName } from "../../src/catalog/configure.ts";
import type { JsonObject } from "../../src/catalog/said.ts";
import { openWallet, type Wallet } from "../../src/wallet/wallet.ts";
import { startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";
import { Merchant } from "./merchant.ts";

const KEY = `0x${"11".repeat(32)}` as const;
const UNITS_PER_CENT = 10_000;

const catalog = await shippedCatalog({ rails: ["mpp", "x402"] });
const merchants = [...catalog.adapters({ sandbox: false }).values()].filter(
  ({ spec, configured }) => spec.auth.rails !== undefined && spec.keylessDoor === undefined && configured,
);

describe.each(["mpp", "x402"] as const)("over %s", (rail: Rail) => {
  const merchant = new Merchant(rail);
  let wallet: Wallet;
  let gateway: TestGateway;
  let account: TestAccount;
  const taking = merchants.filter(({ spec }) => spec.auth.rails?.includes(rail));

  beforeAll(async () => {
    wallet = await openWallet({ mpp: KEY, x402: KEY, gas: null });
    await merchant.listen();
    const bases = taking.map(({ id }) => [envName(id, "BASE_URL"), merchant.url]);
    const keys = { MPP_WALLET_PRIVATE_KEY: KEY, X402_WALLET_PRIVATE_KEY: KEY };
    gateway = await startTestGateway(
      { ...keys, WALLET_CENTS_PER_DAY: "100000", ...Object.fromEntries(bases) },
      { wallet },
    );
    account = await gateway.account({ kind: "personal", creditCents: 50_000 });
  });
  afterAll(async () => {
    const findings = await gateway.doctor();
    await gateway.stop();
    wallet.close();
    await merchant.close();
    expect(findings).toEqual([]);
  });

  async function call(id: string, params: JsonObject) {
    const response = await fetch(`${gateway.url}/api/run/${id}`, {
      method: "POST",
      headers: { authorization: `Bearer ${account.key}`, "content-type": "application/json" },
      body: JSON.stringify(params),
    });
    return { status: response.status, json: (await response.json()) as Record<string, unknown> };
  }

  describe.each(taking.map((one) => [one.id, one] as const))("%s", (id, { spec }) => {
    const actions = Object.entries(spec.actions ?? {});
    const of = (isPaid: boolean) => actions.filter(([, { price }]) => (price.paid !== undefined) === isPaid);

    it.each(of(true))("%s is paid what it asks", async (name, action) => {
      const cents = action.price.paid?.exampleCents ?? 0;
      merchant.units = BigInt(cents * UNITS_PER_CENT);
      merchant.isFree = () => false;
      merchant.answer = () => ({ body: action.example.answers[0] });
      const taken = merchant.taken.length;
      const bound = action.price.needsMaxCost === true ? { max_cost_cents: Math.ceil(cents) } : {};
      const { status, json } = await call(`${id}/${name}`, { ...action.example.params, ...bound });
      expect(json).toMatchObject({ ok: true, data: expect.anything() });
      expect(status).toBe(200);
      expect(merchant.taken).toHaveLength(taken + 1);
      const { json: row } = await gateway.admin("GET", `/admin/v1/transactions/${json.transaction_id}`);
      expect(JSON.stringify(row)).toContain(String(cents * 10_000_000));
    });

    it.each(of(true).filter(([, { price }]) => price.needsMaxCost === true))(
      "%s needs max_cost_cents",
      async (name, action) => {
        const seen = merchant.seen.length;
        const { status, json } = await call(`${id}/${name}`, action.example.params);
        expect([status, json.error]).toEqual([402, "max_cost_required"]);
        expect(merchant.seen).toHaveLength(seen);
      },
    );

    it.each(of(false))("%s costs nothing, and pays nothing where it is asked to", async (name, action) => {
      merchant.answer = () => ({ body: action.example.answers[0] });
      merchant.isFree = () => true;
      const { json } = await call(`${id}/${name}`, action.example.params);
      // An order is known once it was bought, which the tests before have done.
      expect(json).toMatchObject({ ok: true, charged_cents: 0 });
      merchant.isFree = () => false;
      merchant.units = 1n;
      const taken = merchant.taken.length;
      const asked = await call(`${id}/${name}`, action.example.params);
      expect(asked.json).toMatchObject({ ok: false, error: "merchant_unpaid" });
      expect(merchant.taken).toHaveLength(taken);
    });
  });
});

describe("a winery that wants to know who buys", () => {
  it("says where that is shown, and is asked again with the order_id", async () => {
    const merchant = new Merchant("mpp");
    await merchant.listen();
    const wallet = await openWallet({ mpp: KEY, x402: null, gas: null });
    const gateway = await startTestGateway(
      { MPP_WALLET_PRIVATE_KEY: KEY, WALLET_CENTS_PER_DAY: "100000", MARTIN_ESTATE_BASE_URL: merchant.url },
      { wallet },
    );
    const { key } = await gateway.account({ kind: "personal", creditCents: 50_000 });
    const ask = async (more: object) => {
      const action = merchants.find(({ id }) => id === "martin-estate")?.spec.actions?.purchase;
      const response = await fetch(`${gateway.url}/api/run/martin-estate/purchase`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ ...action?.example.params, max_cost_cents: 15_000, ...more }),
      });
      return { status: response.status, json: (await response.json()) as Record<string, unknown> };
    };
    merchant.units = 125_000_000n;
    merchant.isFree = ({ body }) => !body.includes("order_id");
    merchant.answer = ({ body }) =>
      body.includes("order_id")
        ? { body: { order_id: "ord_9", status: "paid" } }
        : { status: 403, body: { verify_url: "https://verify.example/1", order_id: "ord_9" } };
    const first = await ask({});
    expect([first.status, first.json.error]).toEqual([403, "verification_required"]);
    expect(first.json.data).toMatchObject({ verify_url: "https://verify.example/1", order_id: "ord_9" });
    expect(merchant.taken).toHaveLength(0);
    const second = await ask({ order_id: "ord_9" });
    expect(second.json).toMatchObject({ ok: true, charged_cents: 12_500, data: { order_id: "ord_9" } });
    expect(merchant.taken).toHaveLength(1);
    await gateway.stop();
    wallet.close();
    await merchant.close();
  });
});

describe.each(["mpp", "x402"] as const)("a vendor that is asked by key or by the call, over %s", (rail) => {
  const merchant = new Merchant(rail);
  let wallet: Wallet;
  beforeAll(async () => {
    await merchant.listen();
    wallet = await openWallet({ mpp: rail === "mpp" ? KEY : null, x402: rail === "x402" ? KEY : null, gas: null });
  });
  afterAll(async () => {
    wallet.close();
    await merchant.close();
  });

  it("is paid where there is no key, at most what is listed, and not where there is one", async () => {
    const { create_inbox: action } = catalog.adapters({ sandbox: false }).get("agentmail")?.spec.actions ?? {};
    const variable = rail === "mpp" ? "MPP_WALLET_PRIVATE_KEY" : "X402_WALLET_PRIVATE_KEY";
    const settings = { [variable]: KEY, AGENTMAIL_BASE_URL: merchant.url };
    const told: unknown[] = [];
    for (const [units, more] of [
      [2_000_000n, {}],
      [2_000_001n, {}],
      [2_000_000n, { AGENTMAIL_API_KEY: "am_key" }],
    ] as const) {
      merchant.units = units;
      merchant.answer = () => ({ body: action?.example.answers[0] });
      merchant.isFree = ({ headers }) => headers.authorization === "Bearer am_key";
      merchant.taken.length = 0;
      const gateway = await startTestGateway({ ...settings, ...more }, { wallet });
      const { key } = await gateway.account({ kind: "personal", creditCents: 1_000 });
      const response = await fetch(`${gateway.url}/api/run/agentmail/create_inbox`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify(action?.example.params),
      });
      const { ok, charged_cents, error } = (await response.json()) as Record<string, unknown>;
      told.push([ok, charged_cents, error, merchant.taken.length]);
      const findings = await gateway.doctor();
      await gateway.stop();
      expect(findings).toEqual([]);
    }
    expect(told).toEqual([
      [true, 200, undefined, 1],
      [false, 0, "merchant_unpaid", 0],
      [true, 200, undefined, 0],
    ]);
  });
});
