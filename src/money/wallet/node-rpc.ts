// Calls a chain's node by JSON-RPC over HTTP.
import { z } from "zod";
import { Places } from "../../core/places.ts";

/** Whether a `fetch` failed because its connection broke, not because of a timeout or an invalid answer. */
export function isBroken(error: unknown): boolean {
  return error instanceof TypeError;
}

const ASK_MS_MAX = 10_000;
const AT_ONCE_MAX = 16;
/** The longest wait in the queue: with an unresponsive node, callers get an error after this time. */
const TURN_MS_MAX = 15_000;
const reply = z.object({
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string() }).nullish(),
});

/** The node understood the request and refused it: a call that reverts, a transaction that it does not accept. */
export class NodeRefusal extends Error {}

export interface NodeRpc {
  /** Rejects with a NodeRefusal where the node refuses, with another error where it is unreachable. */
  call(method: string, params: readonly unknown[]): Promise<unknown>;
}

export function nodeRpc(url: string, fetchOut: typeof fetch = fetch): NodeRpc {
  const places = new Places(AT_ONCE_MAX);
  async function ask(method: string, params: readonly unknown[]): Promise<unknown> {
    const response = await fetchOut(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      redirect: "error",
      signal: AbortSignal.timeout(ASK_MS_MAX),
    });
    const { result, error } = reply.parse(await response.json());
    if (error) throw new NodeRefusal(error.message);
    return result;
  }
  // All these requests are idempotent: a transaction has its nonce.
  const twice = (method: string, params: readonly unknown[]) =>
    ask(method, params).catch((error: unknown) => {
      if (!isBroken(error)) throw error;
      return ask(method, params);
    });
  return { call: (method, params) => places.within(TURN_MS_MAX, () => twice(method, params)) };
}
