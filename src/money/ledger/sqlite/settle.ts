// Ends holds: posts, voids, and the sweep of expired leases; and renews leases.
import { minus, type Nano, ZERO } from "../../../core/money.ts";
import type { HoldRef, KeyFate, PostOutcome, PostRequest, VoidOutcome } from "../model/ledger.ts";
import type { LiveHold } from "../model/state.ts";
import type { Args } from "./admin.ts";
import type { LedgerState } from "./state.ts";

/** How long an ended hold is remembered: longer than any call or any retry of one. */
const TOMBSTONE_KEPT_MS = 6 * 3_600_000;
const JOB_OWNER = "job:";

/** Charges a hold; a repeat returns the first charge. */
export function post(state: LedgerState, request: PostRequest): PostOutcome {
  const hold = state.hold(request);
  if (hold !== null)
    return { outcome: "posted", repeat: false, ...state.post(hold, { ...request, reason: null }, true) };
  const account = state.accounts.account(request.accountId);
  const posting = account === null ? null : state.entries.posting(request.holdId);
  if (account !== null && posting?.kind === "charge" && posting.accountId === account.accountId) {
    const { amountNano, chargedCents, absorbedNano } = posting;
    const balanceNano = minus(account.granted as Nano, account.spent as Nano);
    return { outcome: "posted", repeat: true, chargedNano: amountNano, chargedCents, absorbedNano, balanceNano };
  }
  const end = state.entries.endOf(request.holdId);
  return { outcome: end === "voided" || end === "expired" ? end : "missing" };
}

/** Releases a hold. An unknown hold leaves a tombstone that refuses a delayed reserve. */
export function voidHold(
  state: LedgerState,
  ref: HoldRef & { reason: string; keyFate: KeyFate; upstreamNano: Nano },
): VoidOutcome {
  const hold = state.hold(ref);
  if (hold !== null) {
    const { reason, keyFate, upstreamNano } = ref;
    state.release(hold, "voided", { reason, keyFate, upstreamNano });
    return { outcome: "voided" };
  }
  const end = state.stateOf(ref.holdId);
  if (end === "posted" || end === "expired") return { outcome: end };
  if (end !== null) return { outcome: "exists" };
  const atMs = state.now().nowMs;
  state.entries.bury(ref.holdId, ref.accountId, { state: "voided", reason: ref.reason, atMs });
  return { outcome: "voided" };
}

/** Renews leases; returns the ids that are no longer held. */
export function renew(state: LedgerState, [holds, leaseMs]: Args<"renew">): readonly string[] {
  const gone: string[] = [];
  for (const ref of holds) {
    const hold = state.hold(ref);
    if (hold === null) {
      gone.push(ref.holdId);
      continue;
    }
    hold.leaseMs = leaseMs;
    hold.leaseEndsElapsedMs = state.elapsedMs() + leaseMs;
  }
  return gone;
}

/** Frees a hold whose end was refused. A hold without a row is only in memory and needs no disk space. */
export function letGo(state: LedgerState, ref: HoldRef): null {
  const hold = state.hold(ref);
  if (hold?.written === false) state.forget(hold);
  else if (hold !== null) hold.leaseEndsElapsedMs = Number.NEGATIVE_INFINITY;
  return null;
}

/** Ends up to `countMax` holds for which `why` returns a reason. */
function endSome(state: LedgerState, countMax: number, why: (hold: LiveHold) => string | null): readonly string[] {
  const ended: string[] = [];
  for (const hold of state.holds.values()) {
    if (ended.length >= countMax) break;
    const reason = why(hold);
    if (reason === null) continue;
    expire(state, hold, reason);
    ended.push(hold.holdId);
  }
  return ended;
}

/** Ends holds with an expired lease or, with `onlyOwner`, those of all other processes, which are dead. */
export function sweep(
  state: LedgerState,
  { countMax, onlyOwner }: { countMax: number; onlyOwner: string | null },
): readonly string[] {
  return endSome(state, countMax, ({ owner, leaseEndsElapsedMs }) => {
    if (onlyOwner !== null && owner !== onlyOwner && !owner.startsWith(JOB_OWNER)) return "its process ended";
    return state.elapsedMs() < leaseEndsElapsedMs ? null : "its lease ended";
  });
}

/** Ends holds of a process that has ended. */
export function abandon(state: LedgerState, { owner, countMax }: { owner: string; countMax: number }) {
  return endSome(state, countMax, (hold) => (hold.owner === owner ? "its process ended" : null));
}

/** Prunes some expired rows; returns whether there may be more. */
export function prune(state: LedgerState): boolean {
  const { nowMs } = state.now();
  return state.entries.prune(nowMs - TOMBSTONE_KEPT_MS, nowMs);
}

function expire(state: LedgerState, hold: LiveHold, reason: string): void {
  if (hold.onExpire === "void") {
    state.release(hold, "expired", {
      reason,
      keyFate: hold.effect === "read" ? "free" : "expired",
      upstreamNano: ZERO,
    });
    return;
  }
  const detail = {
    amountNano: hold.accrued as Nano,
    upstreamNano: ZERO,
    absorbReason: null,
    provider: null,
    served: null,
    usage: null,
    estimated: true,
    priceVersion: null,
    reason,
    legs: [],
  };
  // Its cost to us is unknown here, so it counts as neither unpaid nor margin.
  state.post(hold, detail, false);
}
