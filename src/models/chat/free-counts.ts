// Counts of prompts that are free: read and counted in the counter's thread, and only so much for each account.
import type { GatewayRequest } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Caller } from "../../core/plan.ts";
import type { WireCount, WireHost } from "../formats/wire.ts";
import type { ChatDeps } from "./deps.ts";
import type { PromptOrder, PromptRead } from "./read-prompt.ts";
import { PROMPTS_WAITING_MAX } from "./token-counter.ts";

/** An account's counted prompts in a minute. Reading them is all that a free count costs us. */
const BYTES_PER_MINUTE = 64 * 1024 * 1024;
const MINUTE_MS = 60_000;
const BUSY_SECONDS = 1;
/** A body names an earlier answer, and items by their ids: it is read as often as that, and once more. */
const READS_MAX = 3;

type Counted = Extract<PromptRead, { readonly tokens: number }>;

/** How much each account has had counted in the minute that runs. */
class CountedBytes {
  #minute = -1;
  readonly #byAccount = new Map<string, number>();

  /** Null: it may go on; else the milliseconds until it may. */
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

/** Reads and counts the prompt of a request at one of the wires' counts. */
export type FreeCounts = (
  count: WireCount,
  request: GatewayRequest,
  payer: Caller["payer"],
) => Promise<Counted | GatewayError>;

/** The counts of all accounts, whichever wire they come in. */
export function freeCounts({ counter, clock }: Pick<ChatDeps, "counter" | "clock">, host: WireHost): FreeCounts {
  const counted = new CountedBytes();

  function refusal({ accountId }: Caller["payer"], bytes: number): GatewayError | null {
    const waitMs = counted.take(accountId, bytes, clock.elapsedMs());
    if (waitMs === null) return null;
    const detail = { limit: `${BYTES_PER_MINUTE} bytes of prompts to count`, window_seconds: MINUTE_MS / 1_000 };
    return new GatewayError("rate_limited", { detail, retryAfterSeconds: waitMs / 1_000 });
  }

  return async (count, { body, params }, payer) => {
    const { path } = count;
    let order: PromptOrder = { path, params, bytes: body, payer: payer.id, earlier: null, named: null };
    for (let reads = 0; reads < READS_MAX; reads++) {
      const refused = refusal(payer, body.length);
      if (refused !== null) return refused;
      // A copy of its own: a small body is a piece of a larger memory, all of which would go to the other thread.
      const read = await counter.prompt({ ...order, bytes: Uint8Array.from(body) });
      if (read === null) {
        const detail = { limit: PROMPTS_WAITING_MAX };
        return new GatewayError("concurrency_limit", { detail, retryAfterSeconds: BUSY_SECONDS });
      }
      if ("tokens" in read) return read;
      if ("refused" in read) return new GatewayError(read.refused.code, read.refused.options);
      if ("previous" in read) {
        const earlier = await host.kept.earlier(payer.id, read.previous);
        if (earlier instanceof GatewayError) return earlier;
        order = { ...order, earlier };
      } else order = { ...order, named: await host.kept.findItems(payer.id, read.ids, host.seals(payer)) };
    }
    throw new Error("a prompt asks again for what it was given");
  };
}
