// Answers kept under their Idempotency-Key: stored just before a call is settled, sent again without a charge.
import { type ErrorCode, type ErrorOptions, GatewayError } from "../errors.ts";
import type { HoldRef } from "../ledger/model/ledger.ts";
import { minus } from "../money.ts";
import type { RequestRecord } from "../observe/record.ts";
import type { AttemptRecord, Cost, Payer, Plan, Reply } from "../plan.ts";
import type { PipelineDeps } from "./deps.ts";

const KIND = "answer";
const KEEP_MS = 24 * 3_600_000;
const ANSWER_BYTES_MAX = 1024 * 1024;
const STATUS = 200;

/** What the frame makes the answer of, with the charge that the ledger remembers. */
interface KeptAnswer {
  readonly body: Record<string, unknown>;
  readonly cost: Cost;
  readonly attempts: readonly AttemptRecord[];
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
async function keep(hold: HoldRef, what: KeptAnswer | KeptRefusal, payer: Payer, deps: PipelineDeps): Promise<boolean> {
  try {
    const value = JSON.stringify(what);
    if (Buffer.byteLength(value) > ANSWER_BYTES_MAX) return false;
    await deps.records.put({ kind: KIND, id: hold.holdId, payer: payer.id, value, ttlMs: KEEP_MS, ifVersion: null });
    return true;
  } catch (error) {
    deps.onBroken(error, hold.holdId);
    return false;
  }
}

/**
 * Keeps an answer for replay. It comes before the charge, so that no crash can leave a charge whose answer is lost; until
 * the charge is there nobody can ask for it. What is too long to keep is `replay_unavailable` later.
 */
export async function keepAnswer(hold: HoldRef, answer: KeptAnswer, payer: Payer, deps: PipelineDeps): Promise<void> {
  await keep(hold, answer, payer, deps);
}

/** Keeps a vendor's refusal of the caller's input for replay; tells whether it did. */
export function keepRefusal(hold: HoldRef, error: GatewayError, payer: Payer, deps: PipelineDeps): Promise<boolean> {
  const { cause: _, ...options } = error.options;
  return keep(hold, { code: error.code, options }, payer, deps);
}

/** Sends the answer of a call that ran before; nothing is charged now. A kept refusal is returned. */
export async function replay(
  hold: HoldRef,
  { plan, reply, record, deps }: { plan: Plan; reply: Reply; record: RequestRecord; deps: PipelineDeps },
): Promise<GatewayError | null> {
  const [kept, posting, account] = await Promise.all([
    deps.records.get(KIND, hold.holdId),
    deps.ledger.transaction(hold.accountId, hold.holdId),
    deps.ledger.account(hold.accountId),
  ]);
  const value = kept === null ? null : (JSON.parse(kept.value) as KeptAnswer | KeptRefusal);
  if (value !== null && "code" in value) {
    reply.header("idempotent-replayed", "true");
    return new GatewayError(value.code, value.options);
  }
  if (value === null || posting === null) {
    return new GatewayError("replay_unavailable", { data: { transaction_id: hold.holdId } });
  }
  const { transactionId, amountNano: chargedNano, chargedCents, absorbedNano } = posting;
  const balanceNano = account === null ? null : minus(account.grantedNano, account.spentNano);
  const charge = { transactionId, chargedNano, chargedCents, absorbedNano, balanceNano };
  const { body, cost, attempts } = value;
  const whole = Buffer.from(plan.frame.last({ kind: "body", body }, cost, charge, attempts));
  reply.header("content-type", "application/json");
  reply.header("idempotent-replayed", "true");
  record.outcome = "replayed";
  record.status = STATUS;
  record.transactionId = transactionId;
  record.bytesOut = whole.length;
  reply.send(STATUS, whole);
  return null;
}
