// Answers kept under their Idempotency-Key: stored just before a call is settled, given again without a charge.
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
/** A refusal is not paid for, so a vendor's long words are not worth being kept. */
const REFUSAL_BYTES_MAX = 8 * 1024;
/** What an account's refusals may have beside its answers, as a part of what those may have. */
const REFUSALS_PART = 16;
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
  "guard_refused",
];
/** A vendor that is under load refuses with it, and will not refuse for ever. */
const CONFLICT = 409;

/** Whether the same request would be refused in the same way, whenever it came. */
export function isDeterministic(error: GatewayError): boolean {
  return DETERMINISTIC.includes(error.code) && error.status !== CONFLICT;
}

/** What is kept of one call, and the room that an account has for all of its kind. */
interface Kept {
  readonly kind: string;
  readonly what: KeptAnswer | KeptRefusal;
  readonly bytesMax: number;
  readonly share: Share;
}

/** Addresses are free, so all payers without an account share one room, of so many times an account's. */
const STRANGERS = "x402";
const STRANGERS_ROOM = 16;

/** In whose name it is kept, and how much there is room for. */
function roomOf(payer: Payer, share: Share): { readonly payer: string; readonly share: Share } {
  if (isAccountPayer(payer)) return { payer: payer.id, share };
  return { payer: STRANGERS, share: { ...share, bytesMax: share.bytesMax * STRANGERS_ROOM } };
}

/** Tells whether it is kept. What goes wrong here is logged. */
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
 * Keeps an answer for replay. It comes before the charge, so that no crash can leave a charge whose answer is lost; until
 * the charge is there it cannot be asked for. What is too long to keep, or had to make room for newer answers of the account, is
 * `replay_unavailable` later: that it was charged is the ledger's to know.
 */
export async function keepAnswer(id: string, what: KeptAnswer, payer: Payer, deps: KernelDeps): Promise<void> {
  const share = { bytesMax: deps.keptBytesMax, full: "oldest_leave" } as const;
  await keep(id, { kind: ANSWER, what, bytesMax: ANSWER_BYTES_MAX, share }, payer, deps);
}

/**
 * Keeps a vendor's refusal of the caller's input for replay; tells whether it did. One that is not kept leaves its key free, so that a
 * repeat is refused by the vendor again: an earlier one that made room would leave a key that nothing is known of.
 */
export function keepRefusal(id: string, error: GatewayError, payer: Payer, deps: KernelDeps): Promise<boolean> {
  const { cause: _, ...options } = error.options;
  const share = { bytesMax: Math.floor(deps.keptBytesMax / REFUSALS_PART), full: "newest_stays_out" } as const;
  const what = { code: error.code, options };
  return keep(id, { kind: REFUSAL, what, bytesMax: REFUSAL_BYTES_MAX, share }, payer, deps);
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
  const [answer, refused, charge] = await Promise.all([
    deps.records.get(ANSWER, id),
    deps.records.get(REFUSAL, id),
    isKept ? funds.balance().then((balance) => launchCharge(id, balance)) : funds.charged(id),
  ]);
  const found = answer ?? refused;
  const value = found === null ? null : (parseRaw(found.value) as KeptAnswer | KeptRefusal);
  if (value !== null && "code" in value) return { kept: true, error: new GatewayError(value.code, value.options) };
  if (value !== null && charge !== null) return { body: value.body, cost: value.cost, charge, legs: value.attempts };
  // A kept hold is open for as long as its work runs: until it is charged for, an answer that is not there is about to be given.
  const error =
    isKept && (await funds.charged(id)) === null
      ? new GatewayError("idempotency_in_progress", { retryAfterSeconds: IN_PROGRESS_SECONDS })
      : new GatewayError("replay_unavailable", { data: { transaction_id: id } });
  return { kept: false, error };
}
