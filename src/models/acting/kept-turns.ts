// Stores action results from before a model called a function of the caller's, until the caller returns with that function's output.
import { createHash } from "node:crypto";
import type { NeutralTurn } from "../../core/neutral.ts";
import type { Payer } from "../../core/plan.ts";
import type { Records } from "../../platform/records/records.ts";
import type { KeptTurns } from "./deps.ts";

const KIND = "acting_turns";
const TTL_MS = 24 * 60 * 60 * 1000;
const SHARE = { bytesMax: 16 * 1024 * 1024, full: "oldest_leave" } as const;
/** Longer ones are not stored; the model then continues without those results. */
const BYTES_MAX = 1024 * 1024;
/** How many of the latest calls in a conversation to look up. */
const CALLS_LOOKED_FOR = 32;

export function createKeptTurns(records: Records): KeptTurns {
  const idOf = ({ id }: Payer, key: string) => `${id}:${key}`;
  return {
    async keep(payer, key, turns) {
      const value = JSON.stringify(turns);
      if (Buffer.byteLength(value) > BYTES_MAX) return;
      const put = {
        kind: KIND,
        id: idOf(payer, key),
        payer: payer.id,
        value,
        ttlMs: TTL_MS,
        ifVersion: 0,
        share: SHARE,
      };
      // Losing the stored turns is better than failing the answer.
      await records.put(put).catch(() => null);
    },
    async find(payer, key) {
      const record = await records.get(KIND, idOf(payer, key)).catch(() => null);
      if (record === null || record.payer !== payer.id) return null;
      return JSON.parse(record.value) as readonly NeutralTurn[];
    },
  };
}

/**
 * Identifies calls by the conversation before them, because vendors' call ids repeat across conversations. Leaves out what clients move or
 * drop between requests: system text, cache marks and reasoning.
 */
class Conversation {
  readonly #hash = createHash("sha256");

  add({ role, blocks }: NeutralTurn): void {
    if (role === "system" || role === "developer") return;
    for (const block of blocks) {
      if (block.kind !== "reasoning") this.#hash.update(`${role} ${JSON.stringify({ ...block, cacheMark: false })}\n`);
    }
  }

  key(callId: string): string {
    return this.#hash.copy().update(callId).digest("base64url");
  }
}

/** The storage key for a call that the model made after these turns, as the caller sent them. */
export function keptKey(before: readonly NeutralTurn[], callId: string): string {
  const said = new Conversation();
  for (const turn of before) said.add(turn);
  return said.key(callId);
}

/** The id of a model turn's first call; null: it has none. */
function callIn({ role, blocks }: NeutralTurn): string | null {
  if (role !== "assistant") return null;
  const call = blocks.find((block) => block.kind === "tool-call");
  return call?.kind === "tool-call" ? call.id : null;
}

/** The conversation with stored turns in place of the caller's shorter copies. */
export async function withKept(
  turns: readonly NeutralTurn[],
  payer: Payer,
  keptTurns: Pick<KeptTurns, "find">,
): Promise<readonly NeutralTurn[]> {
  if (turns.every((turn) => callIn(turn) === null)) return turns;
  const said = new Conversation();
  const calls: { readonly turn: NeutralTurn; readonly key: string }[] = [];
  for (const turn of turns) {
    const id = callIn(turn);
    if (id !== null) calls.push({ turn, key: said.key(id) });
    said.add(turn);
  }
  const asked = calls.slice(-CALLS_LOOKED_FOR);
  const kept = await Promise.all(asked.map(({ key }) => keptTurns.find(payer, key)));
  const found = new Map(asked.map(({ turn }, at) => [turn, kept[at] ?? null]));
  return turns.flatMap((turn) => found.get(turn) ?? [turn]);
}
