// Settlements the spool could not persist, kept in memory so they can be replayed if Redis loses them.
import { setTimeout as pause } from "node:timers/promises";
import { type Delivery, isAway, noteOf } from "./delivery.ts";
import type { Spool } from "./file.ts";
import type { Intent } from "./intent.ts";

/** Between two tries. */
const AGAIN_MS = 1_000;

export interface UnwrittenEnds {
  /** Takes an end that is nowhere but here. `outcome`: what the store has answered; null where it does not know. */
  keep(intent: Intent, outcome: string | null): void;
  /** The store may have forgotten what it answered. */
  repeat(): void;
  /** Tries once more. What then is neither on disk nor in the store is lost with the process. */
  close(): Promise<void>;
}

export interface UnwrittenOptions {
  readonly spool: Spool;
  readonly delivery: Pick<Delivery, "tell" | "postpone">;
  readonly onBroken: (error: unknown) => void;
}

interface Unwritten {
  readonly intent: Intent;
  outcome: string | null;
}

/** There are never more of them than calls were running when the disk was full, since none is taken on while it is. */
export function unwrittenEnds({ spool, delivery, onBroken }: UnwrittenOptions): UnwrittenEnds {
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
    // At once and not later: whatever is kept from here on starts it anew.
    trying = null;
  }

  return {
    keep(intent, outcome) {
      kept.add({ intent, outcome });
      trying ??= tryUntilWritten();
    },
    repeat() {
      for (const end of kept) end.outcome = null;
    },
    async close() {
      stop.abort();
      await trying;
    },
  };
}
