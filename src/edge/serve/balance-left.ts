// The balance of a caller whose call was refused, for the formats whose errors include it.
import type { ErrorCodec } from "../../core/endpoint.ts";
import type { ErrorCode, GatewayError } from "../../core/errors.ts";
import { minus, type Nano } from "../../core/money.ts";
import type { ServeDeps } from "./deps.ts";

/** The ledger is unavailable, so it is not read again for the error. */
const LEDGER_AWAY: ReadonlySet<ErrorCode> = new Set(["ledger_unavailable", "clock_skew"]);
/** Callers over their rate limit must not load the ledger: one reading of the balance serves all their refusals for this long. */
const RECENT_MS = 1_000;
const RECENT_MAX = 10_000;
const recent = new WeakMap<ServeDeps["ledger"], Map<string, { atMs: number; balance: Promise<Nano | null> }>>();

type Deps = Pick<ServeDeps, "ledger" | "clock">;

function balanceOf(accountId: string, { ledger }: Deps): Promise<Nano | null> {
  const read = ledger.account(accountId);
  return read
    .then((account) => (account === null ? null : minus(account.grantedNano, account.spentNano)))
    .catch(() => null);
}

function recentBalanceOf(accountId: string, deps: Deps): Promise<Nano | null> {
  const known = recent.get(deps.ledger) ?? new Map();
  recent.set(deps.ledger, known);
  const atMs = deps.clock.elapsedMs();
  const found = known.get(accountId);
  if (found !== undefined && atMs - found.atMs < RECENT_MS) return found.balance;
  if (known.size >= RECENT_MAX) known.clear();
  const balance = balanceOf(accountId, deps);
  known.set(accountId, { atMs, balance });
  return balance;
}

/** Null where the format does not include it, or where payer or balance are unknown. */
export async function balanceLeft(error: GatewayError, accountId: string | null, errors: ErrorCodec, deps: Deps) {
  if (errors.tellsBalance === undefined || accountId === null || LEDGER_AWAY.has(error.code)) return null;
  return error.code === "rate_limited" ? recentBalanceOf(accountId, deps) : balanceOf(accountId, deps);
}
