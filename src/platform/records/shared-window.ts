// Rate windows shared by all processes, for rare events that must be bounded overall, such as attempts to guess a key.
import type { Clock } from "../../core/clock.ts";
import type { Records } from "./records.ts";
import { revise } from "./revise.ts";

const KIND = "window";
const MINUTE_MS = 60_000;
/** Longer than the counted minute, in case the clock is set back. */
const KEEP_MS = 5 * MINUTE_MS;

type Counts = Pick<Records, "get" | "put">;

/** Adds `amountOf(count)` to a record's count, and returns that amount. Writes nothing for 0. */
export async function takeFrom(
  records: Counts,
  { kind, id, ttlMs }: { readonly kind: string; readonly id: string; readonly ttlMs: number },
  amountOf: (taken: number) => number,
): Promise<number> {
  let amount = 0;
  await revise(records, { kind, id, payer: null, ttlMs }, (value) => {
    const taken = Number(value ?? 0);
    amount = amountOf(taken);
    return amount === 0 ? null : String(taken + amount);
  });
  return amount;
}

/** Counts one `what` in this minute; false: the limit is reached. Uses a record per call: put a local window before it. */
export function sharedWindow(records: Counts, clock: Clock): (what: string, limit: number) => Promise<boolean> {
  return async (what, limit) => {
    const id = `${Math.floor(clock.epochMs() / MINUTE_MS)} ${what}`;
    const taken = await takeFrom(records, { kind: KIND, id, ttlMs: KEEP_MS }, (count) => (count < limit ? 1 : 0));
    return taken === 1;
  };
}
