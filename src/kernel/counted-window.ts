// What the ledger says of an account's window, where it is the ledger that counts: for many processes together.
import type { ReserveOutcome } from "../money/ledger/model/ledger.ts";
import type { WindowState } from "../platform/limits/request-windows.ts";

/** The window that paid calls are counted in. */
export const WINDOW_SECONDS = 60;

/** Null: this outcome says nothing of it. */
export function countedWindow(outcome: ReserveOutcome, limit: number): WindowState | null {
  const counted =
    outcome.outcome === "window" ? { ...outcome, remaining: 0 } : "window" in outcome ? outcome.window : null;
  if (counted == null) return null;
  const { remaining, resetSeconds } = counted;
  return { allowed: outcome.outcome !== "window", limit, remaining, resetSeconds, windowSeconds: WINDOW_SECONDS };
}
