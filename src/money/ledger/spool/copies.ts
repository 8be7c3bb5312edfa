// Keeps what the store has answered for longer than ten minutes where no replica has it: one that takes over would not know.
import { setTimeout as pause } from "node:timers/promises";
import { accountKey } from "../redis/rows.ts";
import { accountOf } from "./delivery.ts";
import type { Spool } from "./file.ts";
import type { StoredIntent } from "./unit.ts";

/** How often those that no replica had are asked for again. */
const LOOK_MS = 5_000;

/** What must be known of the servers' replicas. */
export interface Replicas {
  isReplicated(): boolean;
  /** Whether all that was written on the key's server before this call is on a replica; true where there are none. */
  waitForReplicas(key: string): Promise<boolean>;
}

/**
 * An intent's ten minutes begin when a replica has what the store has said. No call waits for that: the caller's charge is safe
 * on this process's disk, and losing it takes this disk and the primary within the milliseconds that a replica is behind. It
 * is what a process remembers that depends on it. A replica that was behind for long, or takes over after a long outage,
 * lacks charges that are older than ten minutes; they are among those that it is told.
 *
 * A server that has taken over a moment ago says of its own replicas that they have everything, also what it never had itself:
 * the ten minutes that begin then are for telling it.
 */
export function keptUntilCopied(spool: Spool, replicas: Replicas, lookMs = LOOK_MS): Spool {
  const stop = new AbortController();
  // What the last process left may be on no replica either.
  let someMayBeAlone = true;

  async function endIfCopied(stored: StoredIntent, outcome: string): Promise<boolean> {
    const isCopied = await replicas.waitForReplicas(accountKey(accountOf(stored.intent)));
    if (isCopied && !stop.signal.aborted) spool.end(stored, outcome);
    if (!isCopied) someMayBeAlone = true;
    return isCopied;
  }

  /** Up to the first page of which nothing has been copied: what comes after it is no better off, or can wait as well. */
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
