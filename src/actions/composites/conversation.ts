// The conversation of core/consult: what was said, kept for an hour for the payer who said it.
import { hash, randomBytes } from "node:crypto";
import type { Payer } from "../../core/plan.ts";
import type { Records } from "../../platform/records/records.ts";

const KIND = "consult";
const KEPT_MS = 3_600_000;
/** What was said before that is forgotten. */
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

interface Parts {
  readonly payer: Payer;
  readonly records: Records;
}

/** A new conversation where `id` is null; null where this payer has none of that id, or none any more. */
export async function openConversation(id: string | null, { payer, records }: Parts): Promise<Conversation | null> {
  const known = id ?? `conv_${randomBytes(15).toString("hex")}`;
  // Under the payer's own name: another's id is an unknown one.
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
