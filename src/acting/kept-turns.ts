// What actions brought before a model called a function of its caller's: kept until the caller comes back with what that has given.
import type { NeutralTurn } from "../neutral.ts";
import type { Payer } from "../plan.ts";
import type { Records } from "../records/records.ts";
import type { KeptTurns } from "./deps.ts";

const KIND = "acting_turns";
const TTL_MS = 24 * 60 * 60 * 1000;
const SHARE = { bytesMax: 16 * 1024 * 1024, full: "oldest_leave" } as const;
/** Longer ones are not kept: the model then goes on without what its actions brought. */
const BYTES_MAX = 1024 * 1024;
/** Of one conversation, the calls that were made last. */
const CALLS_LOOKED_FOR = 32;

export function createKeptTurns(records: Records): KeptTurns {
  const idOf = ({ id }: Payer, callId: string) => `${id}:${callId}`;
  return {
    async keep(payer, callId, turns) {
      const value = JSON.stringify(turns);
      if (Buffer.byteLength(value) > BYTES_MAX) return;
      const put = {
        kind: KIND,
        id: idOf(payer, callId),
        payer: payer.id,
        value,
        ttlMs: TTL_MS,
        ifVersion: 0,
        share: SHARE,
      };
      // The answer is worth more than what it would be remembered by.
      await records.put(put).catch(() => null);
    },
    async find(payer, callId) {
      const record = await records.get(KIND, idOf(payer, callId)).catch(() => null);
      if (record === null || record.payer !== payer.id) return null;
      return JSON.parse(record.value) as readonly NeutralTurn[];
    },
  };
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
  kept: Pick<KeptTurns, "find">,
): Promise<readonly NeutralTurn[]> {
  const ids = [...new Set(turns.map(callIn).filter((id) => id !== null))].slice(-CALLS_LOOKED_FOR);
  if (ids.length === 0) return turns;
  const found = new Map<string, readonly NeutralTurn[]>();
  for (const [at, one] of (await Promise.all(ids.map((id) => kept.find(payer, id)))).entries()) {
    const id = ids[at];
    if (one !== null && id !== undefined) found.set(id, one);
  }
  if (found.size === 0) return turns;
  return turns.flatMap((turn) => found.get(callIn(turn) ?? "") ?? [turn]);
}
