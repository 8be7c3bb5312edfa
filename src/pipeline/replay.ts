// Answers kept under their Idempotency-Key: stored once a call was charged, sent again without a charge.
import { GatewayError } from "../errors.ts";
import type { HoldRef } from "../ledger/ledger.ts";
import type { RequestRecord } from "../observe/record.ts";
import type { Caller, Reply } from "../plan.ts";
import type { PipelineDeps } from "./deps.ts";

const KIND = "answer";
const KEEP_MS = 24 * 3_600_000;
const ANSWER_BYTES_MAX = 1024 * 1024;
/** How long after its charge an answer may still be on its way into the store. */
const KEEPING_MS_MAX = 10_000;

interface KeptAnswer {
  readonly status: number;
  /** Null: too large to be kept. */
  readonly body: string | null;
}

/**
 * Keeps an answer for replay. The call has been charged and its answer is due: what goes wrong here is logged, and a
 * later replay is told `replay_unavailable`.
 */
export async function keepAnswer(holdId: string, body: string, caller: Caller, deps: PipelineDeps): Promise<void> {
  const kept: KeptAnswer = { status: 200, body: Buffer.byteLength(body) > ANSWER_BYTES_MAX ? null : body };
  const record = { kind: KIND, id: holdId, payer: caller.payer.id, ttlMs: KEEP_MS, ifVersion: null };
  try {
    await deps.records.put({ ...record, value: JSON.stringify(kept) });
  } catch (error) {
    deps.onBroken(error, holdId);
  }
}

/** Why there is nothing to send: the answer is just being kept, or it is not kept at all. */
async function notKept(hold: HoldRef, deps: PipelineDeps): Promise<GatewayError> {
  const posting = await deps.ledger.transaction(hold.accountId, hold.holdId);
  const isFresh = posting !== null && deps.clock.epochMs() - posting.createdAtMs < KEEPING_MS_MAX;
  return isFresh ? new GatewayError("idempotency_in_progress", { retryAfterSeconds: 1 }) : unavailable(hold);
}

function unavailable({ holdId }: HoldRef): GatewayError {
  return new GatewayError("replay_unavailable", { data: { transaction_id: holdId } });
}

/** Sends the answer that was kept for a finished call; nothing is charged. */
export async function replay(
  hold: HoldRef,
  { reply, record, deps }: { readonly reply: Reply; readonly record: RequestRecord; readonly deps: PipelineDeps },
): Promise<GatewayError | null> {
  const kept = await deps.records.get(KIND, hold.holdId);
  if (kept === null) return notKept(hold, deps);
  const { status, body } = JSON.parse(kept.value) as KeptAnswer;
  if (body === null) return unavailable(hold);
  reply.header("content-type", "application/json");
  reply.header("idempotent-replayed", "true");
  record.outcome = "replayed";
  record.status = status;
  record.transactionId = hold.holdId;
  record.bytesOut = Buffer.byteLength(body);
  reply.send(status, body);
  return null;
}
