// The model of an account in a store that can forget: what happens to calls whose hold the store has lost.
import type {
  HoldOrigin,
  HoldState,
  KeyFate,
  PostOutcome,
  PostRequest,
  ReserveRequest,
  VoidOutcome,
} from "../../src/ledger/ledger.ts";
import { ModelAccount, type ModelHold } from "../ledger/model.ts";

export class SharedModelAccount extends ModelAccount {
  /** Calls that were charged though their hold was not there. */
  readonly orphans = new Set<string>();

  constructor(inferenceCapNano: number, epochMs: number) {
    super(inferenceCapNano, epochMs, epochMs, true);
  }

  holdState(holdId: string): HoldState | null {
    return this.state(holdId);
  }

  /** What may still be charged for a hold that is not counted any more. */
  #room(hold: ModelHold): number {
    const refused = this.money(hold.request, Number.MAX_SAFE_INTEGER / 2, hold.atMs);
    const free = this.sum("credit") - this.sum("charge") - this.held();
    if (refused?.outcome !== "ceiling") return Math.max(0, free);
    return Math.max(0, Math.min(free, refused.ceilingNano - refused.spentNano - refused.heldNano));
  }

  settleOrphan(request: PostRequest, origin: HoldOrigin): PostOutcome {
    const { holdId, amountNano } = request;
    if (this.state(holdId) !== null) return this.post(request);
    const hold = this.#lost(request, origin, "posted");
    const amount = Math.min(amountNano, origin.amountNano, this.#room(hold));
    this.#restoreKey(hold, "free");
    this.orphans.add(holdId);
    // Held for a moment and no longer, so that it is posted as any other.
    this.live.set(holdId, Object.assign(hold, { amount, state: "held" as const }));
    return this.post(request);
  }

  voidOrphan(holdId: string, fate: KeyFate, origin: HoldOrigin): VoidOutcome {
    if (this.state(holdId) !== null) return this.void(holdId, fate);
    const voided = this.void(holdId, fate);
    if (fate !== "free") this.#restoreKey(this.#lost({ accountId: "", holdId }, origin, "voided"), fate);
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
    const before = this.idempotency.get(name);
    if (before !== undefined && before.hold.request.holdId !== holdId) return;
    hold.fate = fate;
    const lapsesMs = Math.max(this.clockMs, this.epochMs) + idempotency.keepMs;
    this.idempotency.set(name, { fingerprint: idempotency.fingerprint, hold, lapsesMs });
  }
}
