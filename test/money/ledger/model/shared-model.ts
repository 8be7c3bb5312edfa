// The model of an account in a store that can forget: what happens to calls whose hold was lost, or ended while they ran.
import type {
  HoldOrigin,
  HoldState,
  KeyFate,
  LateReason,
  PostOutcome,
  PostRequest,
  ReserveRequest,
  VoidEnd,
  VoidOutcome,
} from "../../../../src/money/ledger/model/ledger.ts";
import { ModelAccount, type ModelHold, taken } from "./model.ts";

export class SharedModelAccount extends ModelAccount {
  /** Calls charged although their hold was missing. */
  readonly orphans = new Set<string>();
  /** Calls charged after their lease had ended. */
  readonly late = new Set<string>();

  constructor(inferenceCapNano: number, epochMs: number, elapsedMs = epochMs) {
    super(inferenceCapNano, epochMs, elapsedMs, true);
  }

  holdState(holdId: string): HoldState | null {
    return this.state(holdId);
  }

  /** The largest possible charge for a hold that no longer counts. */
  #room({ request, atMs }: ModelHold): number {
    const left = [this.sum("credit") - this.sum("charge") - this.held()];
    const take = (bound: number, used: Parameters<typeof taken>[0]) => left.push(bound - taken(used));
    const key = this.keys.get(request.keyId);
    if (key && key.ceilingNano !== null)
      take(key.ceilingNano, this.ofKey(request.keyId, key.ceilingPeriod ?? "day", atMs));
    if (request.inference) take(this.inferenceCapNano, this.ofInference(atMs));
    for (const { scope, counts, period, max } of request.windows)
      if (counts === "charge" && max !== null) take(max, this.ofScope(scope, period, atMs));
    return Math.max(0, Math.min(...left));
  }

  settleOrphan(request: PostRequest, origin: HoldOrigin, why: LateReason): PostOutcome {
    const { holdId, amountNano } = request;
    const state = this.state(holdId);
    if (state !== null && state !== "expired") return this.post(request);
    const hold = this.#lost(request, origin, "posted");
    const amount = Math.min(amountNano, origin.amountNano, this.#room(hold));
    this.#restoreKey(hold, "free");
    (why === "orphan" ? this.orphans : this.late).add(holdId);
    // Held only for a moment, so that it is posted like any other.
    this.live.set(holdId, Object.assign(hold, { amount, state: "held" as const }));
    return this.post(request, why);
  }

  voidOrphan(holdId: string, end: VoidEnd, origin: HoldOrigin): VoidOutcome {
    if (this.state(holdId) !== null) return this.void(holdId, end);
    const voided = this.void(holdId, end);
    const hold = this.#lost({ accountId: "", holdId }, origin, "voided");
    this.countCost(hold, 0, end.upstreamNano ?? 0);
    if (end.keyFate !== undefined && end.keyFate !== "free") this.#restoreKey(hold, end.keyFate);
    return voided;
  }

  #lost({ accountId, holdId }: { accountId: string; holdId: string }, origin: HoldOrigin, state: HoldState): ModelHold {
    const gone = { slots: [], owner: "", leaseMs: 0, onExpire: "void" as const };
    const request: ReserveRequest = { accountId, holdId, ...gone, ...origin };
    const atMs = Math.min(origin.nowMs, Math.max(this.clockMs, this.epochMs));
    return { request, atMs, amount: origin.amountNano, accrued: 0, leaseEndsMs: 0, state, fate: "free" };
  }

  #restoreKey(hold: ModelHold, fate: KeyFate): void {
    const { idempotency, keyId, holdId } = hold.request;
    if (idempotency === null) return;
    const name = `${keyId} ${idempotency.key}`;
    const kept = this.idempotency.get(name);
    // A key that is free again leaves no trace: its record is new.
    const before = kept === undefined || isFree(kept.hold) ? undefined : kept;
    if (before !== undefined && before.hold.request.holdId !== holdId) return;
    hold.fate = fate;
    const lapsesMs = before?.lapsesMs ?? Math.max(this.clockMs, this.epochMs) + idempotency.keepMs;
    this.idempotency.set(name, { fingerprint: idempotency.fingerprint, hold, lapsesMs });
  }
}

/** Whether a call's key may be used again: it was released, or the outcome of a read-only call is unknown. */
function isFree({ state, fate, request }: ModelHold): boolean {
  return state === "voided" ? fate === "free" : state === "expired" && request.effect === "read";
}
