// Payments that an agent's author tries without money: the sandbox's chain checks as the real one does, and no vendor is called.
import { describe, expect, it } from "vitest";
import { NETWORKS } from "../../../src/catalog/networks.ts";
import { addressOfKey } from "../../../src/money/wallet/keys.ts";
import { type RunAnswer, readAnswer, startAcmeGateway } from "../../actions/run/acme-gateway.ts";
import { PAY_TO } from "./chain.ts";
import { startPaidGateway } from "./paid-gateway.ts";
import { askedBy, decoded, keyWallet } from "./wallet.ts";

type More = Parameters<ReturnType<typeof keyWallet>["pay"]>[1];
const SEARCH = "acme/search";
const { chain, gateway } = await startPaidGateway({ X402_SANDBOX: "1" });

async function ask(headers: Record<string, string> = {}, params: unknown = { q: "tea" }): Promise<RunAnswer> {
  const response = await fetch(`${gateway.url}/api/run/${SEARCH}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-tollgate-sandbox": "1", ...headers },
    body: JSON.stringify(params),
  });
  return readAnswer(response);
}
const paid = (payment: string, more: Record<string, string> = {}) => ask({ "payment-signature": payment, ...more });

describe("a call of the sandbox without a key", () => {
  it("is asked for play money, on a chain and in a coin that are none", async () => {
    const unpaid = await ask();
    expect([unpaid.status, unpaid.headers.get("x-tollgate-sandbox")]).toEqual([402, "1"]);
    expect(askedBy(unpaid)).toMatchObject({
      network: "eip155:4020402402",
      asset: "0x706c6179206d6f6e6579206973206e6f20636f69",
      extra: { name: "Tollgate play money", version: "1" },
    });
  });

  it("is answered by the stand-in once it is paid, with a receipt, and the same payment gets the same", async () => {
    const payment = keyWallet().pay(askedBy(await ask()));
    const { status, headers, json } = await paid(payment);
    expect([status, json.charged_cents, headers.get("x-tollgate-sandbox")]).toEqual([200, 1, "1"]);
    expect(decoded(headers.get("payment-response"))).toMatchObject({ success: true, network: "eip155:4020402402" });
    const again = await paid(payment);
    expect([again.headers.get("idempotent-replayed"), again.json.data]).toEqual(["true", json.data]);
    expect(gateway.vendor.asked).toEqual([]);
  });

  it("that fails pays nothing, and what was signed is good for the next", async () => {
    const payment = keyWallet().pay(askedBy(await ask()));
    const failed = await paid(payment, { "x-tollgate-sandbox-fault": "500" });
    expect([failed.status, failed.headers.get("payment-response")]).toEqual([500, null]);
    expect((await paid(payment)).status).toBe(200);
  });

  it.each<[string, More, More, string]>([
    ["another amount", { value: "1" }, {}, "not of the price"],
    ["changed behind its signature", {}, { nonce: `0x${"1".repeat(64)}` }, "signature"],
    ["in the name of another", { from: addressOfKey(`0x${"01".repeat(32)}`) }, {}, "signature"],
    ["not good yet", { validAfter: "9999999999" }, {}, "valid_after"],
    ["of a number that no contract takes", {}, { validAfter: "9".repeat(78) }, "valid_after"],
    ["of a number that no contract takes, and good by it", {}, { validBefore: "9".repeat(78) }, "signature"],
  ])("with a payment that is %s is refused as the real chain would", async (_, more, after, said) => {
    const { status, json } = await paid(keyWallet().pay(askedBy(await ask()), more, after));
    expect([status, json.message]).toEqual([402, expect.stringContaining(said)]);
  });
});

describe("money and play money", () => {
  it("are two things: what is signed for one pays for nothing of the other", async () => {
    const asked = askedBy(await ask());
    const headers = { "content-type": "application/json", "payment-signature": keyWallet().pay(asked) };
    const live = await fetch(`${gateway.url}/api/run/${SEARCH}`, { method: "POST", headers, body: '{"q":"tea"}' });
    expect([live.status, await live.text()]).toEqual([402, expect.stringContaining("network")]);
    expect(askedBy(live)).toMatchObject({ network: NETWORKS.base.caip2, asset: NETWORKS.base.asset, payTo: PAY_TO });
    expect(chain.verifies).toBe(0);
  });

  it("have an account each, and play money is in no count of money", async () => {
    await paid(keyWallet().pay(askedBy(await ask())));
    const { json: play } = await gateway.admin("GET", "/admin/v1/accounts/x402-sandbox");
    const { json: money } = await gateway.admin("GET", "/admin/v1/accounts/x402");
    expect([play.kind, play.balance_cents, money.spent_cents]).toEqual(["sandbox", 0, 0]);
    expect(play.spent_cents).toBeGreaterThan(0);
  });
});

it("without X402_SANDBOX a call of the sandbox needs a key, and is never asked for money", async () => {
  const bare = await startAcmeGateway({ X402_PAY_TO: PAY_TO, X402_FACILITATOR_URL: chain.url });
  const headers = { "content-type": "application/json", "x-tollgate-sandbox": "1" };
  const response = await fetch(`${bare.url}/api/run/${SEARCH}`, { method: "POST", headers, body: '{"q":"tea"}' });
  expect([response.status, response.headers.get("payment-required")]).toEqual([401, null]);
  await bare.stop();
});
