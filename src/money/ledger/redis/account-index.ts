// Which accounts there are, and which of them may hold something whose lease has ended: indexes outside of the accounts' slots.
import { hash } from "node:crypto";
import type { AccountPage } from "../../../core/account-rows.ts";
import type { Clock } from "../../../core/clock.ts";
import { SLOTS, slotOf } from "../../../platform/storage/redis-slot.ts";
import { argumentsOf } from "./arguments.ts";
import { accountKey } from "./rows.ts";
import type { LedgerLink, RunTransition, TransitionTime } from "./script.ts";

const SHARDS = 16;
const PARTS = 64;
/** For so long one note serves all holds that a process places for an account. Far shorter than the index keeps a note. */
const NOTE_MS = 15_000;
/** An account that was looked at is looked at again after so long: a shorter lease is noted for every hold. */
const LOOK_AGAIN_MS = 30_000;
const NOTES_MAX = 100_000;
/** Accounts of one index in a sweep, so that a sweep of all of them stays short. */
const DUE_MAX = 50;
const SCAN_COUNT = "500";

export interface AccountIndex {
  /** To be called before an account is opened. */
  register(accountId: string): Promise<void>;
  all(): AsyncIterable<string>;
  /** By the part of the list, and by id in it. */
  page(page: AccountPage): Promise<string[]>;
  /** How many have been registered. */
  count(): Promise<number>;
  /** To be awaited before a hold is placed or renewed. Null: noted not long ago, at no shorter lease. */
  note(accountId: string, leaseMs: number): Promise<unknown> | null;
  /** Accounts that may have postings which are not in the archive yet. */
  unarchived(): AsyncIterable<string>;
  /**
   * Deals with the accounts of which a lease may have ended, and notes each anew after that; until `step` answers false. Leaves out
   * those of a server whose clock was not ours within `restMs`: until everybody has renewed them, its leases are of a wrong time.
   */
  overdue(step: (accountId: string) => Promise<boolean>, restMs: number): Promise<void>;
}

interface Note {
  readonly untilMs: number;
  readonly leaseMs: number;
}

function shardOf(accountId: string): number {
  return hash("sha256", accountId, "buffer").readUInt8(0) % SHARDS;
}

/** The part of the list of all accounts that an account stands in; fixed for ever. */
export function accountsWith(accountId: string): string {
  return `accounts:${shardOf(accountId)}`;
}

/**
 * The indexes of leases; the names of what is kept beside one begin with its own. Each is for a 64th of a cluster's slots and lies in
 * that 64th: so it is on the server of its accounts, and no account needs another server to be there.
 */
export const LEASES: readonly string[] = Array.from({ length: PARTS }, (_, part) => {
  for (let at = 0; ; at++) {
    const name = `{leases:${part}.${at}}`;
    if (partOf(name) === part) return name;
  }
});

function partOf(key: string): number {
  return Math.floor(slotOf(key) / (SLOTS / PARTS));
}

/** The index of leases that an account stands in. */
export function leasesWith(accountId: string): string {
  return LEASES[partOf(accountKey(accountId))] ?? "";
}

export interface Due {
  readonly leases: string;
  readonly accountId: string;
  /** What it was found by. */
  readonly score: string;
}

/**
 * What all indexes answer to `read`: accounts and scores by turns. A server that is away keeps no other waiting: errors
 * come with what the others have answered.
 */
export async function dueOf(
  read: (leases: string) => Promise<readonly string[]>,
): Promise<{ readonly due: Due[]; readonly errors: unknown[] }> {
  const answers = await Promise.allSettled(LEASES.map(read));
  const due = answers.flatMap((answer, part) =>
    answer.status === "rejected" ? [] : pairsOf(LEASES[part] ?? "", answer.value),
  );
  return { due, errors: answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason] : [])) };
}

function pairsOf(leases: string, flat: readonly string[]): Due[] {
  return flat.flatMap((accountId, at) => (at % 2 === 0 ? [{ leases, accountId, score: flat[at + 1] ?? "" }] : []));
}

/** What a scan finds, read a part at a time: of a list of millions the server would do nothing else for long. Of a sorted set, scores too. */
async function* scanned(link: LedgerLink, command: "SSCAN" | "ZSCAN", key: string): AsyncGenerator<string> {
  for (let cursor = ""; cursor !== "0"; ) {
    const reply = await link.call(command, key, cursor || "0", "COUNT", SCAN_COUNT);
    const [next, some] = reply as [string, string[]];
    cursor = next;
    yield* some;
  }
}

/** Each once, in their order. */
async function idsOf(link: LedgerLink, shard: number): Promise<string[]> {
  const ids = new Set<string>();
  for await (const id of scanned(link, "SSCAN", `accounts:${shard}`)) ids.add(id);
  return [...ids].sort();
}

export function accountIndex(
  link: LedgerLink,
  run: RunTransition,
  time: () => TransitionTime,
  clock: Clock,
): AccountIndex {
  const notes = new Map<string, Note>();
  /** When the clocks were last seen apart, by index. */
  const apart = new Map<string, number>();

  async function dueIn(leases: string, restMs: number): Promise<readonly string[]> {
    const [isApart, ...found] = await run("due", leases, [...time().args, ...argumentsOf("due", { count: DUE_MAX })]);
    const nowMs = clock.elapsedMs();
    if (isApart === "1") apart.set(leases, nowMs);
    return nowMs - (apart.get(leases) ?? Number.NEGATIVE_INFINITY) < restMs ? [] : found;
  }

  return {
    async register(accountId) {
      await link.call("SADD", accountsWith(accountId), accountId);
    },
    async *all() {
      for (let shard = 0; shard < SHARDS; shard++) yield* await idsOf(link, shard);
    },
    async page({ limit, after }) {
      const found: string[] = [];
      for (let shard = after === null ? 0 : shardOf(after); shard < SHARDS && found.length < limit; shard++) {
        const ids = await idsOf(link, shard);
        const rest = after === null || shardOf(after) < shard ? ids : ids.filter((id) => id > after);
        found.push(...rest.slice(0, limit - found.length));
      }
      return found;
    },
    async count() {
      const shards = Array.from({ length: SHARDS }, (_, shard) => link.call("SCARD", `accounts:${shard}`));
      return (await Promise.all(shards)).reduce<number>((sum, count) => sum + Number(count), 0);
    },
    note(accountId, leaseMs) {
      const nowMs = clock.elapsedMs();
      const before = notes.get(accountId);
      if (before !== undefined && nowMs < before.untilMs && before.leaseMs <= leaseMs) return null;
      if (notes.size >= NOTES_MAX) notes.clear();
      const told = argumentsOf("note", { account: accountId, lease_ms: leaseMs });
      return run("note", leasesWith(accountId), [...time().args, ...told]).then(() => {
        if (leaseMs >= LOOK_AGAIN_MS)
          notes.set(accountId, { untilMs: nowMs + Math.min(NOTE_MS, leaseMs / 4), leaseMs });
      });
    },
    async *unarchived() {
      for (const leases of LEASES) {
        const seen = new Set<string>();
        let at = 0;
        for await (const word of scanned(link, "ZSCAN", `${leases}:archive`)) if (at++ % 2 === 0) seen.add(word);
        yield* seen;
      }
    },
    async overdue(step, restMs) {
      const { due, errors } = await dueOf((leases) => dueIn(leases, restMs));
      for (const { leases, accountId, score } of due) {
        try {
          const goesOn = await step(accountId);
          const [next = ""] = await run("first_end", accountKey(accountId), []);
          const told = argumentsOf("looked", { account: accountId, score, next_end: next });
          await run("looked", leases, [...time().args, ...told]);
          if (!goesOn) break;
        } catch (error) {
          // An account on a server that is away keeps no other waiting.
          errors.push(error);
        }
      }
      if (errors.length > 0) throw errors[0];
    },
  };
}
