// Reads from the chain, over a node's JSON-RPC, whether an authorization was used, and in which transaction.
import { z } from "zod";
import type { NodeRpc } from "../../money/wallet/node-rpc.ts";
import { pastLogs } from "../../money/wallet/past-log.ts";
import type { Payment } from "./read-payment.ts";

/** `authorizationState(address,bytes32)`. */
const STATE = "0xe94a0102";
/** The two events of EIP-3009 that end an authorization. */
export const USED = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5";
const CANCELED = "0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81";
/** Seconds to search before our first attempt: the sender may have settled the payment while the call was running. */
const BEFORE_S = 3_600;

const log = z.array(z.object({ topics: z.array(z.string()), transactionHash: z.string() }));

/** `unknown`: the node did not answer. */
export type Ended =
  | { readonly state: "used"; readonly transaction: string }
  | { readonly state: "canceled" | "open" | "unknown" };

export interface Chain {
  /** `sinceMs`: the time of the first attempt. */
  ended(payment: Pick<Payment, "asset" | "from" | "nonce" | "validBefore">, sinceMs: number): Promise<Ended>;
}

export function rpcChain({ call }: NodeRpc): Chain {
  return {
    async ended({ asset, from, nonce, validBefore }, sinceMs) {
      try {
        const topic = `0x${from.slice(2).padStart(64, "0")}`;
        const data = `${STATE}${topic.slice(2)}${nonce.slice(2)}`;
        const state = z.string().parse(await call("eth_call", [{ to: asset, data }, "latest"]));
        if (BigInt(state) === 0n) return { state: "open" };
        const latest = Number(z.string().parse(await call("eth_blockNumber", [])));
        const sought = {
          address: asset,
          topics: [[USED, CANCELED], topic, nonce],
          fromS: Math.floor(sinceMs / 1_000) - BEFORE_S,
          untilS: validBefore,
        };
        const [last] = log.parse(await pastLogs(call, sought, latest));
        if (last === undefined) return { state: "unknown" };
        return last.topics[0] === USED ? { state: "used", transaction: last.transactionHash } : { state: "canceled" };
      } catch {
        return { state: "unknown" };
      }
    },
  };
}
