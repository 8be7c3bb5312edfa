// The conversation of core/consult, kept for an hour per payer.
import { hash, randomBytes } from "node:crypto";
import type { Payer } from "../../core/plan.ts";
import type { Records } from "../../platform/records/records.ts";

const KIND = "consult";
const KEPT_MS = 3_600_000;
/** Older turns are dropped. */
const TURNS_MAX = 10;

export interface Said {
  readonly by: "caller" | "us";
  readonly text: string;
}

export interface Conversation {
  readonly id: string;
  readonly said: readonly Said[];
  keep(said: readonly Said[]): Promise<void>;
}

/** Opens a new conversation where `id` is null. Returns null where this payer has no such conversation, or it has expired. */
export async function openConversation(
  id: string | null,
  payer: Payer,
  records: Records,
): Promise<Conversation | null> {
  const known = id ?? `conv_${randomBytes(15).toString("hex")}`;
  // The record's id includes the payer, so that another payer's conversation is not found.
  const recordId = hash("sha256", JSON.stringify([payer.id, known]));
  const stored = id === null ? null : await records.get(KIND, recordId);
  if (id !== null && stored === null) return null;
  return {
    id: known,
    said: stored === null ? [] : (JSON.parse(stored.value) as readonly Said[]),
    async keep(said) {
      const value = JSON.stringify(said.slice(-TURNS_MAX));
      await records.put({ kind: KIND, id: recordId, payer: null, value, ttlMs: KEPT_MS, ifVersion: null });
    },
  };
}
