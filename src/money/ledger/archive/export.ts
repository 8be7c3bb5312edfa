// Moves postings from Redis to the archive, in order: read, kept there for good, and only then taken out of Redis.
import { randomUUID } from "node:crypto";
import type { Clock } from "../../../core/clock.ts";
import { type Due, dueOf } from "../redis/account-index.ts";
import { argumentsOf } from "../redis/arguments.ts";
import { postingRow } from "../redis/calls.ts";
import { accountKey } from "../redis/rows.ts";
import { type LedgerLink, ledgerScripts, transitionClock } from "../redis/script.ts";
import { type Every, everyInterval, steady } from "../sweep.ts";
import type { Archive, NumberedPosting } from "./archive.ts";

/** Postings in one step: a commit of the archive, and some milliseconds of Redis. */
const BATCH = 200;
const AGE_MS = 60_000;
const KEPT_MAX = 10_000;
/** What a failover could take back must not be in the archive yet. */
const AGE_MS_MIN = 5_000;
const ROUND_MS = 1_000;
/** An archive that is away is asked again after so long. */
const REST_MS = 5_000;
/** Accounts of one index in a round. */
const ACCOUNTS_MAX = 50;
const ACCOUNTS_AT_ONCE = 4;
/** Of an account that has moved as many in one look, so many more are on their way. */
const HOT_COUNT = 500;
const HOT_LOOK_MS = 1_000;
const BUSY_LOOK_MS = 30_000;
const ALONE_LOOK_MS = 5_000;
const NOT_COPIED = "no replica of Redis has the latest postings";
/** A process that dies while it moves postings keeps the others from it for so long. */
const EXPORTER_MS = 15_000;
/** Which process moves postings; it lapses by itself. */
export const EXPORTER = "exporter";
/** Which archive a Redis gives its postings to; in a Redis that a command still fills, `FILLING`. */
export const ARCHIVE_ID = "archive:id";
const FILLING = "being filled";

export interface ExportOptions {
  readonly link: LedgerLink;
  readonly archive: Archive;
  readonly clock: Clock;
  /** The clock stands in for the server's own: for tests. */
  readonly clockIsServers?: boolean;
  /** The archive is away, or an account's postings do not fit it; it is tried again later. */
  readonly onBroken: (error: unknown) => void;
  /** Postings older than this leave; one minute unless told otherwise. */
  readonly ageMs?: number;
  /** The most that is kept of an account, whatever its age. */
  readonly keptMax?: number;
  readonly every?: Every;
}

export interface PostingExport {
  /** Moves everything now, whatever its age; answers how many postings. Rejects where that is not possible. */
  flush(accountIds: AsyncIterable<string>): Promise<number>;
  /**
   * How late postings are: as late as the account that is due for longest, and no less than nothing has moved though something is due.
   * Null where another process moves them.
   */
  behindMs(): number | null;
  /** Finishes the step under way and lets another process go on. */
  stop(): Promise<void>;
}

/**
 * Binds a Redis to its archive: the first that it meets. Throws a sentence for the operator where it has given postings to
 * another one.
 */
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

/** Marks an empty Redis as one that is being filled: until `endFilling` no process opens it. */
export async function beginFilling(link: LedgerLink): Promise<void> {
  const taken = await link.call("SET", ARCHIVE_ID, FILLING, "NX");
  if (taken === null) throw new Error("this Redis is not empty any more");
}

/** Everything is there: the Redis belongs to its archive from now on. */
export async function endFilling(link: LedgerLink, { id }: Archive): Promise<void> {
  await link.call("SET", ARCHIVE_ID, id);
}

/** Whether a gateway was ever started on this Redis, or a command has filled it or fills it. */
export async function isLedger(link: LedgerLink): Promise<boolean> {
  return (await link.call("GET", ARCHIVE_ID)) !== null;
}

interface Moved {
  readonly count: number;
  /** What is left could be taken back by a failover, and stays: no replica has it. */
  readonly isAlone: boolean;
  /** When to look again, in the server's ms; null: not before a hold is placed. */
  readonly nextMs: number | null;
}

interface Which {
  readonly ageMs: number;
  readonly keptMax: number;
  readonly ageMsMin: number;
  /** Asked between two batches. */
  readonly goesOn: () => boolean;
}

/**
 * The step itself. It may end anywhere: repeated, it finds what is in the archive already, and changes nothing. What the archive has
 * and Redis has forgotten could not be told to Redis again, whose postings would take its numbers: so a replica has it first.
 */
function postingMover(link: LedgerLink, time: () => { readonly args: readonly string[] }, append: Archive["append"]) {
  const run = ledgerScripts(link);
  return async (accountId: string, { ageMs, keptMax, ageMsMin, goesOn }: Which): Promise<Moved> => {
    const key = accountKey(accountId);
    for (let count = 0; ; ) {
      const asked = { count: BATCH, age_ms: ageMs, kept: keptMax, least_age_ms: ageMsMin };
      const reply = await run("archivable", key, [...time().args, ...argumentsOf("archivable", asked)]);
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
      const told = argumentsOf("trim", { from: archived, to: Number(archived) + postings.length });
      const [outcome] = await run("trim", key, [...time().args, ...told]);
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

/** Starts to move postings; of all processes that do, one is at work. */
export function exportPostings(options: ExportOptions): PostingExport {
  const { link, archive, clock, onBroken, ageMs = AGE_MS, keptMax = KEPT_MAX, every = everyInterval } = options;
  const run = ledgerScripts(link);
  const time = transitionClock(clock, options.clockIsServers ?? false);
  const move = postingMover(link, time, append);
  const self = randomUUID();
  let behind: number | null = null;
  let stopped = false;
  let restUntilMs = Number.NEGATIVE_INFINITY;
  let someAlone = false;
  /** When a step failed that none has succeeded since. */
  let stuckSinceMs: number | null = null;

  /** While the archive is away no account does better than another. */
  async function append(postings: readonly NumberedPosting[]): Promise<string | null> {
    return archive.append(postings).catch((error: unknown) => {
      restUntilMs = clock.elapsedMs() + REST_MS;
      throw error;
    });
  }

  const beExporter = (ms: number) => run("exporter", EXPORTER, argumentsOf("exporter", { who: self, ms }));
  const goesOn = () => !stopped && clock.elapsedMs() >= restUntilMs;

  /** Says once that postings wait, until some have moved. */
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
    const told = argumentsOf("archive_looked", { account: accountId, score, next_look: next });
    await run("archive_looked", leases, [...time().args, ...told]);
  }

  async function round(): Promise<void> {
    const [outcome] = await beExporter(EXPORTER_MS);
    if (outcome !== "own") {
      behind = null;
      stuckSinceMs = null;
      return;
    }
    if (!goesOn()) return;
    const asked = argumentsOf("archive_due", { count: ACCOUNTS_MAX });
    const { due, errors } = await dueOf((leases) => run("archive_due", leases, [...time().args, ...asked]));
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
