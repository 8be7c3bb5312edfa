// Indexes outside the accounts' slots: all accounts, and those that may have a hold with an expired lease.
import { hash } from "node:crypto";
import type { Clock } from "../../../core/clock.ts";
import { SLOTS, slotOf } from "../../../platform/storage/redis-slot.ts";
import { accountKey } from "./rows.ts";
import type { LedgerLink, RunTransition } from "./script.ts";

const SHARDS = 16;
const PARTS = 64;
/** A process notes an account's holds at most this often. Far shorter than the index keeps a note. */
const NOTE_MS = 15_000;
/** An account is checked again after this long; a shorter lease is noted for each hold. */
const LOOK_AGAIN_MS = 30_000;
const NOTES_MAX = 100_000;
/** The most accounts of one index per sweep, so that a sweep of all indexes stays short. */
const DUE_MAX = 50;
const SCAN_COUNT = "500";

interface Note {
  readonly untilMs: number;
  readonly leaseMs: number;
}

function shardOf(accountId: string): number {
  return hash("sha256", accountId, "buffer").readUInt8(0) % SHARDS;
}

/** The part of the account list that holds an account; never changes. */
export function accountsWith(accountId: string): string {
  return `accounts:${shardOf(accountId)}`;
}

/**
 * The lease indexes; names of keys beside an index begin with its name. Each covers a 64th of the cluster's slots and lies in that 64th,
 * on the same server as its accounts, so that no account depends on another server.
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

export function leasesWith(accountId: string): string {
  return LEASES[partOf(accountKey(accountId))] ?? "";
}

export interface Due {
  readonly leases: string;
  readonly accountId: string;
  /** The score at which it was found. */
  readonly score: string;
}

/** Reads all indexes: accounts and scores in turn. A server that is down does not delay the others; its error is beside their answers. */
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

/** Scans a key in parts, because reading a list of millions at once would block the server. Sorted sets yield scores too. */
async function* scanned(link: LedgerLink, command: "SSCAN" | "ZSCAN", key: string): AsyncGenerator<string> {
  for (let cursor = ""; cursor !== "0"; ) {
    const reply = await link.call(command, key, cursor || "0", "COUNT", SCAN_COUNT);
    const [next, some] = reply as [string, string[]];
    cursor = next;
    yield* some;
  }
}

/** Distinct ids in order. */
async function idsOf(link: LedgerLink, shard: number): Promise<string[]> {
  const ids = new Set<string>();
  for await (const id of scanned(link, "SSCAN", `accounts:${shard}`)) ids.add(id);
  return [...ids].sort();
}

export class AccountIndex {
  readonly #link: LedgerLink;
  readonly #run: RunTransition;
  readonly #clock: Clock;
  readonly #notes = new Map<string, Note>();
  /** When each index's clock was last found to differ. */
  readonly #apart = new Map<string, number>();

  constructor(link: LedgerLink, run: RunTransition, clock: Clock) {
    this.#link = link;
    this.#run = run;
    this.#clock = clock;
  }

  /** Call before the account is opened. */
  async register(accountId: string): Promise<void> {
    await this.#link.call("SADD", accountsWith(accountId), accountId);
  }

  /** The accounts after this one, in the order of the list's parts and then of ids; null: all. */
  async *all(after: string | null = null): AsyncIterable<string> {
    for (let shard = after === null ? 0 : shardOf(after); shard < SHARDS; shard++) {
      const ids = await idsOf(this.#link, shard);
      yield* after === null || shardOf(after) < shard ? ids : ids.filter((id) => id > after);
    }
  }

  async count(): Promise<number> {
    const shards = Array.from({ length: SHARDS }, (_, shard) => this.#link.call("SCARD", `accounts:${shard}`));
    return (await Promise.all(shards)).reduce<number>((sum, count) => sum + Number(count), 0);
  }

  /** Await before a hold is placed or renewed. Null where the account was noted recently with a lease no shorter. */
  note(accountId: string, leaseMs: number): Promise<void> | null {
    const nowMs = this.#clock.elapsedMs();
    const before = this.#notes.get(accountId);
    if (before !== undefined && nowMs < before.untilMs && before.leaseMs <= leaseMs) return null;
    if (this.#notes.size >= NOTES_MAX) this.#notes.clear();
    return this.#run("note", leasesWith(accountId), { account: accountId, lease_ms: leaseMs }).then(() => {
      if (leaseMs >= LOOK_AGAIN_MS)
        this.#notes.set(accountId, { untilMs: nowMs + Math.min(NOTE_MS, leaseMs / 4), leaseMs });
    });
  }

  /** Accounts that may have postings outside the archive. */
  async *unarchived(): AsyncIterable<string> {
    for (const leases of LEASES) {
      const seen = new Set<string>();
      let at = 0;
      for await (const word of scanned(this.#link, "ZSCAN", `${leases}:archive`)) if (at++ % 2 === 0) seen.add(word);
      yield* seen;
    }
  }

  /**
   * Calls `step` for each account with a lease that may have ended, and notes the account again afterwards; stops when `step` returns
   * false. Skips servers whose clock differed from ours within `restMs`: their lease times are wrong until every owner has renewed.
   */
  async overdue(step: (accountId: string) => Promise<boolean>, restMs: number): Promise<void> {
    const { due, errors } = await dueOf((leases) => this.#dueIn(leases, restMs));
    for (const { leases, accountId, score } of due) {
      try {
        const goesOn = await step(accountId);
        const [next = ""] = await this.#run("first_end", accountKey(accountId), {});
        await this.#run("looked", leases, { account: accountId, score, next_end: next });
        if (!goesOn) break;
      } catch (error) {
        // An account on a server that is down does not delay the others.
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }

  async #dueIn(leases: string, restMs: number): Promise<readonly string[]> {
    const [isApart, ...found] = await this.#run("due", leases, { count: DUE_MAX });
    const nowMs = this.#clock.elapsedMs();
    if (isApart === "1") this.#apart.set(leases, nowMs);
    return nowMs - (this.#apart.get(leases) ?? Number.NEGATIVE_INFINITY) < restMs ? [] : found;
  }
}
