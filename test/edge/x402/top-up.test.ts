// An account that tops itself up on chain: credited once, by the amount paid, to the account whose key came with the payment.
import { beforeEach, describe, expect, it } from "vitest";
import { readAnswer } from "../../actions/run/acme-gateway.ts";
import type { TestAccount } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import type { Asked } from "./chain.ts";
import { startPaidGateway } from "./paid-gateway.ts";

const DOLLAR = 1_000_000;
const { chain, gateway } = await startPaidGateway({ X402_SETTLEMENT_CENTS: "0.2" });
let ada: TestAccount;
beforeEach(async () => {
  chain.mood = "well";
  chain.isNodeAway = false;
  ada = await gateway.live({ creditCents: 0 });
});

async function topUp({ key }: TestAccount, cents: unknown, payment?: string) {
  const response = await postAs(
    key,
    `${gateway.url}/api/v1/topup`,
    { cents },
    { ...(payment === undefined ? {} : { "payment-signature": payment }) },
  );
  return readAnswer(response);
}

const decoded = (header: string | null) => JSON.parse(Buffer.from(String(header), "base64").toString("utf8"));
async function asked(cents: number): Promise<Asked> {
  const { status, headers } = await topUp(ada, cents);
  expect(status).toBe(402);
  return decoded(headers.get("payment-required")).accepts[0] as Asked;
}

describe("an account", () => {
  it("is told what to pay, and has it once it is paid", async () => {
    const wallet = chain.wallet(DOLLAR);
    const { status, json, headers } = await topUp(ada, 50, wallet.pay(await asked(50)));
    expect([status, json]).toMatchObject([200, { credited_cents: 50, balance_cents: 50 }]);
    expect(decoded(headers.get("payment-response"))).toMatchObject({ success: true, payer: wallet.address });
    expect(chain.balance(wallet.address)).toBe(DOLLAR / 2);
    expect(await gateway.balanceCents(ada)).toBe(50);
    // Our cost of making the payment is a posting of the house account.
    const id = String(json.transaction_id).replace(/_in$/, "_paid");
    const { json: cost } = await gateway.admin("GET", `/admin/v1/transactions/${id}`);
    expect(cost).toMatchObject({ account_id: "x402", charged_nano_usd: 0, upstream_nano_usd: 2_000_000 });
  });

  it("is credited once, however often and however fast the same payment comes", async () => {
    const wallet = chain.wallet(DOLLAR);
    const payment = wallet.pay(await asked(50));
    const answers = await Promise.all(Array.from({ length: 10 }, () => topUp(ada, 50, payment)));
    expect(answers.filter(({ status }) => status !== 200 && status !== 409)).toEqual([]);
    expect((await topUp(ada, 50, payment)).status).toBe(200);
    expect(await gateway.balanceCents(ada)).toBe(50);
  });

  it("is not credited by what another account was, nor by what a call was paid with", async () => {
    const eve = await gateway.live({ creditCents: 0 });
    const wallet = chain.wallet(DOLLAR);
    const filled = wallet.pay(await asked(50));
    await topUp(ada, 50, filled);
    expect((await topUp(eve, 50, filled)).status).toBe(422);
    const cent = wallet.pay(await asked(1));
    gateway.vendor.answers({ body: { results: ["found"] } });
    const headers = { "content-type": "application/json", "payment-signature": cent };
    const call = await fetch(`${gateway.url}/api/run/acme/search`, { method: "POST", headers, body: '{"q":"tea"}' });
    expect(call.status).toBe(200);
    expect((await topUp(eve, 1, cent)).status).toBe(422);
    expect(await gateway.balanceCents(eve)).toBe(0);
  });

  it("buys no call with what has filled it", async () => {
    const wallet = chain.wallet(DOLLAR);
    const cent = wallet.pay(await asked(1));
    await topUp(ada, 1, cent);
    gateway.vendor.asked.length = 0;
    const headers = { "content-type": "application/json", "payment-signature": cent };
    const call = await fetch(`${gateway.url}/api/run/acme/search`, { method: "POST", headers, body: '{"q":"tea"}' });
    expect([call.status, gateway.vendor.asked]).toEqual([409, []]);
  });

  it("has its credit when nobody said at first whether it was paid", async () => {
    const payment = chain.wallet(DOLLAR).pay(await asked(50));
    chain.mood = "moves and is not heard";
    chain.isNodeAway = true;
    expect((await topUp(ada, 50, payment)).json.error).toBe("settlement_pending");
    expect(await gateway.balanceCents(ada)).toBe(0);
    chain.mood = "well";
    chain.isNodeAway = false;
    expect((await topUp(ada, 50, payment)).status).toBe(200);
    expect(await gateway.balanceCents(ada)).toBe(50);
  });

  it.each([0, -1, 1.5, 100_001, "50", null])("that asks for %j cents is told the field", async (cents) => {
    const { status, json } = await topUp(ada, cents);
    expect([status, json.message]).toEqual([400, expect.stringContaining("cents")]);
  });

  it("of a sandbox has play money and needs none", async () => {
    expect((await topUp(await gateway.account(), 50)).status).toBe(400);
  });
});
