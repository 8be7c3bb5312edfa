// The gateway's wallet pays the reference server of the Machine Payments Protocol, which accepts our challenge, credential and transaction,
// and sends it to a node. The node is a stand-in that parses transactions with the reference library and moves a coin accordingly.
import http, { type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { json, text } from "node:stream/consumers";
import { Mppx, tempo } from "mppx/server";
import {
  createClient,
  decodeFunctionData,
  encodeAbiParameters,
  encodeEventTopics,
  type Hex,
  keccak256,
  http as overHttp,
} from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { Abis, Transaction } from "viem/tempo";
import { tempo as tempoChain } from "viem/tempo/chains";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { openWallet, type Wallet } from "../../src/money/wallet/wallet.ts";
import { startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";

const COIN = "0x20c000000000000000000000b9537d11c60e8b50";
const RECIPIENT = privateKeyToAccount(generatePrivateKey()).address;
const KEY = generatePrivateKey();
const PAYER = privateKeyToAccount(KEY).address;

/** The transfers of each transaction that the node has mined. */
const moved: { readonly from: string; readonly to: string; readonly amount: bigint; readonly hash: Hex }[] = [];

/** Throws if it is not a Tempo transaction, or not signed by the sender of its coins. */
function mined(raw: Hex) {
  const transaction = Transaction.deserialize(raw as Parameters<typeof Transaction.deserialize>[0]);
  const { from, calls = [] } = transaction as { from?: Hex; calls?: readonly { to?: Hex; data?: Hex }[] };
  const [call] = calls;
  if (from === undefined || call?.data === undefined || call.to === undefined) throw new Error("no transfer");
  const { args } = decodeFunctionData({ abi: Abis.tip20, data: call.data });
  const [to, amount, memo] = args as readonly [Hex, bigint, Hex];
  const hash = keccak256(raw);
  moved.push({ from, to, amount, hash });
  const topics = encodeEventTopics({ abi: Abis.tip20, eventName: "TransferWithMemo", args: { from, to, memo } });
  const place = { blockHash: hash, blockNumber: "0x1", transactionHash: hash, transactionIndex: "0x0" };
  const data = encodeAbiParameters([{ type: "uint256" }], [amount]);
  const log = { ...place, address: call.to, topics, data, logIndex: "0x0", removed: false };
  const gas = { gasUsed: "0x1", cumulativeGasUsed: "0x1", effectiveGasPrice: "0x1" };
  return {
    ...place,
    ...gas,
    from,
    to: call.to,
    status: "0x1",
    type: "0x76",
    logs: [log],
    logsBloom: "0x",
    contractAddress: null,
  };
}

const node = http.createServer(async (request, response) => {
  const { id, method, params } = (await json(request)) as { id: number; method: string; params: readonly Hex[] };
  const answers: Record<string, () => unknown> = {
    eth_chainId: () => "0x1079",
    eth_call: () => "0x",
    eth_sendRawTransactionSync: () => mined(params[0] ?? "0x"),
  };
  const result = answers[method]?.();
  response.setHeader("content-type", "application/json");
  response.end(
    JSON.stringify({
      jsonrpc: "2.0",
      id,
      ...(result === undefined ? { error: { code: -32601, message: method } } : { result }),
    }),
  );
});

const urlOf = (server: http.Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const listening = (server: http.Server) => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

async function requestOf(request: IncomingMessage): Promise<Request> {
  const headers = Object.entries(request.headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  );
  const body = await text(request);
  return new Request(`http://merchant.example${request.url}`, {
    method: "POST",
    headers,
    ...(body === "" ? {} : { body }),
  });
}

let price = "0.03";
let asked = 0;
const merchant = http.createServer(async (request, response) => {
  asked += 1;
  const client = createClient({ chain: tempoChain, transport: overHttp(urlOf(node)) });
  const charge = tempo.charge({ currency: COIN, recipient: RECIPIENT, getClient: () => client });
  const payments = Mppx.create({
    methods: [charge],
    realm: "merchant.example",
    secretKey: "a secret of thirty-two bytes or more",
  });
  const paid = await payments.charge({ amount: price })(await requestOf(request));
  const answer =
    paid.status === 402
      ? paid.challenge
      : paid.withReceipt(Response.json({ results: [{ citation: "12 CFR 1026.43" }] }));
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
});

let wallet: Wallet;
let gateway: TestGateway;
let account: TestAccount;
beforeAll(async () => {
  await Promise.all([listening(node), listening(merchant)]);
  wallet = await openWallet({ mpp: KEY, x402: null, gas: null });
  gateway = await startTestGateway({ MPP_WALLET_PRIVATE_KEY: KEY, GOVLAWS_BASE_URL: urlOf(merchant) }, { wallet });
  account = await gateway.account({ kind: "personal", creditCents: 100 });
});
afterAll(async () => {
  const findings = await gateway.doctor();
  await gateway.stop();
  wallet.close();
  for (const server of [node, merchant]) {
    server.closeAllConnections();
    server.close();
  }
  expect(findings).toEqual([]);
});
beforeEach(() => {
  price = "0.03";
  asked = 0;
  moved.length = 0;
});

async function search() {
  const response = await fetch(`${gateway.url}/api/run/govlaws/search`, {
    method: "POST",
    headers: { authorization: `Bearer ${account.key}`, "content-type": "application/json" },
    body: '{"query":"tides"}',
  });
  return (await response.json()) as Record<string, unknown>;
}

it("a merchant with the reference server is paid what it asks, once, and its receipt is kept", async () => {
  expect(await search()).toMatchObject({
    ok: true,
    charged_cents: 3,
    data: { results: [{ citation: "12 CFR 1026.43" }] },
  });
  expect(moved).toMatchObject([{ from: PAYER.toLowerCase(), to: RECIPIENT, amount: 30_000n }]);
  expect(asked).toBe(2);
  const { json: seen } = await gateway.admin("GET", "/admin/v1/wallet");
  expect(seen.last).toMatchObject([{ rail: "mpp", amount_usd: "0.03", state: "made", transaction: moved[0]?.hash }]);
});

it("a merchant with the reference server that asks for more than is listed is not paid", async () => {
  price = "0.031";
  expect(await search()).toMatchObject({ error: "merchant_unpaid", charged_cents: 0 });
  expect([asked, moved]).toEqual([1, []]);
});
