// Free token counts: parsed and counted in the counter's thread, with a limit per account.
import type { GatewayRequest } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Caller } from "../../core/plan.ts";
import type { WireCount, WireHost } from "../formats/wire.ts";
import type { ChatDeps } from "./deps.ts";
import type { PromptOrder, PromptRead } from "./read-prompt.ts";
import { PROMPTS_WAITING_MAX } from "./token-counter.ts";

/** An account's limit per minute. Parsing is the only cost of a free count. */
const BYTES_PER_MINUTE = 64 * 1024 * 1024;
const MINUTE_MS = 60_000;
const BUSY_SECONDS = 1;
/** A body may refer to an earlier answer and to items by id; each kind of reference takes one more read. */
const READS_MAX = 3;

type Counted = Extract<PromptRead, { readonly tokens: number }>;

/** The bytes counted for each account in the current minute. */
class CountedBytes {
  #minute = -1;
  readonly #byAccount = new Map<string, number>();

  /** Null if allowed; else the milliseconds until it will be. */
  take(accountId: string, bytes: number, nowMs: number): number | null {
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (minute !== this.#minute) this.#byAccount.clear();
    this.#minute = minute;
    const counted = (this.#byAccount.get(accountId) ?? 0) + bytes;
    if (counted > BYTES_PER_MINUTE) return (minute + 1) * MINUTE_MS - nowMs;
    this.#byAccount.set(accountId, counted);
    return null;
  }
}

/** Parses and counts the prompt of a request to one of the count endpoints. */
export type FreeCounts = (count: WireCount, request: GatewayRequest, payer: Caller["payer"]) => Promise<Counted>;

/** One instance counts for all accounts and wires. */
export function freeCounts({ counter, clock }: Pick<ChatDeps, "counter" | "clock">, host: WireHost): FreeCounts {
  const counted = new CountedBytes();

  function take({ accountId }: Caller["payer"], bytes: number): void {
    const waitMs = counted.take(accountId, bytes, clock.elapsedMs());
    if (waitMs === null) return;
    const detail = { limit: `${BYTES_PER_MINUTE} bytes of prompts to count`, window_seconds: MINUTE_MS / 1_000 };
    throw new GatewayError("rate_limited", { detail, retryAfterSeconds: waitMs / 1_000 });
  }

  return async (count, { body, params }, payer) => {
    const { path } = count;
    let order: PromptOrder = { path, params, bytes: body, payer: payer.id, earlier: null, named: null };
    for (let reads = 0; reads < READS_MAX; reads++) {
      take(payer, body.length);
      // Copy it: a small body is a view of a larger buffer, all of which would be sent to the other thread.
      const read = await counter.prompt({ ...order, bytes: Uint8Array.from(body) });
      if (read === null) {
        const detail = { limit: PROMPTS_WAITING_MAX };
        throw new GatewayError("concurrency_limit", { detail, retryAfterSeconds: BUSY_SECONDS });
      }
      if ("tokens" in read) return read;
      if ("refused" in read) throw new GatewayError(read.refused.code, read.refused.options);
      if ("previous" in read) {
        order = { ...order, earlier: await host.kept.earlier(payer.id, read.previous) };
      } else order = { ...order, named: await host.kept.findItems(payer.id, read.ids, host.seals(payer)) };
    }
    throw new Error("a prompt asks again for what it was given");
  };
}
