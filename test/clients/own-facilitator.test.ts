// Payments that the gateway settles itself, with its own wallet on a chain with Base's coin: each exactly once, however many run at once
// and in however many processes.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { registerExactEvmScheme } from "@x402/evm/exact/client";
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import type { PrivateKeyAccount } from "viem/accounts";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { GasWallet } from "../../src/edge/x402/gas-wallet.ts";
import { openStores, type Stores } from "../../src/gateway/stores.ts";
import { bytesOf, type Hex, hexOf, word } from "../../src/money/wallet/hex.ts";
import { type NodeRpc, nodeRpc } from "../../src/money/wallet/node-rpc.ts";
import { keySigner } from "../../src/money/wallet/signer.ts";
import { openWallet, type Wallet } from "../../src/money/wallet/wallet.ts";
import { readConfig } from "../../src/platform/config.ts";
import { type AcmeGateway, startAcmeGateway } from "../actions/run/acme-gateway.ts";
import { manualClock } from "../support/manual-clock.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { type BaseChain, startBaseChain, USDC } from "./evm/base-chain.ts";

const CENT = 10_000;
const DOLLAR = 1_000_000n;
const PAY_TO = privateKeyToAccount(generatePrivateKey()).address;
const KEY = generatePrivateKey();
const WALLET = privateKeyToAccount(KEY).address;

let chain: BaseChain;
let wallet: Wallet;
let gateway: AcmeGateway;
beforeAll(async () => {
  chain = await startBaseChain();
  await chain.fund(WALLET);
  wallet = await openWallet({ mpp: null, x402: null, gas: KEY });
  const settings = {
    X402_PAY_TO: PAY_TO,
    X402_FACILITATOR_PRIVATE_KEY: KEY,
    X402_RPC_URL: chain.rpcUrl,
    X402_GAS_GWEI_MAX: "10",
    ADDRESS_REQUESTS_PER_MINUTE: "100000",
  };
  gateway = await startAcmeGateway(settings, { wallet });
});
afterAll(async () => {
  const findings = await gateway.doctor();
  await gateway.stop();
  wallet.close();
  await chain.close();
  expect(findings).toEqual([]);
});
beforeEach(() => {
  gateway.vendor.asked.length = 0;
  gateway.vendor.answers({ body: { results: ["found"] } });
});

/** `fetch` as the reference client wraps it; `sent` has the payments that it made. */
function clientOf(signer: PrivateKeyAccount, asked = gateway) {
  const client = new x402Client();
  registerExactEvmScheme(client, { signer, networks: ["eip155:8453"] });
  const sent: string[] = [];
  const watching: typeof fetch = (input, init) => {
    const payment = input instanceof Request ? input.headers.get("payment-signature") : null;
    if (payment !== null) sent.push(payment);
    return fetch(input, init);
  };
  const paid = wrapFetchWithPayment(watching, client);
  const call = { method: "POST", headers: { "content-type": "application/json" }, body: '{"q":"tea"}' };
  const url = `${asked.url}/api/run/acme/search`;
  const again = (payment: string) =>
    fetch(url, { ...call, headers: { ...call.headers, "payment-signature": payment } });
  return { ask: () => paid(url, call), again, sent };
}

describe("a facilitator within the gateway", () => {
  it("makes a payment by a transaction of its own, and the receipt names it", async () => {
    const payer = await chain.payer(DOLLAR);
    const before = [await chain.balance(PAY_TO), await chain.transactions(WALLET)];
    const response = await clientOf(payer).ask();
    expect(response.status).toBe(200);
    const receipt = JSON.parse(Buffer.from(String(response.headers.get("payment-response")), "base64").toString());
    expect(receipt.transaction).toMatch(/^0x[0-9a-f]{64}$/);
    expect(await chain.balance(payer.address)).toBe(Number(DOLLAR) - CENT);
    expect([await chain.balance(PAY_TO), await chain.transactions(WALLET)]).toEqual([
      Number(before[0]) + CENT,
      Number(before[1]) + 1,
    ]);
  });

  it("says what is wrong: an empty wallet, and what was used before", async () => {
    const empty = await clientOf(await chain.payer(5n)).ask();
    expect([empty.status, await empty.text()]).toEqual([402, expect.stringContaining("insufficient_funds")]);
    const payer = await chain.payer(DOLLAR);
    const { ask, again, sent } = clientOf(payer);
    gateway.vendor.answers({ status: 500, body: {} });
    await ask();
    const payment = JSON.parse(Buffer.from(String(sent[0]), "base64").toString());
    payment.payload.authorization.nonce = `0x${"3".repeat(64)}`;
    const changed = await again(Buffer.from(JSON.stringify(payment)).toString("base64"));
    expect([changed.status, await changed.text()]).toEqual([402, expect.stringContaining("exact_evm_signature")]);
  });

  it("two hundred payers at once are all settled, each once", async () => {
    const payers: PrivateKeyAccount[] = [];
    for (let made = 0; made < 200; made++) payers.push(await chain.payer(DOLLAR));
    const before = await chain.balance(PAY_TO);
    const statuses = await Promise.all(payers.map(async (payer) => (await clientOf(payer).ask()).status));
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
    for (const { address } of payers) expect(await chain.balance(address)).toBe(Number(DOLLAR) - CENT);
    expect(await chain.balance(PAY_TO)).toBe(before + 200 * CENT);
  }, 240_000);

  it("whose chain takes nothing for a while: no second payment is asked for, and the same one gets its answer", async () => {
    const payer = await chain.payer(DOLLAR);
    const { ask, again, sent } = clientOf(payer);
    await chain.takesTransactions(false);
    const pending = await ask();
    expect([pending.status, pending.headers.get("payment-required")]).toEqual([503, null]);
    await chain.takesTransactions(true);
    const paid = await again(String(sent[0]));
    expect([paid.status, paid.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
    expect(await chain.balance(payer.address)).toBe(Number(DOLLAR) - CENT);
  });
});

it("gas above its bound, or a wallet without any, is 503 before anything runs", async () => {
  const settings = { X402_PAY_TO: PAY_TO, X402_RPC_URL: chain.rpcUrl, ADDRESS_REQUESTS_PER_MINUTE: "100000" };
  for (const [key, gwei] of [
    [KEY, "0.000001"],
    [generatePrivateKey(), "10"],
  ] as const) {
    const own = await openWallet({ mpp: null, x402: null, gas: key });
    const asked = { ...settings, X402_FACILITATOR_PRIVATE_KEY: key, X402_GAS_GWEI_MAX: gwei };
    const other = await startAcmeGateway(asked, { wallet: own });
    const response = await clientOf(await chain.payer(DOLLAR), other).ask();
    expect([response.status, response.headers.get("payment-required")]).toEqual([503, null]);
    expect(other.vendor.asked).toEqual([]);
    await other.stop();
    own.close();
  }
});

describe("a wallet that processes share", () => {
  let folder: string;
  let stores: Stores;
  let key: Hex;
  let address: Hex;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "tollgate-own-"));
    const config = readConfig({ DATA_DIR: folder });
    stores = await openStores(config, { onFatal() {}, onBroken() {}, archiveDir: folder });
    key = generatePrivateKey();
    address = privateKeyToAccount(key).address;
    await chain.fund(address);
  });
  afterEach(async () => {
    await stores.close();
    removeFolder(folder);
  });

  const mint = (units: bigint) => {
    const data = hexOf(Buffer.concat([bytesOf("0x40c10f19"), word(PAY_TO), word(units)]));
    return { to: USDC, data, gasMax: 150_000 };
  };
  function walletOf(owner: string, node: NodeRpc = nodeRpc(chain.rpcUrl), clock: Clock = systemClock) {
    const { records } = stores;
    return new GasWallet({
      signer: keySigner(key),
      chainId: 8453,
      records,
      clock,
      node,
      owner,
      feeWeiMax: 10_000_000_000n,
    });
  }

  it("sends what two of them have at once under numbers of which none is lost or used twice", async () => {
    const wallets = [walletOf("one"), walletOf("two")];
    const before = await chain.balance(PAY_TO);
    const units = Array.from({ length: 40 }, (_, at) => BigInt(at + 1));
    const sent = await Promise.all(units.map((unit, at) => wallets[at % 2]?.send(mint(unit))));
    expect(sent.filter((one) => one === undefined || one === "unknown" || !one.isDone)).toEqual([]);
    expect(await chain.balance(PAY_TO)).toBe(before + 820);
    expect(await chain.transactions(address)).toBe(40);
  });

  it("is gone on with where one has died between numbering and sending: nothing after that number is stuck", async () => {
    const dying: NodeRpc = {
      async call(method, params) {
        if (method === "eth_sendRawTransaction") throw new Error("it died");
        return nodeRpc(chain.rpcUrl).call(method, params);
      },
    };
    const clock = manualClock(Math.floor(systemClock.epochMs()));
    const before = await chain.balance(PAY_TO);
    expect(await walletOf("one", dying, clock).send(mint(1n))).toBe("unknown");
    clock.advance(30_000);
    expect(await walletOf("two", nodeRpc(chain.rpcUrl), clock).send(mint(2n))).toMatchObject({ isDone: true });
    expect(await chain.balance(PAY_TO)).toBe(before + 3);
    expect(await chain.transactions(address)).toBe(2);
  });

  it("does not number again what was numbered before", async () => {
    const deaf: NodeRpc = {
      async call(method, params) {
        const said = await nodeRpc(chain.rpcUrl).call(method, params);
        if (method === "eth_sendRawTransaction") throw new Error("it was not heard");
        return said;
      },
    };
    await chain.takesTransactions(false);
    expect(await walletOf("one", deaf).send(mint(7n))).toBe("unknown");
    const heard = Promise.withResolvers<void>();
    const heeded: NodeRpc = {
      async call(method, params) {
        if (method === "eth_getTransactionReceipt") heard.resolve();
        return nodeRpc(chain.rpcUrl).call(method, params);
      },
    };
    const again = walletOf("two", heeded).send(mint(7n));
    await heard.promise;
    await chain.takesTransactions(true);
    expect(await again).toMatchObject({ isDone: true });
    expect(await chain.transactions(address)).toBe(1);
  });
});
