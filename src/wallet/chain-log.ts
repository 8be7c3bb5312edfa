// Whether a payment of ours was made, as the chain says: a node is asked for the event that it makes, and for its clock.
import { z } from "zod";
import type { PaidRecord } from "./paid-records.ts";

const ASK_MS_MAX = 10_000;
/** How far back an event is looked for; nodes give no more in one answer. */
const BLOCKS_BACK = 9_000;

const reply = z.object({ result: z.unknown() });
const logs = z.array(z.object({ transactionHash: z.string().regex(/^0x[0-9a-fA-F]{64}$/) }));
const block = z.object({ number: z.string(), timestamp: z.string() });

/** `open`: not yet, and it still can be. `lapsed`: it was not made, and can be made no more. `unknown`: the node could not be asked. */
export type OnChain = { readonly transaction: string } | "open" | "lapsed" | "unknown";

/** Asks the node at `url`. Never rejects. */
export async function onChain(url: string, paid: PaidRecord): Promise<OnChain> {
  async function call(method: string, params: readonly unknown[]): Promise<unknown> {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      redirect: "error",
      signal: AbortSignal.timeout(ASK_MS_MAX),
    });
    return reply.parse(await response.json()).result;
  }
  try {
    // The clock is read first: what is made after that is seen by the next look.
    const { number, timestamp } = block.parse(await call("eth_getBlockByNumber", ["latest", false]));
    const fromBlock = `0x${Math.max(0, Number(number) - BLOCKS_BACK).toString(16)}`;
    const filter = { address: paid.asset, fromBlock, toBlock: "latest", topics: paid.topics };
    const [made] = logs.parse(await call("eth_getLogs", [filter]));
    if (made !== undefined) return { transaction: made.transactionHash };
    return Number(timestamp) >= paid.validBefore ? "lapsed" : "open";
  } catch {
    return "unknown";
  }
}
