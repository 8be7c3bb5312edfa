// Counts that all processes share, for what is rare and must be bounded across all of them, such as guesses at a key.
import type { Clock } from "../../core/clock.ts";
import type { Records } from "./records.ts";

const KIND = "window";
const MINUTE_MS = 60_000;
/** Longer than the minute that is counted, should the clock be set back. */
const KEEP_MS = 5 * MINUTE_MS;

type Counts = Pick<Records, "get" | "put">;

/** Adds to the count in a record what `amountOf` takes of it, and returns that amount. Nothing is written for 0. */
export async function takeFrom(
  records: Counts,
  { kind, id, ttlMs }: { readonly kind: string; readonly id: string; readonly ttlMs: number },
  amountOf: (taken: number) => number,
): Promise<number> {
  for (;;) {
    const kept = await records.get(kind, id);
    const taken = Number(kept?.value ?? 0);
    const amount = amountOf(taken);
    if (amount === 0) return 0;
    const record = { kind, id, payer: null, value: String(taken + amount), ttlMs };
    // If another process came in between, try again. One of them succeeds each time, so this ends.
    if ((await records.put({ ...record, ifVersion: kept?.version ?? 0 })) !== null) return amount;
  }
}

/** Counts one of `what` in this minute; false: the limit is reached. Each call reads and writes a record, so floods need a local window before it. */
export function sharedWindow(records: Counts, clock: Clock): (what: string, limit: number) => Promise<boolean> {
  return async (what, limit) => {
    const id = `${Math.floor(clock.epochMs() / MINUTE_MS)} ${what}`;
    const taken = await takeFrom(records, { kind: KIND, id, ttlMs: KEEP_MS }, (count) => (count < limit ? 1 : 0));
    return taken === 1;
  };
}
