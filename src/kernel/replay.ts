// Answers kept under their Idempotency-Key: stored just before a call is settled, given again without a charge.
import { type ErrorCode, type ErrorOptions, GatewayError } from "../errors.ts";
import { ZERO } from "../money.ts";
import type { Charge, Cost, Funds, Payer, Plan } from "../plan.ts";
import type { Leg } from "../route.ts";
import type { KernelDeps } from "./deps.ts";

const KIND = "answer";
const KEEP_MS = 24 * 3_600_000;
const ANSWER_BYTES_MAX = 1024 * 1024;
const IN_PROGRESS_SECONDS = 5;

/** What the answer is made of, with the charge that the ledger remembers. */
interface KeptAnswer {
  readonly body: Record<string, unknown>;
  readonly cost: Cost;
  readonly attempts: readonly Leg[];
}

/** A refusal that would be the same again. */
interface KeptRefusal {
  readonly code: ErrorCode;
  readonly options: ErrorOptions;
}

const DETERMINISTIC: readonly ErrorCode[] = [
  "upstream_rejected",
  "context_length_exceeded",
  "content_policy_violation",
];
/** A vendor that is under load refuses with it, and will not refuse for ever. */
const CONFLICT = 409;

/** Whether the same request would be refused in the same way, whenever it came. */
export function isDeterministic(error: GatewayError): boolean {
  return DETERMINISTIC.includes(error.code) && error.status !== CONFLICT;
}

/** Tells whether it is kept. What goes wrong here is logged. */
async function keep(id: string, what: KeptAnswer | KeptRefusal, payer: Payer, deps: KernelDeps): Promise<boolean> {
  try {
    const value = JSON.stringify(what);
    if (Buffer.byteLength(value) > ANSWER_BYTES_MAX) return false;
    await deps.records.put({ kind: KIND, id, payer: payer.id, value, ttlMs: KEEP_MS, ifVersion: null });
    return true;
  } catch (error) {
    deps.onBroken(error, id);
    return false;
  }
}

/**
 * Keeps an answer for replay. It comes before the charge, so that no crash can leave a charge whose answer is lost; until
 * the charge is there nobody can ask for it. What is too long to keep is `replay_unavailable` later.
 */
export async function keepAnswer(id: string, answer: KeptAnswer, payer: Payer, deps: KernelDeps): Promise<void> {
  await keep(id, answer, payer, deps);
}

/** Keeps a vendor's refusal of the caller's input for replay; tells whether it did. */
export function keepRefusal(id: string, error: GatewayError, payer: Payer, deps: KernelDeps): Promise<boolean> {
  const { cause: _, ...options } = error.options;
  return keep(id, { code: error.code, options }, payer, deps);
}

/** An answer given before; nothing is charged now. */
export interface Replayed {
  readonly body: Record<string, unknown>;
  readonly cost: Cost;
  readonly charge: Charge;
  readonly legs: readonly Leg[];
}

/** What the launch of something that outlives its request was charged: it is charged when it ends. */
export function launchCharge(transactionId: string, balanceNano: Charge["balanceNano"]): Charge {
  return {
    transactionId,
    chargedNano: ZERO,
    chargedCents: 0,
    absorbedNano: ZERO,
    absorbReason: null,
    balanceNano,
  };
}

/** The answer, or the refusal that was kept, of the call that ran before under the same key. */
export async function replay(
  id: string,
  plan: Plan,
  { funds, deps }: { readonly funds: Funds; readonly deps: KernelDeps },
): Promise<Replayed | { readonly kept: boolean; readonly error: GatewayError }> {
  const isKept = plan.hold.kind === "kept";
  const [found, charge] = await Promise.all([
    deps.records.get(KIND, id),
    isKept ? funds.balance().then((balance) => launchCharge(id, balance)) : funds.charged(id),
  ]);
  const value = found === null ? null : (JSON.parse(found.value) as KeptAnswer | KeptRefusal);
  if (value !== null && "code" in value) return { kept: true, error: new GatewayError(value.code, value.options) };
  if (value !== null && charge !== null) return { body: value.body, cost: value.cost, charge, legs: value.attempts };
  // A kept hold is open for as long as its work runs, so an answer that is not there yet is one that is about to be given.
  const error = isKept
    ? new GatewayError("idempotency_in_progress", { retryAfterSeconds: IN_PROGRESS_SECONDS })
    : new GatewayError("replay_unavailable", { data: { transaction_id: id } });
  return { kept: false, error };
}
