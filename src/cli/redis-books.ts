// Exclusive access of a command to Redis and its archive: no gateway may use them meanwhile.
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { someServe } from "../actions/jobs/runners.ts";
import { systemClock } from "../core/clock.ts";
import { LEASE_MS } from "../gateway/stores.ts";
import { beginFilling, claimArchive, EXPORTER, endFilling, isLedger } from "../money/ledger/archive/export.ts";
import { openArchive } from "../money/ledger/archive/open-archive.ts";
import type { RedisBooks } from "../money/ledger/redis/books.ts";
import { ledgerScripts, transitionClock } from "../money/ledger/redis/script.ts";
import { type Every, everyInterval } from "../money/ledger/sweep.ts";
import type { Config } from "../platform/config.ts";
import { redisRecords } from "../platform/records/redis-records.ts";
import { openRedis, type RedisLink } from "../platform/storage/redis-link.ts";
import { CommandError, fail } from "./command.ts";

/** Commands wait for large answers; calls never would. */
const COMMAND_MS_MAX = 60_000;
/** A command that has not renewed its claim for this long counts as dead; it renews it more often. */
const ALONE_MS = 60_000;
const BEAT_MS = 10_000;

/**
 * `alone`: no other process may use them until they are closed here. `filling`: the same, and Redis is empty; unless it ends with
 * `filled`, no process accepts it as a ledger. `shared`: read-only, beside other processes.
 */
type Use = "alone" | "filling" | "shared";

export interface OwnBooks extends RedisBooks {
  /** Copies the archive; null where the archive has its own backup. */
  readonly backupArchive: ((path: string) => Promise<void>) | null;
  /** Marks Redis as completely filled. */
  filled(): Promise<void>;
}

export function isFile({ archiveUrl }: Config): boolean {
  return archiveUrl?.startsWith("file:") ?? true;
}

/** The path of the archive's file, whether or not it exists. */
export function archiveFile({ archiveUrl, dataDir }: Config): string {
  return archiveUrl?.startsWith("file:") ? fileURLToPath(archiveUrl) : join(dataDir, "archive.db");
}

/** Connects to the server at `url`. Throws where its settings could lose money. */
export async function openServer(url: string, config: Config): Promise<RedisLink> {
  const link = await openRedis(url, { onBroken() {}, commandMsMax: COMMAND_MS_MAX });
  const problems = await link.problems();
  if (problems.length === 0 || config.redisUnsafe) return link;
  await link.close();
  throw new CommandError(`This server would lose money. ${problems.join(" ")} REDIS_UNSAFE=1 goes on all the same.`);
}

/** Keeps other processes from moving postings until `end`. `lost` rejects where one has taken over, such as after a sleep. */
async function claimAlone(link: RedisLink, every: Every) {
  const run = ledgerScripts(link, transitionClock(systemClock, false));
  const self = `command ${randomUUID()}`;
  const claim = async (ms: number) => (await run("exporter", EXPORTER, { who: self, ms }))[0] === "own";
  const isFree = (await claim(ALONE_MS)) && !(await someServe(redisRecords(link)));
  if (!isFree) {
    // Another process's claim stays as it is.
    await claim(0);
    throw new CommandError(
      "A gateway or another command is at work on this Redis: stop it and repeat this. One that was killed is out of the way after a minute.",
    );
  }
  const lost = Promise.withResolvers<never>();
  lost.promise.catch(() => {});
  const stop = every(BEAT_MS, () => {
    // Where Redis does not answer, the work fails by itself.
    const isOwn = claim(ALONE_MS).catch(() => true);
    const gone = new CommandError(
      "Another process began to work on this Redis meanwhile: what was done here is not whole.",
    );
    void isOwn.then((own) => own || lost.reject(gone));
  });
  return {
    lost: lost.promise,
    async end() {
      stop();
      await claim(0);
    },
  };
}

/** Runs `work` on the books in `link` and the configured archive. */
export async function useBooks<T>(
  { link, config, use, every = everyInterval }: BookPlace & { readonly link: RedisLink },
  work: (books: OwnBooks) => Promise<T>,
): Promise<T> {
  // Reading must not create a ledger: a Redis that is not empty accepts no copy.
  if (use !== "filling" && !(await isLedger(link))) {
    throw new CommandError("There is no ledger in this Redis; REDIS_URL must name the one that the gateways have.");
  }
  const file = { file: archiveFile(config), clock: systemClock, onFatal: fail };
  if (use !== "filling" && isFile(config) && !existsSync(file.file)) {
    throw new CommandError(
      `There is no archive at ${file.file}; set the DATA_DIR or ARCHIVE_URL that the gateways have.`,
    );
  }
  const { archive, backup: backupArchive } = await openArchive(config.archiveUrl, file);
  try {
    const alone = use === "shared" ? null : await claimAlone(link, every);
    try {
      await (use === "filling" ? beginFilling(link) : claimArchive(link, archive));
      const own = { link, archive, clock: systemClock, leaseMs: LEASE_MS, backupArchive };
      const done = work({ ...own, filled: () => endFilling(link, archive) });
      return await (alone === null ? done : Promise.race([done, alone.lost]));
    } finally {
      await alone?.end();
    }
  } finally {
    await archive.close();
  }
}

interface BookPlace {
  readonly config: Config;
  readonly use: Use;
  readonly every?: Every;
}

export async function withBooks<T>(place: BookPlace, work: (books: OwnBooks) => Promise<T>): Promise<T> {
  const { config } = place;
  if (config.redisUrl === null) throw new CommandError("REDIS_URL must say which Redis is meant.");
  const link = await openServer(config.redisUrl, config);
  try {
    return await useBooks({ ...place, link }, work);
  } finally {
    await link.close();
  }
}
