// The reference x402 client pays with play money: an agent's author can try all of it without a chain, a facilitator or a coin.
import { registerExactEvmScheme } from "@x402/evm/exact/client";
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ X402_SANDBOX: "1" });
});
afterAll(async () => {
  const findings = await gateway.doctor();
  await gateway.stop();
  expect(findings).toEqual([]);
});

it("the reference client pays a call of the sandbox", async () => {
  const signer = privateKeyToAccount(generatePrivateKey());
  const client = new x402Client();
  registerExactEvmScheme(client, { signer, networks: ["eip155:4020402402"] });
  // By default it pays only in coins that it knows.
  const asset = `0x${Buffer.from("play money is no coin").subarray(0, 20).toString("hex")}`;
  client.setSpendControls({ allowedAssets: [{ network: "eip155:4020402402", asset }] });
  const response = await wrapFetchWithPayment(fetch, client)(`${gateway.url}/api/run/brave/search`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-tollgate-sandbox": "1" },
    body: '{"q":"tea"}',
  });
  expect(await response.json()).toMatchObject({ ok: true, charged_cents: 1 });
  const receipt = JSON.parse(Buffer.from(String(response.headers.get("payment-response")), "base64").toString());
  expect(receipt).toMatchObject({ success: true, payer: signer.address.toLowerCase() });
});
