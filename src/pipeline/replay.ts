// Answers kept under their Idempotency-Key: stored once a call was charged, sent again without a charge.
import { GatewayError } from "../errors.ts";
import type { Caller, Reply } from "../plan.ts";
import type { PipelineDeps } from "./deps.ts";

const KIND = "answer";
const KEEP_MS = 24 * 3_600_000;
const ANSWER_BYTES_MAX = 1024 * 1024;

interface KeptAnswer {
  readonly status: number;
  readonly body: string;
}

/** Keeps an answer for replay, unless it is too large: then a replay is `replay_unavailable`. */
export async function keepAnswer(holdId: string, body: string, caller: Caller, deps: PipelineDeps): Promise<void> {
  if (Buffer.byteLength(body) > ANSWER_BYTES_MAX) return;
  const value = JSON.stringify({ status: 200, body } satisfies KeptAnswer);
  await deps.records.put({ kind: KIND, id: holdId, payer: caller.payer.id, value, ttlMs: KEEP_MS, ifVersion: null });
}

/** Sends the answer that was kept for a finished call; nothing is charged. */
export async function replay(holdId: string, reply: Reply, deps: PipelineDeps): Promise<GatewayError | null> {
  const kept = await deps.records.get(KIND, holdId);
  if (kept === null) return new GatewayError("replay_unavailable", { data: { transaction_id: holdId } });
  const { status, body } = JSON.parse(kept.value) as KeptAnswer;
  reply.header("content-type", "application/json");
  reply.header("idempotent-replayed", "true");
  reply.send(status, body);
  return null;
}
