// Keeps answered intents beyond ten minutes while no replica has the answer: a replica that takes over would lack it.
import { setTimeout as pause } from "node:timers/promises";
import { accountKey } from "../redis/rows.ts";
import { accountOf } from "./delivery.ts";
import type { Spool } from "./file.ts";
import type { StoredIntent } from "./unit.ts";

/** How often unreplicated intents are checked again. */
const LOOK_MS = 5_000;

/** What must be known of the servers' replicas. */
export interface Replicas {
  isReplicated(): boolean;
  /** Whether a replica has all earlier writes of the key's server; true where there are no replicas. */
  waitForReplicas(key: string): Promise<boolean>;
}

/**
 * Starts an intent's ten minutes when a replica has the store's answer. No call waits for that: the charge is safe on this
 * process's disk, so losing it takes the loss of this disk and of the primary within the milliseconds that a replica lags.
 * A replica that lagged for long, or takes over after a long outage, lacks older charges; the kept intents repeat them.
 *
 * A server that has just taken over claims that its replicas have everything, even what it never had. The ten minutes that
 * begin then are used to repeat it.
 */
export function keptUntilCopied(spool: Spool, replicas: Replicas, lookMs = LOOK_MS): Spool {
  const stop = new AbortController();
  // The previous process's intents may also be unreplicated.
  let someMayBeAlone = true;

  async function endIfCopied(stored: StoredIntent, outcome: string): Promise<boolean> {
    const isCopied = await replicas.waitForReplicas(accountKey(accountOf(stored.intent)));
    if (isCopied && !stop.signal.aborted) spool.end(stored, outcome);
    if (!isCopied) someMayBeAlone = true;
    return isCopied;
  }

  /** Stops at the first page of which nothing is replicated: later pages are no better. */
  async function lookAgain(): Promise<void> {
    someMayBeAlone = false;
    for await (const page of spool.pages("alone")) {
      const copied = await Promise.all(page.map((stored) => endIfCopied(stored, stored.outcome ?? "")));
      if (stop.signal.aborted || !copied.includes(true)) return;
    }
  }

  async function keepLooking(): Promise<void> {
    while (!stop.signal.aborted) {
      if (someMayBeAlone)
        await lookAgain().catch(() => {
          someMayBeAlone = true;
        });
      await pause(lookMs, undefined, { signal: stop.signal, ref: false }).catch(() => {});
    }
  }

  const looking = keepLooking();
  return {
    ...spool,
    end(stored, outcome) {
      const isAlone = replicas.isReplicated();
      spool.end(stored, outcome, isAlone);
      if (isAlone) void endIfCopied(stored, outcome);
    },
    async close() {
      stop.abort();
      await looking;
      await spool.close();
    },
  };
}
