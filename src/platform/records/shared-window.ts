// A window that all processes count together: for what is rare and is to be bounded wherever it comes in, such as a guess at a key.
import type { Clock } from "../../core/clock.ts";
import type { Records } from "./records.ts";

const KIND = "window";
const MINUTE_MS = 60_000;
/** Longer than the minute that is counted, should the clock be set back. */
const KEEP_MS = 5 * MINUTE_MS;

/** Counts one of `what` in this minute; false: it has had as many as it may. */
export type TakeShared = (what: string, limit: number) => Promise<boolean>;

/** Each call reads and writes a record, so what may come in floods is to be bounded by a window of the process before. */
export function sharedWindow(records: Pick<Records, "get" | "put">, clock: Clock): TakeShared {
  return async (what, limit) => {
    const id = `${Math.floor(clock.epochMs() / MINUTE_MS)} ${what}`;
    for (;;) {
      const kept = await records.get(KIND, id);
      const taken = Number(kept?.value ?? 0);
      if (taken >= limit) return false;
      const record = { kind: KIND, id, payer: null, value: String(taken + 1), ttlMs: KEEP_MS };
      // Another came in between: look again. Each time one of them gets on, so this ends.
      if ((await records.put({ ...record, ifVersion: kept?.version ?? 0 })) !== null) return true;
    }
  };
}
