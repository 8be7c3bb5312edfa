// The gateway's own facilitator with a node that refuses: it sends nothing that would revert, and promises nothing without gas. The clients
// lane has a chain and tests what gets into blocks.
import { mkdtempSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { NETWORKS } from "../../../src/catalog/networks.ts";
import { type Clock, systemClock } from "../../../src/core/clock.ts";
import { nano } from "../../../src/core/money.ts";
import { requirementsOf } from "../../../src/edge/x402/challenge.ts";
import type { Facilitator } from "../../../src/edge/x402/facilitator.ts";
import { GasWallet } from "../../../src/edge/x402/gas-wallet.ts";
import { ownFacilitator } from "../../../src/edge/x402/own-facilitator.ts";
import { type Payment, readPayment } from "../../../src/edge/x402/read-payment.ts";
import { openStores, type Stores } from "../../../src/gateway/stores.ts";
import { nodeRpc } from "../../../src/money/wallet/node-rpc.ts";
import { keySigner, type Signer } from "../../../src/money/wallet/signer.ts";
import { readConfig } from "../../../src/platform/config.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { removeFolder } from "../../support/remove-folder.ts";
import { PAY_TO } from "./chain.ts";
import { keyWallet } from "./wallet.ts";

const PRICE = requirementsOf(nano(10_000_000), { payTo: PAY_TO, network: NETWORKS.base });
const FEE_WEI_MAX = 1_000n;
const MEANT = { balance: "0x70a08231", state: "0xe94a0102" };

/** What the node answers about the next transfer and the wallet, and what it received. */
let isReverting = false;
let isUsed = false;
let gasBalance = 0n;
const sent: unknown[] = [];

function answer(method: string, [first]: readonly unknown[]): { result: unknown } | { error: unknown } {
  if (method === "eth_gasPrice") return { result: "0x1" };
  if (method === "eth_getBalance") return { result: `0x${gasBalance.toString(16)}` };
  if (method === "eth_getTransactionCount") return { result: "0x0" };
  if (method === "eth_getTransactionReceipt") return { result: { status: "0x0" } };
  if (method === "eth_sendRawTransaction") return { result: `0x${String(sent.push(first)).padStart(64, "0")}` };
  const { data } = first as { data: string };
  if (data.startsWith(MEANT.balance)) return { result: "0x0" };
  if (data.startsWith(MEANT.state)) return { result: isUsed ? "0x1" : "0x0" };
  return isReverting ? { error: { code: 3, message: "execution reverted" } } : { result: "0x" };
}

const node = http.createServer(async (request, response) => {
  const { method, params } = (await json(request)) as { method: string; params: readonly unknown[] };
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, ...answer(method, params) }));
});
let folder: string;
let stores: Stores;
beforeAll(async () => {
  await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
  folder = mkdtempSync(join(tmpdir(), "tollgate-own-"));
  stores = await openStores(readConfig({ DATA_DIR: folder }), { onFatal() {}, onBroken() {}, archiveDir: folder });
});
afterAll(async () => {
  await stores.close();
  node.closeAllConnections();
  node.close();
  removeFolder(folder);
});
beforeEach(() => {
  [isReverting, isUsed, gasBalance] = [false, false, 10n ** 18n];
  sent.length = 0;
});

const rpc = () => nodeRpc(`http://127.0.0.1:${(node.address() as AddressInfo).port}`);

function walletOf({ signer, clock }: { readonly signer: Signer; readonly clock: Clock }): GasWallet {
  const shared = { records: stores.records, clock, owner: "one" };
  return new GasWallet({ ...shared, signer, chainId: 8453, node: rpc(), feeWeiMax: FEE_WEI_MAX });
}

/** A new one for each test, because it remembers whether it has gas. */
function facilitator(): Facilitator {
  const wallet = walletOf({ signer: keySigner(`0x${"11".repeat(32)}`), clock: systemClock });
  return ownFacilitator({ network: NETWORKS.base, node: rpc(), wallet, clock: systemClock });
}

function paymentOf(): Payment {
  const payment = readPayment(new Map([["payment-signature", keyWallet().pay(PRICE)]]), NETWORKS.base);
  if (payment === null || payment instanceof Error) throw new Error("no payment");
  return payment;
}

it("a transfer that would revert is sent to no block, however often it comes", async () => {
  isReverting = true;
  const payment = paymentOf();
  const [one, two] = [await facilitator().settle(payment, PRICE), await facilitator().settle(payment, PRICE)];
  const refused = { settled: false, reason: "insufficient_funds", mayBe: false };
  expect([one, two]).toEqual([refused, refused]);
  expect(sent).toEqual([]);
});

it("one that was used may have been made by us, and is not called unpaid", async () => {
  [isReverting, isUsed] = [true, true];
  const made = await facilitator().settle(paymentOf(), PRICE);
  expect(made).toMatchObject({ settled: false, mayBe: true });
  expect(sent).toEqual([]);
});

it("a signer that was mute once is asked again by the calls of half a minute later, though no signature has come", async () => {
  const clock = manualClock(Date.now());
  const signer: Signer = { ...keySigner(`0x${"11".repeat(32)}`), sign: () => Promise.reject(new Error("mute")) };
  const wallet = walletOf({ signer, clock });
  expect(await wallet.isReady()).toBe(true);
  expect(await wallet.send({ to: PAY_TO, data: "0x", gasMax: 1 })).toBe("unknown");
  expect(await wallet.isReady()).toBe(false);
  clock.advance(30_000);
  expect(await wallet.isReady()).toBe(true);
});

it("a wallet with gas for fewer than twenty transfers is empty", async () => {
  gasBalance = 20n * 150_000n * 2n;
  expect(await facilitator().verify(paymentOf(), PRICE)).toEqual({ valid: true });
  gasBalance -= 1n;
  expect(await facilitator().verify(paymentOf(), PRICE)).toBe("away");
});
