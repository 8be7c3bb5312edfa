// What actions brought before a model called a function of its caller's: kept until the caller comes back with what that has given.
import { createHash } from "node:crypto";
import type { NeutralTurn } from "../../core/neutral.ts";
import type { Payer } from "../../core/plan.ts";
import type { Records } from "../../platform/records/records.ts";
import type { KeptTurns } from "./deps.ts";

const KIND = "acting_turns";
const TTL_MS = 24 * 60 * 60 * 1000;
const SHARE = { bytesMax: 16 * 1024 * 1024, full: "oldest_leave" } as const;
/** Longer ones are not kept: the model then goes on without what its actions brought. */
const BYTES_MAX = 1024 * 1024;
/** Of one conversation, the calls that were made last. */
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
      // The answer is worth more than what it would be remembered by.
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
 * Names calls by what was said before them: vendors number them anew in each conversation. What clients move or leave out when they come
 * back is no part of that: what is told to the model as its system, marks of caches, and thoughts.
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

/** What is kept under for a call that the model has made after these turns, as its caller has sent them. */
export function keptKey(before: readonly NeutralTurn[], callId: string): string {
  const said = new Conversation();
  for (const turn of before) said.add(turn);
  return said.key(callId);
}

/** The first call of a turn of the model's; null: it has called nothing. */
function callIn({ role, blocks }: NeutralTurn): string | null {
  if (role !== "assistant") return null;
  const call = blocks.find((block) => block.kind === "tool-call");
  return call?.kind === "tool-call" ? call.id : null;
}

/** The conversation with what was kept in place of what its caller has seen of it. */
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
