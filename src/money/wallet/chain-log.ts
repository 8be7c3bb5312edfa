// Asks a chain node whether one of our payments was made: looks for its event, and reads the chain's clock.
import { z } from "zod";
import type { PaidRecord } from "./paid-records.ts";
import { type AskNode, blockAt, pastLogs } from "./past-log.ts";

const ASK_MS_MAX = 10_000;
/** The most by which our clock and the chain's may differ, in seconds. */
const CLOCKS_APART_S = 300;
/** Seconds after expiry before a payment counts as lapsed. Nodes behind one address may lag each other by a block. */
const LAPSED_S = 60;

const reply = z.object({ result: z.unknown() });
const logs = z.array(z.object({ transactionHash: z.string().regex(/^0x[0-9a-fA-F]{64}$/) }));

/** `open`: not made yet, but still possible. `lapsed`: not made and no longer possible. `unknown`: the node did not answer. */
export type OnChain = { readonly transaction: string } | "open" | "lapsed" | "unknown";

/** Connects to the node at `url`. */
export function nodeAt(url: string, fetchOut: typeof fetch = fetch): AskNode {
  return async (method, params) => {
    const response = await fetchOut(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      redirect: "error",
      signal: AbortSignal.timeout(ASK_MS_MAX),
    });
    return reply.parse(await response.json()).result;
  };
}

/** Looks the payment up at the node at `url`. Never rejects. */
export async function onChain(url: string, paid: PaidRecord, fetchOut = fetch): Promise<OnChain> {
  const call = nodeAt(url, fetchOut);
  try {
    // Read the clock first, so that the next look finds what is made in between.
    const { number, timestamp } = await blockAt(call, "latest");
    const { asset: address, topics, validBefore: untilS } = paid;
    const fromS = Math.floor(paid.sinceMs / 1_000) - CLOCKS_APART_S;
    const [made] = logs.parse(await pastLogs(call, { address, topics, fromS, untilS }, number));
    if (made !== undefined) return { transaction: made.transactionHash };
    return timestamp >= untilS + LAPSED_S ? "lapsed" : "open";
  } catch {
    return "unknown";
  }
}
