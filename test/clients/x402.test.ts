// The reference x402 client pays a gateway through the reference facilitator, on a chain with Base's coin at its address.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { registerExactEvmScheme } from "@x402/evm/exact/client";
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import type { PrivateKeyAccount } from "viem/accounts";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type AcmeGateway, startAcmeGateway } from "../actions/run/acme-gateway.ts";
import type { TestAccount } from "../support/gateway.ts";
import { type BaseChain, startBaseChain } from "./evm/base-chain.ts";

const CENT = 10_000;
const DOLLAR = 1_000_000n;
const PAY_TO = privateKeyToAccount(generatePrivateKey()).address;

let chain: BaseChain;
let gateway: AcmeGateway;
beforeAll(async () => {
  chain = await startBaseChain();
  gateway = await startAcmeGateway({
    X402_PAY_TO: PAY_TO,
    X402_FACILITATOR_URL: chain.facilitatorUrl,
    X402_RPC_URL: chain.rpcUrl,
    ADDRESS_REQUESTS_PER_MINUTE: "100000",
  });
});
afterAll(async () => {
  const findings = await gateway.doctor();
  await gateway.stop();
  await chain.close();
  expect(findings).toEqual([]);
});
beforeEach(() => {
  gateway.vendor.asked.length = 0;
  gateway.vendor.answers({ body: { results: ["found"] } });
});

/** `fetch` as the reference client wraps it; `sent` has the payments that it made. */
function clientOf(signer: PrivateKeyAccount, maxAmountPerPayment = "$1") {
  const client = new x402Client();
  client.setSpendControls({ maxAmountPerPayment });
  registerExactEvmScheme(client, { signer, networks: ["eip155:8453"] });
  const sent: string[] = [];
  const watching: typeof fetch = (input, init) => {
    const headers = input instanceof Request ? input.headers : new Headers(init?.headers);
    const payment = headers.get("payment-signature");
    if (payment !== null) sent.push(payment);
    return fetch(input, init);
  };
  const paid = wrapFetchWithPayment(watching, client);
  const ask = (params: unknown = { q: "tea" }, action = "search") =>
    paid(`${gateway.url}/api/run/acme/${action}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(params),
    });
  const fill = ({ key }: TestAccount, cents: number) =>
    paid(`${gateway.url}/api/v1/topup`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ cents }),
    });
  return { ask, fill, sent };
}

const again = (payment: string, params: unknown = { q: "tea" }) =>
  fetch(`${gateway.url}/api/run/acme/search`, {
    method: "POST",
    headers: { "content-type": "application/json", "payment-signature": payment },
    body: JSON.stringify(params),
  });

describe("the reference client", () => {
  it("pays a call, and the balances move by the price", async () => {
    const payer = await chain.payer(DOLLAR);
    const before = await chain.balance(PAY_TO);
    const response = await clientOf(payer).ask();
    expect(await response.json()).toMatchObject({ ok: true, data: { results: ["found"] }, charged_cents: 1 });
    const receipt = JSON.parse(Buffer.from(String(response.headers.get("payment-response")), "base64").toString());
    expect(receipt).toMatchObject({ success: true, network: "eip155:8453", payer: payer.address.toLowerCase() });
    expect(await chain.balance(payer.address)).toBe(Number(DOLLAR) - CENT);
    expect(await chain.balance(PAY_TO)).toBe(before + CENT);
  });

  it("pays nothing for a call that fails", async () => {
    const payer = await chain.payer(DOLLAR);
    gateway.vendor.answers({ status: 500, body: {} });
    expect((await clientOf(payer).ask()).status).toBe(500);
    expect(await chain.balance(payer.address)).toBe(Number(DOLLAR));
  });

  it("proves its address for what is free, by a payment of nothing that is never made", async () => {
    const payer = await chain.payer(0n);
    gateway.vendor.answers({ body: { ok: 1 } });
    const response = await clientOf(payer).ask({}, "free");
    expect([response.status, response.headers.get("payment-response")]).toEqual([200, null]);
  });

  it("pays more than its bound of a dollar where that is raised, and nothing where it is not", async () => {
    const payer = await chain.payer(10n * DOLLAR);
    const account = await gateway.live({ creditCents: 0 });
    await expect(clientOf(payer).fill(account, 250)).rejects.toThrow();
    expect(await chain.balance(payer.address)).toBe(Number(10n * DOLLAR));
    const response = await clientOf(payer, "$5").fill(account, 250);
    expect(await response.json()).toMatchObject({ credited_cents: 250, balance_cents: 250 });
    expect(await chain.balance(payer.address)).toBe(Number(10n * DOLLAR) - 250 * CENT);
  });

  it("twelve payers at once are all settled", async () => {
    const payers = await Promise.all(Array.from({ length: 12 }, () => chain.payer(DOLLAR)));
    const answers = await Promise.all(payers.map((payer) => clientOf(payer).ask()));
    expect(answers.map(({ status }) => status)).toEqual(Array<number>(12).fill(200));
    const balances = await Promise.all(payers.map(({ address }) => chain.balance(address)));
    expect(balances).toEqual(Array<number>(12).fill(Number(DOLLAR) - CENT));
  });

  it("a payment sent again, five times at once, runs and is paid once", async () => {
    const payer = await chain.payer(DOLLAR);
    const { ask, sent } = clientOf(payer);
    await ask();
    const answers = await Promise.all(Array.from({ length: 5 }, () => again(String(sent[0]))));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect((await again(String(sent[0]), { q: "coffee" })).status).toBe(422);
    expect(gateway.vendor.asked).toHaveLength(1);
    expect(await chain.balance(payer.address)).toBe(Number(DOLLAR) - CENT);
  });

  it("an empty wallet is told so, and nothing runs", async () => {
    const payer = await chain.payer(5n);
    const response = await clientOf(payer).ask();
    expect(response.status).toBe(402);
    expect(gateway.vendor.asked).toEqual([]);
  });

  it("a payment whose amount was changed behind its signature is refused", async () => {
    const payer = await chain.payer(DOLLAR);
    const { ask, sent } = clientOf(payer);
    gateway.vendor.answers({ status: 500, body: {} });
    await ask();
    const payment = JSON.parse(Buffer.from(String(sent[0]), "base64").toString());
    payment.payload.authorization.nonce = `0x${"2".repeat(64)}`;
    const changed = await again(Buffer.from(JSON.stringify(payment)).toString("base64"));
    expect([changed.status, await changed.text()]).toEqual([402, expect.stringContaining("signature")]);
    gateway.vendor.answers({ body: { results: ["found"] } });
    expect((await again(String(sent[0]))).status).toBe(200);
    expect(await chain.balance(payer.address)).toBe(Number(DOLLAR) - CENT);
  });
});

// Must be the last payment test: the chain's clock stays ahead.
it("a payment that has lapsed by the chain's clock is refused, and nothing runs", async () => {
  const payer = await chain.payer(DOLLAR);
  const { ask, sent } = clientOf(payer);
  gateway.vendor.answers({ status: 500, body: {} });
  await ask();
  await chain.advance(3_600);
  gateway.vendor.answers({ body: { results: ["found"] } });
  const asked = gateway.vendor.asked.length;
  expect((await again(String(sent[0]))).status).toBe(402);
  expect(gateway.vendor.asked).toHaveLength(asked);
  expect(await chain.balance(payer.address)).toBe(Number(DOLLAR));
});

it("a checker of others finds no error in what the gateway tells of its prices and its challenge", async () => {
  const program = fileURLToPath(new URL("./node_modules/@agentcash/discovery/bin/discovery.js", import.meta.url));
  const url = `${gateway.url}/api/run/acme/search`;
  const { stdout } = await promisify(execFile)(process.execPath, [program, "check", url, "--json"]);
  const checked = JSON.parse(stdout) as { warnings: { severity?: string }[] };
  expect(checked).toMatchObject({
    found: true,
    advisories: [{ method: "POST", authMode: "paid", estimatedPrice: "0.01 USD", protocols: ["x402"] }],
  });
  expect(checked.warnings.filter(({ severity }) => severity === "error")).toEqual([]);
});
