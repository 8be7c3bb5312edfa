// What a caller has left whose call came to nothing, for the wires that say so.
import type { ErrorCodec } from "../endpoint.ts";
import type { ErrorCode, GatewayError } from "../errors.ts";
import { minus, type Nano } from "../money.ts";
import type { ServeDeps } from "./deps.ts";

/** The ledger is away: it is not asked again for the sake of the error. */
const LEDGER_AWAY: ReadonlySet<ErrorCode> = new Set(["ledger_unavailable", "clock_skew"]);

/** A caller who is turned away for coming too often must not make the ledger work: so long one balance does for all such answers. */
const REMEMBERED_MS = 1_000;
const REMEMBERED_MAX = 10_000;

interface Remembered {
  readonly untilMs: number;
  readonly balance: Promise<Nano | null>;
}
const remembered = new WeakMap<ServeDeps["ledger"], Map<string, Remembered>>();

type Deps = Pick<ServeDeps, "ledger" | "clock">;

async function balanceOf(accountId: string, { ledger }: Deps): Promise<Nano | null> {
  try {
    const account = await ledger.account(accountId);
    return account === null ? null : minus(account.grantedNano, account.spentNano);
  } catch {
    return null;
  }
}

function recentBalanceOf(accountId: string, deps: Deps): Promise<Nano | null> {
  const known = remembered.get(deps.ledger) ?? new Map<string, Remembered>();
  remembered.set(deps.ledger, known);
  const nowMs = deps.clock.elapsedMs();
  const found = known.get(accountId);
  if (found !== undefined && nowMs < found.untilMs) return found.balance;
  if (known.size >= REMEMBERED_MAX) known.clear();
  const balance = balanceOf(accountId, deps);
  known.set(accountId, { untilMs: nowMs + REMEMBERED_MS, balance });
  return balance;
}

/** The account's balance; null where the wire does not say it, where no payer is known, and where the ledger does not know. */
export function balanceLeft(
  error: GatewayError,
  accountId: string | null,
  errors: ErrorCodec,
  deps: Deps,
): Promise<Nano | null> | null {
  if (errors.tellsBalance === undefined || accountId === null || LEDGER_AWAY.has(error.code)) return null;
  return error.code === "rate_limited" ? recentBalanceOf(accountId, deps) : balanceOf(accountId, deps);
}
