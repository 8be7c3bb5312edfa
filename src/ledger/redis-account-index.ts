// Which accounts there are, and which of them may hold something whose lease has ended: indexes outside of the accounts' slots.
import { hash } from "node:crypto";
import type { Clock } from "../clock.ts";
import { accountKey } from "./redis-rows.ts";
import type { LedgerLink, RunTransition, TransitionTime } from "./redis-script.ts";

const SHARDS = 16;
/** The index of leases; the names of what is kept beside it begin with it. */
export const LEASES = "{leases}";
/** For so long one note serves all holds that a process places for an account. Far shorter than the index keeps a note. */
const NOTE_MS = 15_000;
/** An account that was looked at is looked at again after so long: a shorter lease is noted for every hold. */
const LOOK_AGAIN_MS = 30_000;
const NOTES_MAX = 100_000;
const DUE_MAX = 500;
const SCAN_COUNT = "500";

export interface AccountIndex {
  /** To be called before an account is opened. */
  register(accountId: string): Promise<void>;
  all(): AsyncIterable<string>;
  /** To be awaited before a hold is placed or renewed. Null: noted not long ago, at no shorter lease. */
  note(accountId: string, leaseMs: number): Promise<unknown> | null;
  /** Accounts that may have postings which are not in the archive yet. */
  unarchived(): AsyncIterable<string>;
  /** Accounts of which a lease may have ended; each is noted anew once it has been dealt with. */
  overdue(): AsyncIterable<string>;
}

interface Note {
  readonly untilMs: number;
  readonly leaseMs: number;
}

function shardOf(accountId: string): string {
  return `accounts:${hash("sha256", accountId, "buffer").readUInt8(0) % SHARDS}`;
}

export function accountIndex(
  link: LedgerLink,
  run: RunTransition,
  time: () => TransitionTime,
  clock: Clock,
): AccountIndex {
  const notes = new Map<string, Note>();
  return {
    async register(accountId) {
      await link.call("SADD", shardOf(accountId), accountId);
    },
    async *all() {
      for (let shard = 0; shard < SHARDS; shard++) {
        const ids = (await link.call("SMEMBERS", `accounts:${shard}`)) as string[];
        yield* ids.sort();
      }
    },
    note(accountId, leaseMs) {
      const nowMs = clock.elapsedMs();
      const before = notes.get(accountId);
      if (before !== undefined && nowMs < before.untilMs && before.leaseMs <= leaseMs) return null;
      if (notes.size >= NOTES_MAX) notes.clear();
      return run("note", LEASES, [...time().args, accountId, leaseMs]).then(() => {
        if (leaseMs >= LOOK_AGAIN_MS)
          notes.set(accountId, { untilMs: nowMs + Math.min(NOTE_MS, leaseMs / 4), leaseMs });
      });
    },
    async *unarchived() {
      const seen = new Set<string>();
      for (let cursor = ""; cursor !== "0"; ) {
        const reply = await link.call("ZSCAN", `${LEASES}:archive`, cursor || "0", "COUNT", SCAN_COUNT);
        const [next, flat] = reply as [string, string[]];
        cursor = next;
        for (let at = 0; at < flat.length; at += 2) seen.add(flat[at] ?? "");
      }
      yield* seen;
    },
    async *overdue() {
      const found = await run("due", LEASES, [...time().args, DUE_MAX]);
      for (let at = 0; at + 1 < found.length; at += 2) {
        const [accountId = "", score = ""] = [found[at], found[at + 1]];
        yield accountId;
        const [next = ""] = await run("first_end", accountKey(accountId), []);
        await run("looked", LEASES, [...time().args, accountId, score, next]);
      }
    },
  };
}
