// Reads an account's rate window from a ledger outcome, where the ledger itself counts paid calls across processes.
import type { ReserveOutcome } from "../money/ledger/model/ledger.ts";
import type { WindowState } from "../platform/limits/request-windows.ts";

/** The length of the window for paid calls. */
export const WINDOW_SECONDS = 60;

/** Null where the outcome carries no window. */
export function countedWindow(outcome: ReserveOutcome, limit: number): WindowState | null {
  const counted =
    outcome.outcome === "window" ? { ...outcome, remaining: 0 } : "window" in outcome ? outcome.window : null;
  if (counted == null) return null;
  const { remaining, resetSeconds } = counted;
  return { allowed: outcome.outcome !== "window", limit, remaining, resetSeconds, windowSeconds: WINDOW_SECONDS };
}
