// Whether a payment of ours was made, as the chain says: a node is asked for the event that it makes, and for its clock.
import { z } from "zod";
import type { PaidRecord } from "./paid-records.ts";
import { type AskNode, blockAt, pastLogs } from "./past-log.ts";

const ASK_MS_MAX = 10_000;
/** Seconds by which our clock and the chain's may differ. */
const CLOCKS_APART_S = 300;
/** Seconds behind its last: of nodes behind one address, one may know a block that another does not yet. */
const LAPSED_S = 60;

const reply = z.object({ result: z.unknown() });
const logs = z.array(z.object({ transactionHash: z.string().regex(/^0x[0-9a-fA-F]{64}$/) }));

/** `open`: not yet, and it still can be. `lapsed`: it was not made, and can be made no more. `unknown`: the node could not be asked. */
export type OnChain = { readonly transaction: string } | "open" | "lapsed" | "unknown";

/** The node at `url`. */
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

/** Asks the node at `url`. Never rejects. */
export async function onChain(url: string, paid: PaidRecord, fetchOut = fetch): Promise<OnChain> {
  const call = nodeAt(url, fetchOut);
  try {
    // The clock is read first: what is made after that is seen by the next look.
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
