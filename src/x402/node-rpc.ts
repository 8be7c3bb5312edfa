// A node of a chain, asked by JSON-RPC over HTTP.
import { z } from "zod";

const ASK_MS_MAX = 10_000;
/** So many questions at once: a node that is asked more is slow for all of them. The others wait, and their time does not run yet. */
const AT_ONCE_MAX = 16;
const reply = z.object({
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string() }).optional(),
});

/** The node has understood, and says no: a call that reverts, a transaction that it does not take. */
export class NodeRefusal extends Error {}

export interface NodeRpc {
  /** Rejects with a NodeRefusal where the node says no, with another error where it cannot be asked. */
  call(method: string, params: readonly unknown[]): Promise<unknown>;
}

export function nodeRpc(url: string): NodeRpc {
  const waiting: (() => void)[] = [];
  let asking = 0;

  /** A place among those that ask; given on to the next. */
  async function takePlace(): Promise<void> {
    if (asking < AT_ONCE_MAX) asking += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
  }
  function leavePlace(): void {
    const next = waiting.shift();
    if (next === undefined) asking -= 1;
    else next();
  }

  return {
    async call(method, params) {
      await takePlace();
      try {
        return await ask(url, method, params);
      } finally {
        leavePlace();
      }
    },
  };
}

async function ask(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    redirect: "error",
    signal: AbortSignal.timeout(ASK_MS_MAX),
  });
  const { result, error } = reply.parse(await response.json());
  if (error !== undefined) throw new NodeRefusal(error.message);
  return result;
}
