// Moves postings from Redis to the archive in order: reads them, stores them durably, and only then removes them from Redis.
import { randomUUID } from "node:crypto";
import type { Clock } from "../../../core/clock.ts";
import { type Due, dueOf } from "../redis/account-index.ts";
import { postingRow } from "../redis/calls.ts";
import { accountKey } from "../redis/rows.ts";
import {
  type LedgerLink,
  ledgerScripts,
  type RunTransition,
  type TransitionTime,
  transitionClock,
} from "../redis/script.ts";
import { type Every, everyInterval, steady } from "../sweep.ts";
import type { Archive, NumberedPosting } from "./archive.ts";

/** Postings per step: one commit of the archive, and a few milliseconds of Redis. */
const BATCH = 200;
const AGE_MS = 60_000;
const KEPT_MAX = 10_000;
/** Younger postings stay: a failover could still lose them, and the archive must not have what Redis lost. */
const AGE_MS_MIN = 5_000;
const ROUND_MS = 1_000;
/** Delay before an archive that is down is tried again. */
const REST_MS = 5_000;
/** Accounts of one index per round. */
const ACCOUNTS_MAX = 50;
const ACCOUNTS_AT_ONCE = 4;
/** An account that moved this many postings at once is busy, and has more. */
const HOT_COUNT = 500;
const HOT_LOOK_MS = 1_000;
const BUSY_LOOK_MS = 30_000;
const ALONE_LOOK_MS = 5_000;
const NOT_COPIED = "no replica of Redis has the latest postings";
/** The exporter's lease: after a crash, another process takes over this much later. */
const EXPORTER_MS = 15_000;
/** The key that names the exporting process; it expires. */
export const EXPORTER = "exporter";
/** The key that names the Redis's archive; `FILLING` while a command still fills the Redis. */
export const ARCHIVE_ID = "archive:id";
const FILLING = "being filled";

export interface ExportOptions {
  readonly link: LedgerLink;
  readonly archive: Archive;
  readonly clock: Clock;
  /** The clock replaces the server's own; for tests. */
  readonly clockIsServers?: boolean;
  /** Called where the archive is down or rejects an account's postings; the export retries later. */
  readonly onBroken: (error: unknown) => void;
  /** Postings older than this move; default one minute. */
  readonly ageMs?: number;
  /** The most postings kept per account, whatever their age. */
  readonly keptMax?: number;
  readonly every?: Every;
}

/** Binds a Redis to the first archive that it meets. Throws a sentence for the operator where it belongs to another. */
export async function claimArchive(link: LedgerLink, { id }: Archive): Promise<void> {
  await link.call("SET", ARCHIVE_ID, id, "NX");
  const known = await link.call("GET", ARCHIVE_ID);
  if (known === id) return;
  if (known === FILLING) throw new Error(UNFILLED);
  throw new Error(
    `this Redis keeps its postings in the archive ${String(known)}, and this one is ${id}: ` +
      "set the ARCHIVE_URL or DATA_DIR that has it; processes on several machines need ARCHIVE_URL",
  );
}

const UNFILLED =
  "restore or migrate has not filled this Redis to the end: while that is at work wait for it; where it was cut off, " +
  "empty the Redis (redis-cli FLUSHALL, in a cluster on every primary) and repeat it";

/** Marks an empty Redis as being filled: until `endFilling` no process opens it. */
export async function beginFilling(link: LedgerLink): Promise<void> {
  const taken = await link.call("SET", ARCHIVE_ID, FILLING, "NX");
  if (taken === null) throw new Error("this Redis is not empty any more");
}

/** Ends filling and binds the Redis to its archive. */
export async function endFilling(link: LedgerLink, { id }: Archive): Promise<void> {
  await link.call("SET", ARCHIVE_ID, id);
}

/** Whether a gateway was ever started on this Redis, or a command filled or is filling it. */
export async function isLedger(link: LedgerLink): Promise<boolean> {
  return (await link.call("GET", ARCHIVE_ID)) !== null;
}

interface Moved {
  readonly count: number;
  /** The remaining postings are on no replica, so a failover could lose them; they stay. */
  readonly isAlone: boolean;
  /** When to check again, in the server's ms; null: not before the next hold. */
  readonly nextMs: number | null;
}

interface Which {
  readonly ageMs: number;
  readonly keptMax: number;
  readonly ageMsMin: number;
  /** Asked between batches. */
  readonly goesOn: () => boolean;
}

/**
 * One step. It can be interrupted anywhere: a repeat finds what the archive already has, and changes nothing. Postings move only once a
 * replica has them: if Redis lost some that the archive has, new postings would reuse their numbers.
 */
function postingMover(link: LedgerLink, run: RunTransition, append: Archive["append"]) {
  return async (accountId: string, { ageMs, keptMax, ageMsMin, goesOn }: Which): Promise<Moved> => {
    const key = accountKey(accountId);
    for (let count = 0; ; ) {
      const asked = { count: BATCH, age_ms: ageMs, kept: keptMax, least_age_ms: ageMsMin };
      const reply = await run("archivable", key, asked);
      const [now = "0", archived = "0", busy, left = "", ...pairs] = reply;
      if (pairs.length === 0) {
        const looks = [
          ...(left === "" ? [] : [Number(left) + ageMs]),
          ...(count >= HOT_COUNT ? [Number(now) + HOT_LOOK_MS] : []),
          ...(busy === "1" ? [Number(now) + BUSY_LOOK_MS] : []),
        ];
        return { count, isAlone: false, nextMs: looks.length === 0 ? null : Math.min(...looks) };
      }
      if (!(await link.waitForReplicas(key))) return { count, isAlone: true, nextMs: Number(now) + ALONE_LOOK_MS };
      const postings = readPairs(accountId, Number(archived), pairs);
      const conflict = await append(postings);
      if (conflict !== null) throw new Error(conflict);
      const [outcome] = await run("trim", key, { from: archived, to: Number(archived) + postings.length });
      if (outcome === "changed") throw new Error(`the postings of ${accountId} were moved by somebody else`);
      count += postings.length;
      if (!goesOn()) return { count, isAlone: false, nextMs: Number(now) };
    }
  };
}

function readPairs(accountId: string, archived: number, pairs: readonly string[]) {
  return Array.from({ length: pairs.length / 2 }, (_, at) => {
    const posting = postingRow(accountId, pairs[2 * at] ?? "", pairs[2 * at + 1] ?? null);
    if (posting?.number !== archived + at + 1)
      throw new Error(`posting ${archived + at + 1} of ${accountId} is missing`);
    return posting;
  });
}

/** The export, from its creation until it is stopped; one of all processes does the work. */
export class PostingExport {
  readonly #options: ExportOptions & { readonly ageMs: number };
  readonly #self = randomUUID();
  readonly #time: () => TransitionTime;
  readonly #run: RunTransition;
  readonly #move: ReturnType<typeof postingMover>;
  readonly #rounds: ReturnType<typeof steady>;
  readonly #stopTimer: () => void;
  #behindMs: number | null = null;
  #stopped = false;
  #restUntilMs = Number.NEGATIVE_INFINITY;
  #someAlone = false;
  /** When a step failed, if none has succeeded since. */
  #stuckSinceMs: number | null = null;

  constructor(options: ExportOptions) {
    const { link, clock, onBroken, every = everyInterval } = options;
    this.#options = { ageMs: AGE_MS, ...options };
    this.#time = transitionClock(clock, options.clockIsServers ?? false);
    this.#run = ledgerScripts(link, this.#time);
    this.#move = postingMover(link, this.#run, (postings) => this.#append(postings));
    this.#rounds = steady(() => this.#round(), onBroken);
    this.#stopTimer = every(ROUND_MS, this.#rounds.run);
  }

  /** Moves everything now, whatever its age; returns the number of postings. Rejects where it cannot. */
  async flush(accountIds: AsyncIterable<string>): Promise<number> {
    let count = 0;
    const all = { ageMs: 0, keptMax: 0, ageMsMin: 0, goesOn: () => true };
    for await (const accountId of accountIds) {
      const moved = await this.#move(accountId, all);
      if (moved.isAlone)
        throw new Error(`${NOT_COPIED}: repeat this when one follows, or take it away from the primary`);
      count += moved.count;
    }
    return count;
  }

  /** How far behind the export is, by the longest-due account and the time since anything moved. Null where another exports. */
  behindMs(): number | null {
    if (this.#behindMs === null) return null;
    return Math.max(
      this.#behindMs,
      this.#stuckSinceMs === null ? 0 : this.#options.clock.elapsedMs() - this.#stuckSinceMs,
    );
  }

  /** Finishes the current step and lets another process take over. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stopTimer();
    await this.#rounds.idle();
    await this.#beExporter(0).catch(this.#options.onBroken);
  }

  #beExporter(ms: number): Promise<readonly string[]> {
    return this.#run("exporter", EXPORTER, { who: this.#self, ms });
  }

  #goesOn(): boolean {
    return !this.#stopped && this.#options.clock.elapsedMs() >= this.#restUntilMs;
  }

  /** While the archive is down, no account fares better than another. */
  async #append(postings: readonly NumberedPosting[]): Promise<string | null> {
    return this.#options.archive.append(postings).catch((error: unknown) => {
      this.#restUntilMs = this.#options.clock.elapsedMs() + REST_MS;
      throw error;
    });
  }

  async #round(): Promise<void> {
    const [outcome] = await this.#beExporter(EXPORTER_MS);
    if (outcome !== "own") {
      this.#behindMs = null;
      this.#stuckSinceMs = null;
      return;
    }
    if (!this.#goesOn()) return;
    const { due, errors } = await dueOf((leases) => this.#run("archive_due", leases, { count: ACCOUNTS_MAX }));
    this.#behindMs = Math.max(0, ...due.map(({ score }) => this.#time().nowMs - Number(score)));
    const next = due.values();
    const worker = async () => {
      for (const one of next) {
        if (!this.#goesOn()) return;
        await this.#beExporter(EXPORTER_MS);
        await this.#moveNoted(one);
      }
    };
    await Promise.all(Array.from({ length: ACCOUNTS_AT_ONCE }, worker));
    if (errors.length > 0) throw errors[0];
  }

  async #moveNoted({ leases, accountId, score }: Due): Promise<void> {
    let next: number | string;
    const { ageMs, keptMax = KEPT_MAX } = this.#options;
    const which = { ageMs, keptMax, ageMsMin: Math.min(AGE_MS_MIN, ageMs), goesOn: () => this.#goesOn() };
    try {
      const moved = await this.#move(accountId, which);
      if (moved.isAlone || moved.count > 0) this.#tellAlone(moved.isAlone);
      if (moved.isAlone) this.#stuckSinceMs ??= this.#options.clock.elapsedMs();
      else if (moved.count > 0) this.#stuckSinceMs = null;
      next = moved.nextMs ?? "";
    } catch (error) {
      this.#stuckSinceMs ??= this.#options.clock.elapsedMs();
      this.#options.onBroken(error);
      next = this.#time().nowMs + BUSY_LOOK_MS;
    }
    await this.#run("archive_looked", leases, { account: accountId, score, next_look: next });
  }

  /** Reports once that postings wait, until some have moved. */
  #tellAlone(isAlone: boolean): void {
    if (isAlone && !this.#someAlone)
      this.#options.onBroken(new Error(`${NOT_COPIED}: they stay in Redis until one has them`));
    this.#someAlone = isAlone;
  }
}
