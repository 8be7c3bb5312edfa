// Moves postings from Redis to the archive in order: reads them, stores them durably, and only then removes them from Redis.
import { randomUUID } from "node:crypto";
import type { Clock } from "../../../core/clock.ts";
import { type Due, dueOf } from "../redis/account-index.ts";
import { postingRow } from "../redis/calls.ts";
import { accountKey } from "../redis/rows.ts";
import { type LedgerLink, ledgerScripts, type RunTransition, transitionClock } from "../redis/script.ts";
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

export interface PostingExport {
  /** Moves everything now, whatever its age; returns the number of postings. Rejects where it cannot. */
  flush(accountIds: AsyncIterable<string>): Promise<number>;
  /** How far behind the export is, by the longest-due account and the time since anything moved. Null where another exports. */
  behindMs(): number | null;
  /** Finishes the current step and lets another process take over. */
  stop(): Promise<void>;
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

/** Starts the export; one of all processes does the work. */
export function exportPostings(options: ExportOptions): PostingExport {
  const { link, archive, clock, onBroken, ageMs = AGE_MS, keptMax = KEPT_MAX, every = everyInterval } = options;
  const time = transitionClock(clock, options.clockIsServers ?? false);
  const run = ledgerScripts(link, time);
  const move = postingMover(link, run, append);
  const self = randomUUID();
  let behind: number | null = null;
  let stopped = false;
  let restUntilMs = Number.NEGATIVE_INFINITY;
  let someAlone = false;
  /** When a step failed, if none has succeeded since. */
  let stuckSinceMs: number | null = null;

  /** While the archive is down, no account fares better than another. */
  async function append(postings: readonly NumberedPosting[]): Promise<string | null> {
    return archive.append(postings).catch((error: unknown) => {
      restUntilMs = clock.elapsedMs() + REST_MS;
      throw error;
    });
  }

  const beExporter = (ms: number) => run("exporter", EXPORTER, { who: self, ms });
  const goesOn = () => !stopped && clock.elapsedMs() >= restUntilMs;

  /** Reports once that postings wait, until some have moved. */
  function tellAlone(isAlone: boolean): void {
    if (isAlone && !someAlone) onBroken(new Error(`${NOT_COPIED}: they stay in Redis until one has them`));
    someAlone = isAlone;
  }

  async function moveNoted({ leases, accountId, score }: Due): Promise<void> {
    let next: number | string;
    try {
      const moved = await move(accountId, { ageMs, keptMax, ageMsMin: Math.min(AGE_MS_MIN, ageMs), goesOn });
      if (moved.isAlone || moved.count > 0) tellAlone(moved.isAlone);
      if (moved.isAlone) stuckSinceMs ??= clock.elapsedMs();
      else if (moved.count > 0) stuckSinceMs = null;
      next = moved.nextMs ?? "";
    } catch (error) {
      stuckSinceMs ??= clock.elapsedMs();
      onBroken(error);
      next = time().nowMs + BUSY_LOOK_MS;
    }
    await run("archive_looked", leases, { account: accountId, score, next_look: next });
  }

  async function round(): Promise<void> {
    const [outcome] = await beExporter(EXPORTER_MS);
    if (outcome !== "own") {
      behind = null;
      stuckSinceMs = null;
      return;
    }
    if (!goesOn()) return;
    const { due, errors } = await dueOf((leases) => run("archive_due", leases, { count: ACCOUNTS_MAX }));
    behind = Math.max(0, ...due.map(({ score }) => time().nowMs - Number(score)));
    const next = due.values();
    const worker = async () => {
      for (const one of next) {
        if (!goesOn()) return;
        await beExporter(EXPORTER_MS);
        await moveNoted(one);
      }
    };
    await Promise.all(Array.from({ length: ACCOUNTS_AT_ONCE }, worker));
    if (errors.length > 0) throw errors[0];
  }

  const rounds = steady(round, onBroken);
  const stopTimer = every(ROUND_MS, rounds.run);
  return {
    async flush(accountIds) {
      let count = 0;
      const all = { ageMs: 0, keptMax: 0, ageMsMin: 0, goesOn: () => true };
      for await (const accountId of accountIds) {
        const moved = await move(accountId, all);
        if (moved.isAlone)
          throw new Error(`${NOT_COPIED}: repeat this when one follows, or take it away from the primary`);
        count += moved.count;
      }
      return count;
    },
    behindMs: () =>
      behind === null ? null : Math.max(behind, stuckSinceMs === null ? 0 : clock.elapsedMs() - stuckSinceMs),
    async stop() {
      stopped = true;
      stopTimer();
      await rounds.idle();
      await beExporter(0).catch(onBroken);
    },
  };
}
