// Ends of calls that the spool could not write, kept in memory so that they can be replayed if Redis loses them.
import { setTimeout as pause } from "node:timers/promises";
import { type Delivery, isAway, noteOf } from "./delivery.ts";
import type { Spool } from "./file.ts";
import type { Intent } from "./intent.ts";

/** Delay between attempts. */
const AGAIN_MS = 1_000;

export type UnwrittenEnds = ReturnType<typeof unwrittenEnds>;

interface Unwritten {
  readonly intent: Intent;
  outcome: string | null;
}

/** Never more than the calls that ran when the disk filled up, since none is admitted after. */
export function unwrittenEnds(
  spool: Spool,
  delivery: Pick<Delivery, "tell" | "postpone">,
  onBroken: (error: unknown) => void,
) {
  const kept = new Set<Unwritten>();
  const stop = new AbortController();
  let trying: Promise<void> | null = null;

  async function write(end: Unwritten): Promise<boolean> {
    const stored = await spool.append(end.intent).catch(() => null);
    if (stored === null) return false;
    if (end.outcome === null) delivery.postpone(stored);
    else spool.end(stored, end.outcome);
    return true;
  }

  async function tell(end: Unwritten): Promise<void> {
    try {
      end.outcome = noteOf(await delivery.tell(end.intent));
    } catch (error) {
      if (isAway(error)) return;
      kept.delete(end);
      onBroken(error);
    }
  }

  async function tryAll(): Promise<void> {
    for (const end of [...kept]) {
      if (await write(end)) kept.delete(end);
      else if (end.outcome === null) await tell(end);
    }
  }

  async function tryUntilWritten(): Promise<void> {
    while (kept.size > 0 && !stop.signal.aborted) {
      await pause(AGAIN_MS, undefined, { signal: stop.signal }).catch(() => {});
      await tryAll();
    }
    // Synchronously: whatever is added from here on starts a new run.
    trying = null;
  }

  return {
    /** Takes an end that exists only here. `outcome`: the store's answer; null where it has none. */
    keep(intent: Intent, outcome: string | null) {
      kept.add({ intent, outcome });
      trying ??= tryUntilWritten();
    },
    /** The store may have lost its answers. */
    repeat() {
      for (const end of kept) end.outcome = null;
    },
    /** Tries once more. What is neither on disk nor in the store after that is lost with the process. */
    async close() {
      stop.abort();
      await trying;
    },
  };
}
