// Queries of a chain's past after an outage: a payment made long ago is found, and none counts as lapsed before that is certain.
import http from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { nano } from "../../../src/core/money.ts";
import { rpcChain } from "../../../src/edge/x402/chain.ts";
import { onChain } from "../../../src/money/wallet/chain-log.ts";
import { nodeRpc } from "../../../src/money/wallet/node-rpc.ts";

const DAY_S = 24 * 3_600;
/** A chain with two blocks a second, a hundred days old. */
const NOW_S = 1_800_000_000;
const BLOCKS = 2 * 100 * DAY_S;
const BLOCKS_MAX = 10_000;
const USED = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5";
const ASSET = `0x${"a".repeat(40)}` as const;
const FROM = `0x${"b".repeat(40)}` as const;
const NONCE = `0x${"c".repeat(64)}` as const;
const TRANSACTION = `0x${"d".repeat(64)}`;
const TOPICS = [USED, `0x${FROM.slice(2).padStart(64, "0")}`, NONCE] as const;

/** The time of the payment, in seconds; null: there is none. */
let madeS: number | null = null;
let asked = 0;

const timeOf = (number: number) => NOW_S - Math.floor((BLOCKS - number) / 2);
const hex = (number: number) => `0x${number.toString(16)}`;

function answer(method: string, [first]: readonly unknown[]): unknown {
  if (method === "eth_call") return hex(madeS === null ? 0 : 1);
  if (method === "eth_blockNumber") return hex(BLOCKS);
  if (method === "eth_getBlockByNumber") {
    const number = first === "latest" ? BLOCKS : Number(first);
    return { number: hex(number), timestamp: hex(timeOf(number)) };
  }
  const { fromBlock, toBlock } = first as { fromBlock: string; toBlock: string };
  const [from, to] = [Number(fromBlock), toBlock === "latest" ? BLOCKS : Number(toBlock)];
  if (to - from > BLOCKS_MAX) return null;
  const isThere = madeS !== null && timeOf(from) <= madeS && madeS <= timeOf(to);
  return isThere ? [{ topics: TOPICS, transactionHash: TRANSACTION }] : [];
}

const node = http.createServer(async (request, response) => {
  const { method, params } = (await json(request)) as { method: string; params: readonly unknown[] };
  asked += 1;
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, result: answer(method, params) }));
});
let url: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(node.address() as AddressInfo).port}`;
});
afterAll(() => {
  node.closeAllConnections();
  node.close();
});
beforeEach(() => {
  madeS = null;
  asked = 0;
});

/** A payment of ours sent `agoS` seconds ago, and valid for five minutes. */
function paid(agoS: number) {
  const sinceS = NOW_S - agoS;
  return {
    callId: "tx_1",
    merchant: "m",
    url: "",
    rail: "x402",
    network: "eip155:8453",
    asset: ASSET,
    from: FROM,
    payTo: FROM,
    amountNano: nano(1),
    topics: TOPICS,
    validBefore: sinceS + 300,
    state: "open",
    status: 0,
    transaction: null,
    sinceMs: sinceS * 1_000,
  } as const;
}

describe("a payment of ours", () => {
  it.each([60, 6 * 3_600, DAY_S, 30 * DAY_S])("that was made %i seconds ago is found", async (agoS) => {
    madeS = NOW_S - agoS + 20;
    expect(await onChain(url, paid(agoS))).toEqual({ transaction: TRANSACTION });
    expect(asked).toBeLessThan(40);
  });

  it("that was never made has lapsed, and not before all nodes must know", async () => {
    expect(await onChain(url, paid(30 * DAY_S))).toBe("lapsed");
    expect(await onChain(url, paid(360))).toBe("lapsed");
    expect(await onChain(url, paid(359))).toBe("open");
    expect(await onChain(url, paid(100))).toBe("open");
  });
});

describe("a payment to us", () => {
  it.each([60, DAY_S, 30 * DAY_S])(
    "that was made %i seconds ago is found, though it was signed for ever",
    async (agoS) => {
      madeS = NOW_S - agoS - 30;
      const payment = { asset: ASSET, from: FROM, nonce: NONCE, validBefore: 1e78 };
      const ended = await rpcChain(nodeRpc(url)).ended(payment, (NOW_S - agoS) * 1_000);
      expect(ended).toEqual({ state: "used", transaction: TRANSACTION });
      expect(asked).toBeLessThan(40);
    },
  );
});
