// Asks a chain node whether one of our payments was made: looks for its event, and reads the chain's clock.
import { z } from "zod";
import { nodeRpc } from "./node-rpc.ts";
import type { PaidRecord } from "./paid-records.ts";
import { blockAt, pastLogs } from "./past-log.ts";

/** The most by which our clock and the chain's may differ, in seconds. */
const CLOCKS_APART_S = 300;
/** Seconds after expiry before a payment counts as lapsed. Nodes behind one address may lag each other by a block. */
const LAPSED_S = 60;

const logs = z.array(z.object({ transactionHash: z.string().regex(/^0x[0-9a-fA-F]{64}$/) }));

/** `open`: not made yet, but still possible. `lapsed`: not made and no longer possible. `unknown`: the node did not answer. */
export type OnChain = { readonly transaction: string } | "open" | "lapsed" | "unknown";

/** Looks the payment up at the node at `url`. Never rejects. */
export async function onChain(url: string, paid: PaidRecord, fetchOut = fetch): Promise<OnChain> {
  const { call } = nodeRpc(url, fetchOut);
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
