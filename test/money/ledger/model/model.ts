// A reference model of the ledger in the simplest terms: lists of events, and every number summed anew on each read.
import type {
  AccountPatch,
  CeilingPeriod,
  KeyLimits,
  KeyPatch,
  RefundOutcome,
  TopUpOutcome,
  WindowPeriod,
} from "../../../../src/core/account-rows.ts";
import type { Nano } from "../../../../src/core/money.ts";
import type {
  ExtendOutcome,
  HoldState,
  KeyFate,
  PostOutcome,
  PostRequest,
  ReserveOutcome,
  ReserveRequest,
  Standing,
  VoidEnd,
  VoidOutcome,
} from "../../../../src/money/ledger/model/ledger.ts";
import type { Window } from "../../../../src/money/ledger/model/window-list.ts";

const DAY_MS = 86_400_000;

type ModelKey = KeyLimits & { readonly paused: boolean };

export interface ModelHold {
  readonly request: ReserveRequest;
  readonly atMs: number;
  amount: number;
  accrued: number;
  leaseEndsMs: number;
  state: HoldState;
  /** Once voided: the state of its idempotency key. */
  fate: KeyFate;
}

interface ModelPosting {
  readonly id: string;
  readonly kind: "charge" | "topup" | "refund";
  readonly amount: number;
  readonly cents: number;
  readonly absorbed: number;
  readonly hold: ModelHold | null;
  readonly reference: string | null;
  /** Why a charge that was not posted in time exists. */
  readonly reason: string | null;
  readonly atMs: number;
}

/** A call's cost above its charge, or its charge above its cost, in one of its windows. */
interface ModelCost {
  readonly scope: string;
  /** When its hold was placed. */
  readonly atMs: number;
  readonly nano: number;
}

/** One account. The test passes the time: the wall clock, and a monotonic one. */
export class ModelAccount {
  readonly keys = new Map<string, ModelKey>();
  readonly live = new Map<string, ModelHold>();
  readonly ended = new Map<string, HoldState>();
  /** When holds ended without a posting, as long as the ledger remembers. */
  readonly buriedMs = new Map<string, number>();
  readonly postings: ModelPosting[] = [];
  readonly costs: ModelCost[] = [];
  readonly idempotency = new Map<string, { fingerprint: string; hold: ModelHold; lapsesMs: number }>();
  frozen = false;
  strictBounds = false;
  /** Earlier postings do not count in `strictBounds`. */
  #strictFrom = 0;
  inferenceCapNano: number;
  epochMs: number;
  elapsedMs: number;
  /** The latest time of a money movement. */
  clockMs: number;

  /**
   * A shared store forgets ended holds by its server's clock, which a test cannot move: to the test, never. And its sweep ends holds in
   * the order of their leases.
   */
  readonly #shared: boolean;

  constructor(inferenceCapNano: number, epochMs: number, elapsedMs: number, shared = false) {
    this.#shared = shared;
    this.inferenceCapNano = inferenceCapNano;
    this.epochMs = epochMs;
    this.clockMs = epochMs;
    this.elapsedMs = elapsedMs;
  }

  sum(kind: "charge" | "credit"): number {
    return total(this.postings.filter((p) => (p.kind === "charge") === (kind === "charge")).map((p) => p.amount));
  }

  held(): number {
    return total([...this.live.values()].map((hold) => hold.amount));
  }

  absorbed(): number {
    return total(this.postings.map((posting) => posting.absorbed));
  }

  /** Spent, held and absorbed amounts of the holds for which `counts` is true. */
  private used(counts: (hold: ModelHold) => boolean) {
    const charges = this.postings.filter((posting) => posting.hold !== null && counts(posting.hold));
    const spentNano = total(charges.map((posting) => posting.amount)) as Nano;
    const heldNano = total([...this.live.values()].filter(counts).map((hold) => hold.amount)) as Nano;
    const absorbedNano = total(charges.map((posting) => posting.absorbed)) as Nano;
    return { spentNano, heldNano, absorbedNano };
  }

  /** A key's spent and held amounts in the period of `atMs`. */
  ofKey(keyId: string, period: CeilingPeriod, atMs: number) {
    const { fromMs, toMs } = periodOf(period, atMs);
    const used = this.used(({ request, atMs }) => request.keyId === keyId && atMs >= fromMs && atMs < toMs);
    return { ...used, resetsAtMs: toMs };
  }

  /** The amounts that count toward the inference cap on the day of `atMs`. */
  protected ofInference(atMs: number) {
    const { fromMs, toMs } = periodOf("day", atMs);
    const used = this.used((hold) => hold.request.inference && hold.atMs >= fromMs && hold.atMs < toMs);
    return { ...used, resetsAtMs: toMs };
  }

  /** The amounts of a scope that a hold brings. */
  ofScope(scope: string, period: WindowPeriod, atMs: number) {
    const { fromMs, toMs } = periodOf(period, atMs);
    const counts = (window: Window) => window.scope === scope && window.counts === "charge";
    const used = this.used((hold) => hold.request.windows.some(counts) && hold.atMs >= fromMs && hold.atMs < toMs);
    // A run never ends; stores answer with the end of the day on which they count it.
    return { ...used, resetsAtMs: period === "run" ? DAY_MS : toMs };
  }

  /** The least that the runs of a request have not spent. */
  #leftOfRuns({ windows }: ReserveRequest): { runLeftNano?: Nano } {
    const left = windows.flatMap(({ scope, period, max }) => {
      if (period !== "run" || max === null) return [];
      const { spentNano, absorbedNano } = this.ofScope(scope, period, this.epochMs);
      return [Math.max(0, max - spentNano - absorbedNano)];
    });
    return left.length === 0 ? {} : { runLeftNano: Math.min(...left) as Nano };
  }

  /** The sum of a cost scope. */
  cost(scope: string, period: WindowPeriod, atMs: number): number {
    const { fromMs, toMs } = periodOf(period, atMs);
    return total(
      this.costs.filter((one) => one.scope === scope && one.atMs >= fromMs && one.atMs < toMs).map(({ nano }) => nano),
    );
  }

  protected countCost({ request, atMs }: ModelHold, charged: number, upstream: number): void {
    for (const { scope, counts } of request.windows) {
      const nano = counts === "unpaid" ? upstream - charged : counts === "margin" ? charged - upstream : 0;
      if (nano > 0) this.costs.push({ scope, atMs, nano });
    }
  }

  private full({ windows }: ReserveRequest, more: number, atMs: number, grows: boolean) {
    for (const { scope, counts, code, period, max, widenedBy } of windows.toSorted(byCost)) {
      if (max === null || counts === "marks" || (grows && counts !== "charge")) continue;
      if (counts === "charge") {
        const used = this.ofScope(scope, period, atMs);
        if (taken(used) + more > max)
          return { outcome: "window_full" as const, scope, counts, code, maxNano: max, ...used };
        continue;
      }
      const maxNano = (max + (widenedBy === undefined ? 0 : this.cost(widenedBy, period, atMs))) as Nano;
      const spentNano = this.cost(scope, period, atMs) as Nano;
      const said = { outcome: "window_full" as const, scope, counts, code, maxNano, spentNano };
      const none = { heldNano: 0 as Nano, absorbedNano: 0 as Nano };
      if (spentNano >= maxNano) return { ...said, ...none, resetsAtMs: periodOf(period, atMs).toMs };
    }
    return null;
  }

  private money(request: ReserveRequest, more: number, atMs: number, grows = false) {
    const key = this.keys.get(request.keyId);
    if (key && key.ceilingNano !== null) {
      const period = key.ceilingPeriod ?? "day";
      const used = this.ofKey(request.keyId, period, atMs);
      if (taken(used) + more > key.ceilingNano) {
        return { outcome: "ceiling" as const, period, ceilingNano: key.ceilingNano, ...used };
      }
    }
    if (request.inference) {
      const used = this.ofInference(atMs);
      if (taken(used) + more > this.inferenceCapNano)
        return { outcome: "inference_cap" as const, capNano: this.inferenceCapNano as Nano, ...used };
    }
    const full = this.full(request, more, atMs, grows);
    if (full !== null) return full;
    const balanceNano = (this.sum("credit") - this.sum("charge")) as Nano;
    const freeNano = (balanceNano - this.held()) as Nano;
    if (more <= freeNano) return null;
    return { outcome: "insufficient" as const, freeNano, heldNano: this.held() as Nano, balanceNano };
  }

  protected state(holdId: string): HoldState | null {
    if (this.live.has(holdId)) return "held";
    const state = this.ended.get(holdId) ?? null;
    return state === "posted" || this.buriedMs.has(holdId) ? state : null;
  }

  reserve(request: ReserveRequest): ReserveOutcome {
    const state = this.state(request.holdId);
    if (state !== null) return { outcome: "exists", state };
    const key = this.keys.get(request.keyId);
    if (!key) return { outcome: "unknown_key" };
    if (this.frozen) return { outcome: "frozen" };
    if (key.paused) return { outcome: "paused" };
    if (Math.abs(request.nowMs - this.epochMs) > 30_000) return { outcome: "clock_skew" };
    const atMs = Math.max(this.clockMs, this.epochMs);
    const again = this.again(request, atMs);
    if (again) return again;
    for (const { scope, max, code } of request.slots) {
      const inSlot = [...this.live.values()].filter((hold) => hold.request.slots.some((slot) => slot.scope === scope));
      if (inSlot.length >= max) return { outcome: "slots", code, max };
    }
    const refused = this.money(request, request.amountNano, atMs);
    if (refused) return refused;
    this.clockMs = atMs;
    const leaseEndsMs = this.elapsedMs + request.leaseMs;
    const leased = { leaseEndsMs, state: "held" as const, fate: "free" as const };
    const hold: ModelHold = { request, atMs, amount: request.amountNano, accrued: 0, ...leased };
    this.live.set(request.holdId, hold);
    if (request.idempotency) {
      const { key, fingerprint, keepMs } = request.idempotency;
      this.idempotency.set(`${request.keyId} ${key}`, { fingerprint, hold, lapsesMs: atMs + keepMs });
    }
    return { outcome: "held", ...this.#leftOfRuns(request) };
  }

  private again(request: ReserveRequest, atMs: number): ReserveOutcome | null {
    const before = this.idempotency.get(`${request.keyId} ${request.idempotency?.key}`);
    if (!request.idempotency || !before) return null;
    const { state, fate } = before.hold;
    const { holdId, effect } = before.hold.request;
    if (state !== "held" && before.lapsesMs <= atMs) return null;
    const unknown = state === "expired" ? effect === "write" : state === "voided" && fate === "unknown";
    const done = state === "posted" || (state === "voided" && fate === "answered");
    if (state !== "held" && !unknown && !done) return null;
    if (before.fingerprint !== request.idempotency.fingerprint) return { outcome: "idempotency_mismatch" };
    if (state === "held") return { outcome: "idempotency_in_progress", holdId };
    return { outcome: done ? "idempotency_done" : "idempotency_unknown", holdId };
  }

  extend(holdId: string, amount: Nano, accrued: Nano, leaseMs: number): ExtendOutcome {
    const hold = this.live.get(holdId);
    if (!hold) return { outcome: "gone", state: this.state(holdId) ?? "missing" };
    const more = Math.max(0, amount - hold.amount);
    if (more > 0) {
      const key = this.keys.get(hold.request.keyId);
      if (!key) return { outcome: "unknown_key" };
      if (this.frozen) return { outcome: "frozen" };
      if (key.paused) return { outcome: "paused" };
      const refused = this.money(hold.request, more, hold.atMs, true);
      if (refused) return refused;
    }
    hold.amount += more;
    hold.accrued = Math.min(hold.amount, Math.max(hold.accrued, accrued));
    hold.leaseEndsMs = this.elapsedMs + leaseMs;
    return { outcome: "extended", amountNano: hold.amount as Nano };
  }

  standing(holdId: string): Standing {
    const hold = this.live.get(holdId);
    if (!hold) return "gone";
    const key = this.keys.get(hold.request.keyId);
    if (!key) return "unknown_key";
    if (this.frozen) return "frozen";
    return key.paused ? "paused" : "good";
  }

  renew(holdIds: readonly string[], leaseMs: number): string[] {
    for (const id of holdIds) {
      const hold = this.live.get(id);
      if (hold) hold.leaseEndsMs = this.elapsedMs + leaseMs;
    }
    return holdIds.filter((id) => !this.live.has(id));
  }

  post({ holdId, amountNano, upstreamNano, beside }: ModelPost, reason: string | null = null): PostOutcome {
    const hold = this.live.get(holdId);
    if (!hold) {
      const state = this.state(holdId);
      if (state !== "posted") return { outcome: state === "voided" || state === "expired" ? state : "missing" };
      return { outcome: "posted", repeat: true, ...this.charge(holdId) };
    }
    const amount = Math.min(amountNano, hold.amount);
    const marked = this.#passesMarks(hold, amount, amountNano - amount);
    const before = this.sum("charge");
    const cents = Number(
      (BigInt(before + amount) + 9_999_999n) / 10_000_000n - (BigInt(before) + 9_999_999n) / 10_000_000n,
    );
    const absorbed = amountNano - amount;
    this.end(holdId, "posted");
    this.clockMs = Math.max(this.clockMs, this.epochMs);
    const atMs = this.clockMs;
    this.postings.push({ id: holdId, kind: "charge", amount, cents, absorbed, hold, reference: null, reason, atMs });
    if (upstreamNano !== undefined)
      this.countCost(hold, amount + (beside?.chargedNano ?? 0), upstreamNano + (beside?.costNano ?? 0));
    const told = marked ? { marked: true as const } : {};
    const left = this.#leftOfRuns(hold.request);
    const posted = { outcome: "posted", repeat: false, ...this.charge(holdId), ...left, ...told } as const;
    return this.#becomesStrict(absorbed, reason) ? { ...posted, strict: true } : posted;
  }

  /** Whether a charge about to be posted takes a scope past half, four fifths or all of a mark, or the balance below one. */
  #passesMarks({ request, atMs }: ModelHold, charged: number, absorbed: number): boolean {
    return request.windows.some(({ scope, counts, period, max }) => {
      if ((counts !== "marks" && period !== "run") || max === null) return false;
      if (scope === "balance") {
        const owned = this.sum("credit") - this.sum("charge");
        return owned >= max && owned - charged < max;
      }
      const [, keyId] = /^key:(.*)$/.exec(scope) ?? [];
      const used =
        keyId === undefined || period === "run" ? this.ofScope(scope, period, atMs) : this.ofKey(keyId, period, atMs);
      const before = used.spentNano + used.absorbedNano;
      return [0.5, 0.8, period === "run" ? 0.95 : 1].some(
        (part) => before < max * part && before + charged + absorbed >= max * part,
      );
    });
  }

  /** Whether this posting makes the bounds strict: three of its day have absorbed more than a cent. */
  #becomesStrict(absorbed: number, reason: string | null): boolean {
    const day = (atMs: number) => Math.floor(atMs / DAY_MS);
    const isLarge = (one: ModelPosting) => one.absorbed > 10_000_000 && one.reason === null && one.kind === "charge";
    const ofDay = this.postings
      .slice(this.#strictFrom)
      .filter((one) => isLarge(one) && day(one.atMs) === day(this.clockMs));
    if (this.strictBounds || absorbed <= 10_000_000 || reason !== null || ofDay.length < 3) return false;
    this.strictBounds = true;
    return true;
  }

  protected charge(holdId: string) {
    const posting = this.postings.find((posting) => posting.id === holdId);
    const balanceNano = (this.sum("credit") - this.sum("charge")) as Nano;
    return {
      chargedNano: posting?.amount as Nano,
      chargedCents: posting?.cents as number,
      absorbedNano: posting?.absorbed as Nano,
      balanceNano,
    };
  }

  private end(holdId: string, state: HoldState): void {
    const hold = this.live.get(holdId);
    if (hold) hold.state = state;
    this.live.delete(holdId);
    this.ended.set(holdId, state);
    if (state !== "posted") this.buriedMs.set(holdId, Math.max(this.clockMs, this.epochMs));
  }

  void(holdId: string, { keyFate: fate = "free", upstreamNano = 0 as Nano }: VoidEnd): VoidOutcome {
    const state = this.state(holdId);
    const hold = this.live.get(holdId);
    if (state === "posted" || state === "expired") return { outcome: state };
    if (state === "voided") return { outcome: "exists" };
    const missing = state === null;
    if (hold) hold.fate = fate;
    if (hold) this.countCost(hold, 0, upstreamNano);
    this.end(holdId, "voided");
    if (missing) this.buriedMs.set(holdId, this.epochMs);
    return { outcome: "voided" };
  }

  sweep(onlyOwner: string | null): string[] {
    const due = [...this.live].filter(([, { request, leaseEndsMs }]) => {
      const orphaned = onlyOwner !== null && request.owner !== onlyOwner && !request.owner.startsWith("job:");
      return orphaned || leaseEndsMs <= this.elapsedMs;
    });
    if (this.#shared) due.sort(([a, one], [b, other]) => one.leaseEndsMs - other.leaseEndsMs || (a < b ? -1 : 1));
    for (const [holdId, hold] of due) {
      if (hold.request.onExpire === "void") this.end(holdId, "expired");
      else this.post({ holdId, amountNano: hold.accrued as Nano }, "its lease ended");
    }
    for (const [holdId, atMs] of this.#shared ? [] : this.buriedMs)
      if (atMs < this.epochMs - 6 * 3_600_000) this.buriedMs.delete(holdId);
    for (const [key, { hold, lapsesMs }] of this.#shared ? [] : this.idempotency) {
      if (hold.state !== "held" && lapsesMs <= this.epochMs) this.idempotency.delete(key);
    }
    return due.map(([holdId]) => holdId);
  }

  topUp(id: string, amount: number, reference: string): TopUpOutcome {
    const exists = this.postings.some((posting) => posting.kind === "topup" && posting.reference === reference);
    if (!exists && this.sum("credit") + amount > 9e15) return { outcome: "too_much" };
    if (!exists) this.credit("topup", id, amount, reference);
    const balanceNano = (this.sum("credit") - this.sum("charge")) as Nano;
    return { outcome: exists ? "exists" : "credited", balanceNano };
  }

  refund(transactionId: string, refundId: string): RefundOutcome {
    const charge = this.postings.find((posting) => posting.kind === "charge" && posting.id === transactionId);
    if (!charge) return { outcome: "unknown_transaction" };
    const before = this.postings.find((p) => p.kind === "refund" && p.reference === transactionId);
    if (before) return { outcome: "exists", refundId: before.id, amountNano: before.amount as Nano };
    this.credit("refund", refundId, charge.amount, transactionId);
    return { outcome: "refunded", refundId, amountNano: charge.amount as Nano };
  }

  private credit(kind: "topup" | "refund", id: string, amount: number, reference: string): void {
    this.clockMs = Math.max(this.clockMs, this.epochMs);
    const atMs = this.clockMs;
    this.postings.push({ id, kind, amount, cents: 0, absorbed: 0, hold: null, reference, reason: null, atMs });
  }

  patch(patch: AccountPatch): void {
    this.frozen = patch.frozen ?? this.frozen;
    this.inferenceCapNano = patch.inferenceCapNano ?? this.inferenceCapNano;
    this.strictBounds = patch.strictBounds ?? this.strictBounds;
    if (patch.strictBounds === false) this.#strictFrom = this.postings.length;
  }

  patchKey(keyId: string, patch: KeyPatch): void {
    const key = this.keys.get(keyId);
    if (key === undefined) return;
    const { ceilingNano, ceilingPeriod } = { ...key, ...patch };
    // A period without a ceiling is dropped, and a ceiling without a period is daily.
    Object.assign(key, patch, { ceilingPeriod: ceilingNano === null ? null : (ceilingPeriod ?? "day") });
  }
}

/** Charges are checked before costs. */
function byCost(one: Window, other: Window): number {
  return Number(one.counts !== "charge") - Number(other.counts !== "charge");
}

/** Without a cost: the sweep's postings, which know none. */
type ModelPost = Pick<PostRequest, "holdId" | "amountNano" | "beside"> & { readonly upstreamNano?: Nano };

/** The used part of a bound. */
export function taken(used: { spentNano: number; heldNano: number; absorbedNano: number }): number {
  return used.spentNano + used.heldNano + used.absorbedNano;
}

function total(amounts: readonly number[]): number {
  return amounts.reduce((sum, amount) => sum + amount, 0);
}

/** By the calendar of JavaScript's Date. */
function periodOf(period: WindowPeriod, atMs: number): { fromMs: number; toMs: number } {
  if (period === "run") return { fromMs: 0, toMs: Number.POSITIVE_INFINITY };
  const date = new Date(atMs);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  if (period === "month") return { fromMs: Date.UTC(year, month, 1), toMs: Date.UTC(year, month + 1, 1) };
  const midnight = Date.UTC(year, month, day);
  if (period === "day") return { fromMs: midnight, toMs: midnight + DAY_MS };
  const monday = midnight - ((date.getUTCDay() + 6) % 7) * DAY_MS;
  return { fromMs: monday, toMs: monday + 7 * DAY_MS };
}
