// Answers kept under their Idempotency-Key: stored just before a call is charged, sent again without a charge.
import { GatewayError } from "../errors.ts";
import type { HoldRef } from "../ledger/ledger.ts";
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

/**
 * Keeps an answer for replay. It comes before the charge, so that no crash can leave a charge whose answer is lost; until
 * the charge is there nobody can ask for it. What goes wrong here is logged: a later replay is `replay_unavailable`.
 */
export async function keepAnswer(hold: HoldRef, answer: KeptAnswer, payer: Payer, deps: PipelineDeps): Promise<void> {
  const value = JSON.stringify(answer);
  if (Buffer.byteLength(value) > ANSWER_BYTES_MAX) return;
  try {
    await deps.records.put({ kind: KIND, id: hold.holdId, payer: payer.id, value, ttlMs: KEEP_MS, ifVersion: null });
  } catch (error) {
    deps.onBroken(error, hold.holdId);
  }
}

/** Sends the answer of a call that was charged before; nothing is charged now. */
export async function replay(
  hold: HoldRef,
  { plan, reply, record, deps }: { plan: Plan; reply: Reply; record: RequestRecord; deps: PipelineDeps },
): Promise<GatewayError | null> {
  const [kept, posting] = await Promise.all([
    deps.records.get(KIND, hold.holdId),
    deps.ledger.transaction(hold.accountId, hold.holdId),
  ]);
  if (kept === null || posting === null) {
    return new GatewayError("replay_unavailable", { data: { transaction_id: hold.holdId } });
  }
  const { body, cost, attempts } = JSON.parse(kept.value) as KeptAnswer;
  const { transactionId, amountNano: chargedNano, chargedCents, absorbedNano } = posting;
  const charge = { transactionId, chargedNano, chargedCents, absorbedNano };
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
