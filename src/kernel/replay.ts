// Answers stored under an Idempotency-Key: stored just before a call is settled, and replayed without a charge.
import { type ErrorCode, type ErrorOptions, GatewayError } from "../core/errors.ts";
import { ZERO } from "../core/money.ts";
import { type Charge, type Cost, type Funds, isAccountPayer, type Payer, type Plan } from "../core/plan.ts";
import { jsonText, parseRaw } from "../core/raw-json.ts";
import type { Leg } from "../core/route.ts";
import type { Share } from "../platform/records/records.ts";
import type { KernelDeps } from "./deps.ts";

const ANSWER = "answer";
const REFUSAL = "refusal";
const KEEP_MS = 24 * 3_600_000;
const ANSWER_BYTES_MAX = 1024 * 1024;
/** Refusals are not paid for, so a vendor's long ones are not worth storing. */
const REFUSAL_BYTES_MAX = 8 * 1024;
/** An account's room for refusals, as a fraction of its room for answers. */
const REFUSALS_PART = 16;
const IN_PROGRESS_SECONDS = 5;

/** The parts of an answer; its charge is in the ledger. */
interface KeptAnswer {
  readonly body: Record<string, unknown>;
  readonly cost: Cost;
  readonly attempts: readonly Leg[];
}

/** A refusal that a repeat would get again. */
interface KeptRefusal {
  readonly code: ErrorCode;
  readonly options: ErrorOptions;
}

const DETERMINISTIC: readonly ErrorCode[] = [
  "upstream_rejected",
  "context_length_exceeded",
  "content_policy_violation",
  "guard_refused",
];
/** An overloaded vendor refuses with it, but only for a while. */
const CONFLICT = 409;

/** True if the same request would always get the same refusal. */
export function isDeterministic(error: GatewayError): boolean {
  return DETERMINISTIC.includes(error.code) && error.status !== CONFLICT;
}

/** One stored entry, and the account's share for its kind. */
interface Kept {
  readonly kind: string;
  readonly what: KeptAnswer | KeptRefusal;
  readonly bytesMax: number;
  readonly share: Share;
}

/** Wallet addresses are free to create, so all payers without an account share one room, this many times an account's. */
const STRANGERS = "x402";
const STRANGERS_ROOM = 16;

function roomOf(payer: Payer, share: Share): { readonly payer: string; readonly share: Share } {
  if (isAccountPayer(payer)) return { payer: payer.id, share };
  return { payer: STRANGERS, share: { ...share, bytesMax: share.bytesMax * STRANGERS_ROOM } };
}

/** Returns whether it was stored; logs errors. */
async function keep(id: string, { kind, what, bytesMax, share }: Kept, payer: Payer, deps: KernelDeps) {
  try {
    const value = jsonText(what);
    if (Buffer.byteLength(value) > bytesMax) return false;
    const record = { kind, id, ...roomOf(payer, share), value, ttlMs: KEEP_MS, ifVersion: null };
    return (await deps.records.put(record)) !== null;
  } catch (error) {
    deps.onBroken(error, id);
    return false;
  }
}

/**
 * Stores an answer for replay. It is stored before the charge, so that no crash leaves a charge without its answer; it cannot be requested
 * until the charge exists. An answer that was too long, or gave way to newer answers of the account, is `replay_unavailable` later; the
 * ledger still has the charge.
 */
export async function keepAnswer(id: string, what: KeptAnswer, payer: Payer, deps: KernelDeps): Promise<void> {
  const share = { bytesMax: deps.keptBytesMax, full: "oldest_leave" } as const;
  await keep(id, { kind: ANSWER, what, bytesMax: ANSWER_BYTES_MAX, share }, payer, deps);
}

/** Stores a vendor's refusal of the input, or returns false: the key stays free. It never evicts an older refusal of another key. */
export function keepRefusal(id: string, error: GatewayError, payer: Payer, deps: KernelDeps): Promise<boolean> {
  const { cause: _, ...options } = error.options;
  const share = { bytesMax: Math.floor(deps.keptBytesMax / REFUSALS_PART), full: "newest_stays_out" } as const;
  const what = { code: error.code, options };
  return keep(id, { kind: REFUSAL, what, bytesMax: REFUSAL_BYTES_MAX, share }, payer, deps);
}

/** An earlier answer; this call is not charged. */
export interface Replayed {
  readonly body: Record<string, unknown>;
  readonly cost: Cost;
  readonly charge: Charge;
  readonly legs: readonly Leg[];
}

/** The charge of a launch whose work outlives the request: nothing yet, since it is charged when it ends. */
export function launchCharge(transactionId: string, balanceNano: Charge["balanceNano"]): Charge {
  return { transactionId, chargedNano: ZERO, chargedCents: 0, absorbedNano: ZERO, absorbReason: null, balanceNano };
}

/** The stored answer or refusal of the earlier call with the same key. */
export async function replay(
  id: string,
  plan: Plan,
  { funds, deps }: { readonly funds: Funds; readonly deps: KernelDeps },
): Promise<Replayed | { readonly kept: boolean; readonly error: GatewayError }> {
  const isKept = plan.hold.kind === "kept";
  const [answer, refused, charge] = await Promise.all([
    deps.records.get(ANSWER, id),
    deps.records.get(REFUSAL, id),
    isKept ? funds.balance().then((balance) => launchCharge(id, balance)) : funds.charged(id),
  ]);
  const found = answer ?? refused;
  const value = found === null ? null : (parseRaw(found.value) as KeptAnswer | KeptRefusal);
  if (value !== null && "code" in value) return { kept: true, error: new GatewayError(value.code, value.options) };
  if (value !== null && charge !== null) return { body: value.body, cost: value.cost, charge, legs: value.attempts };
  // A kept hold stays open while its work runs: until the charge exists, a missing answer may still appear.
  const error =
    isKept && (await funds.charged(id)) === null
      ? new GatewayError("idempotency_in_progress", { retryAfterSeconds: IN_PROGRESS_SECONDS })
      : new GatewayError("replay_unavailable", { data: { transaction_id: id } });
  return { kept: false, error };
}
