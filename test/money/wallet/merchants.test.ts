// Every merchant's flow, over a mock that speaks MPP and one that speaks x402: it states its price, is paid that price, and delivers.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ActionSpec } from "../../../src/catalog/action.ts";
import type { Rail } from "../../../src/catalog/auth.ts";
import { envName } from "../../../src/catalog/configure.ts";
import type { JsonObject } from "../../../src/catalog/said.ts";
import { openWallet, type Wallet } from "../../../src/money/wallet/wallet.ts";
import { startTestGateway, type TestAccount, type TestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { shippedCatalog } from "../../support/shipped-catalog.ts";
import { type Outside, say, startOutside } from "../../upstream/outside.ts";
import { Merchant } from "./merchant.ts";

const KEY = `0x${"11".repeat(32)}` as const;
const UNITS_PER_CENT = 10_000;

/** A document with this many pages. */
function pdf(pages: number): string {
  const tree = `2 0 obj << /Type /Pages /Count ${pages} /Kids [] >> endobj`;
  return `%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n${tree}\n%%EOF\n`;
}

const catalog = await shippedCatalog({ rails: ["mpp", "x402"] });
const merchants = [...catalog.adapters({ sandbox: false }).values()].filter(
  ({ spec, configured }) => spec.auth.rails !== undefined && spec.keylessDoor === undefined && configured,
);

describe.each(["mpp", "x402"] as const)("over %s", (rail: Rail) => {
  const merchant = new Merchant(rail);
  let wallet: Wallet;
  let outside: Outside;
  let gateway: TestGateway;
  let account: TestAccount;
  const taking = merchants.filter(({ spec }) => spec.auth.rails?.includes(rail));

  beforeAll(async () => {
    wallet = await openWallet({ mpp: KEY, x402: KEY, gas: null });
    await merchant.listen();
    outside = await startOutside();
    outside.play = (socket, path) => say(socket, {}, path === "/page.html" ? "<html>" : pdf(Number(path.slice(1))));
    const bases = taking.map(({ id }) => [envName(id, "BASE_URL"), merchant.url]);
    const keys = { MPP_WALLET_PRIVATE_KEY: KEY, X402_WALLET_PRIVATE_KEY: KEY };
    gateway = await startTestGateway(
      { ...keys, WALLET_CENTS_PER_DAY: "100000", ...Object.fromEntries(bases) },
      { wallet, internet: { allowForTests: [`127.0.0.2:${outside.port}`], resolve: async () => ["127.0.0.2"] } },
    );
    account = await gateway.account({ kind: "personal", creditCents: 50_000 });
  });
  afterAll(async () => {
    const findings = await gateway.doctor();
    await gateway.stop();
    wallet.close();
    await Promise.all([merchant.close(), outside.close()]);
    expect(findings).toEqual([]);
  });

  /** The example's params, with a document that exists. */
  const paramsOf = ({ example: { params } }: ActionSpec) =>
    params.file_url === undefined ? params : { ...params, file_url: outside.url("/2") };

  async function call(id: string, params: JsonObject) {
    const response = await postAs(account.key, `${gateway.url}/api/run/${id}`, params);
    return { status: response.status, json: (await response.json()) as Record<string, unknown> };
  }

  describe.runIf(rail === "mpp")("a fax", () => {
    const fax = (path: string, more: JsonObject = {}) =>
      call("agentfax/send", { to: "+14155550123", file_url: outside.url(path), ...more });
    beforeEach(() => {
      merchant.isFree = () => false;
      merchant.answer = () => ({ body: { id: "fax_1" } });
      merchant.seen.length = 0;
      merchant.taken.length = 0;
    });

    it("is paid what its merchant asks, at most for `pages`, and the merchant sees the document alone", async () => {
      merchant.units = 60n * 10_000n;
      expect((await fax("/3", { pages: 3 })).json).toMatchObject({
        ok: true,
        charged_cents: 60,
        data: { id: "fax_1" },
      });
      expect(JSON.parse(String(merchant.seen[0]?.body))).toEqual({ to: "+14155550123", file_url: outside.url("/3") });
    });

    it("is not paid for more than `pages`", async () => {
      merchant.units = 60n * 10_000n;
      expect((await fax("/3", { pages: 2 })).json).toMatchObject({ error: "merchant_unpaid", charged_cents: 0 });
      expect(merchant.taken).toEqual([]);
    });

    it("of an address inside is refused before it is opened", async () => {
      const inner = `http://127.0.0.1:${outside.port}/2`;
      expect((await fax("", { file_url: inner })).json).toMatchObject({ error: "bad_url", charged_cents: 0 });
      expect([merchant.seen, outside.innerConnections()]).toEqual([[], 0]);
    });
  });

  it.runIf(taking.some(({ id }) => id === "dripstack"))(
    "a balance that is short of the listed price buys what costs less",
    async () => {
      const { key } = await gateway.account({ kind: "personal", creditCents: 30 });
      merchant.isFree = () => false;
      merchant.answer = () => ({ body: { synthesizedSummary: "The moon moves the sea." } });
      const buy = async (cents: number) => {
        merchant.units = BigInt(cents * UNITS_PER_CENT);
        const response = await postAs(key, `${gateway.url}/api/run/dripstack/post`, {
          publication: "newsletter.doomberg.com",
          post: "the-tides",
        });
        return (await response.json()) as Record<string, unknown>;
      };
      const taken = merchant.taken.length;
      expect(await buy(31)).toMatchObject({ ok: false, error: "insufficient_balance" });
      expect(merchant.taken.length).toBe(taken);
      expect(await buy(25)).toMatchObject({ ok: true, charged_cents: 25, balance_remaining_cents: 5 });
    },
  );

  describe.each(taking.map((one) => [one.id, one] as const))("%s", (id, { spec }) => {
    const actions = Object.entries(spec.actions ?? {});
    const of = (isPaid: boolean) => actions.filter(([, { price }]) => (price.paid !== undefined) === isPaid);

    it.each(of(true))("%s may ask up to max_cost_cents, and nothing above it is paid", async (name, action) => {
      const { price } = action;
      const bound = Math.min(400, Math.ceil((price.quoteCents?.(paramsOf(action)) ?? price.cents) / 2));
      merchant.isFree = () => false;
      merchant.answer = () => ({ body: action.example.answers[0] });
      const asked = async (cents: number) => {
        merchant.units = BigInt(Math.round(cents * UNITS_PER_CENT));
        const taken = merchant.taken.length;
        const { status, json } = await call(`${id}/${name}`, { ...paramsOf(action), max_cost_cents: bound });
        return { status, json, paid: merchant.taken.length - taken };
      };
      const dear = await asked(bound + 0.5);
      expect([dear.status, dear.json.error, dear.paid]).toEqual([402, "max_cost_exceeded", 0]);
      const fair = await asked(bound);
      expect([fair.json.ok, fair.json.charged_cents, fair.paid]).toEqual([true, bound, 1]);
    });

    it.each(of(true))("%s is paid what it asks", async (name, action) => {
      const cents = action.price.paid?.exampleCents ?? 0;
      merchant.units = BigInt(cents * UNITS_PER_CENT);
      merchant.isFree = () => false;
      merchant.answer = () => ({ body: action.example.answers[0] });
      const taken = merchant.taken.length;
      const bound = action.price.needsMaxCost === true ? { max_cost_cents: Math.ceil(cents) } : {};
      const { status, json } = await call(`${id}/${name}`, { ...paramsOf(action), ...bound });
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
      // An order exists only after a purchase, which the earlier tests have made.
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
      const response = await postAs(key, `${gateway.url}/api/run/martin-estate/purchase`, {
        ...action?.example.params,
        max_cost_cents: 15_000,
        ...more,
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

describe.each([
  { rail: "mpp", id: "agentmail", name: "create_inbox", cents: 200 },
  { rail: "x402", id: "agentmail", name: "create_inbox", cents: 200 },
  { rail: "mpp", id: "modal", name: "create", cents: 3 },
] as const)("$id, which is asked by key or by the call, over $rail", ({ rail, id, name, cents }) => {
  const merchant = new Merchant(rail);
  const action = catalog.adapters({ sandbox: false }).get(id)?.spec.actions?.[name];
  let wallet: Wallet;
  beforeAll(async () => {
    await merchant.listen();
    wallet = await openWallet({ mpp: rail === "mpp" ? KEY : null, x402: rail === "x402" ? KEY : null, gas: null });
  });
  afterAll(async () => {
    wallet.close();
    await merchant.close();
  });

  async function buy(more: Record<string, string> = {}) {
    merchant.answer = () => ({ body: action?.example.answers[0] });
    merchant.taken.length = 0;
    const variable = rail === "mpp" ? "MPP_WALLET_PRIVATE_KEY" : "X402_WALLET_PRIVATE_KEY";
    const settings = { [variable]: KEY, [envName(id, "BASE_URL")]: merchant.url, ...more };
    const gateway = await startTestGateway(settings, { wallet });
    const { key } = await gateway.account({ kind: "personal", creditCents: 1_000 });
    const response = await postAs(key, `${gateway.url}/api/run/${id}/${name}`, action?.example.params);
    const { ok, charged_cents, error } = (await response.json()) as Record<string, unknown>;
    const findings = await gateway.doctor();
    await gateway.stop();
    expect(findings).toEqual([]);
    return [ok, charged_cents, error, merchant.taken.length];
  }

  it("is paid where there is no key, and charged as listed", async () => {
    merchant.units = BigInt(cents * UNITS_PER_CENT);
    expect(await buy()).toEqual([true, cents, undefined, 1]);
  });

  it("is not paid more than is listed", async () => {
    merchant.units = BigInt(cents * UNITS_PER_CENT) + 1n;
    expect(await buy()).toEqual([false, 0, "merchant_unpaid", 0]);
  });

  it.runIf(id === "agentmail")("is not paid where there is a key", async () => {
    merchant.isFree = ({ headers }) => headers.authorization === "Bearer am_key";
    expect(await buy({ AGENTMAIL_API_KEY: "am_key" })).toEqual([true, cents, undefined, 0]);
  });
});

describe.each(["mpp", "x402"] as const)(
  "browserbase, whose door for those without a key is another wire, over %s",
  (rail) => {
    const merchant = new Merchant(rail);
    const variable = rail === "mpp" ? "MPP_WALLET_PRIVATE_KEY" : "X402_WALLET_PRIVATE_KEY";
    let wallet: Wallet;
    let gateway: TestGateway;
    let account: TestAccount;
    const expiresAt = "2026-11-20T10:16:12Z";
    beforeAll(async () => {
      await merchant.listen();
      wallet = await openWallet({ mpp: rail === "mpp" ? KEY : null, x402: rail === "x402" ? KEY : null, gas: null });
      gateway = await startTestGateway({ [variable]: KEY, BROWSERBASE_BASE_URL: merchant.url }, { wallet });
      account = await gateway.account({ kind: "personal", creditCents: 100 });
      merchant.isFree = ({ method }) => method !== "POST";
      merchant.answer = ({ method, url }) => {
        if (method === "DELETE") return { body: {} };
        if (url.endsWith("/status"))
          return { body: { status: "active", usage: { minutesRemaining: 14.5 }, expiresAt } };
        return {
          body: url.endsWith("/extend") ? { expiresAt } : { sessionId: "s1", connectUrl: "wss://b/", paidMinutes: 5 },
        };
      };
    });
    afterAll(async () => {
      const findings = await gateway.doctor();
      await gateway.stop();
      wallet.close();
      await merchant.close();
      expect(findings).toEqual([]);
    });

    async function run(name: string, params: JsonObject, by = account) {
      const seen = merchant.seen.length;
      const response = await postAs(by.key, `${gateway.url}/api/run/browserbase/${name}`, params);
      const json = (await response.json()) as Record<string, unknown>;
      const sent = merchant.seen.slice(seen).map(({ method, url, body }) => [method, url, body && JSON.parse(body)]);
      return { json, sent };
    }

    it("sells minutes that end by themselves, more of them, how they stand, and their end", async () => {
      merchant.units = BigInt(UNITS_PER_CENT);
      const made = await run("create_session", { estimatedMinutes: 5 });
      expect(made.json).toMatchObject({
        charged_cents: 1,
        data: { sessionId: "s1", connectUrl: "wss://b/", paidMinutes: 5 },
      });
      const create = ["POST", "/browser/session/create", { estimatedMinutes: 5 }];
      expect(made.sent).toEqual([create, create]);
      merchant.units = 2n * BigInt(UNITS_PER_CENT);
      const longer = await run("extend_session", { session_id: "s1", estimatedMinutes: 10 });
      expect(longer.json).toMatchObject({ charged_cents: 2, data: { sessionId: "s1", expiresAt } });
      expect(longer.sent.at(-1)).toEqual(["POST", "/browser/session/s1/extend", { additionalMinutes: 10 }]);
      const told = await run("session_status", { session_id: "s1" });
      expect(told.json).toMatchObject({ charged_cents: 0, data: { alive: true, paidMinutes: 14.5, expiresAt } });
      const ended = await run("release_session", { session_id: "s1" });
      expect([ended.json.data, ended.sent]).toEqual([
        { sessionId: "s1", released: true },
        [["DELETE", "/browser/session/s1", ""]],
      ]);
      expect(merchant.taken).toHaveLength(2);
    });

    it("is not paid more than is listed, and is another account's to none", async () => {
      merchant.units = BigInt(UNITS_PER_CENT) + 1n;
      const dear = await run("create_session", { estimatedMinutes: 5 });
      expect(dear.json).toMatchObject({ error: "merchant_unpaid", charged_cents: 0 });
      const eve = await gateway.account({ kind: "personal", creditCents: 100 });
      expect(await run("session_status", { session_id: "s1" }, eve)).toMatchObject({
        json: { error: "not_found" },
        sent: [],
      });
    });

    it.each([
      ["a proxy", { proxies: { country: "DE" } }, "proxies"],
      ["an end with its client", { keepAlive: false }, "keepAlive"],
    ])("does not sell %s, and says so before it is asked", async (_, params, field) => {
      const { json, sent } = await run("create_session", params);
      expect([json.error, json.message, sent]).toEqual(["bad_request", expect.stringContaining(field), []]);
    });
  },
);
