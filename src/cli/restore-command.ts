// Backups of all stored data, written and restored while no gateway runs: a data folder's file, or all of Redis with its archive.
import { existsSync, mkdirSync, rmSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { systemClock as clock } from "../core/clock.ts";
import type { Stores } from "../gateway/stores.ts";
import type { DoctorReport } from "../money/ledger/model/ledger.ts";
import type { Config } from "../platform/config.ts";
import { type Command, CommandError, fail } from "./command.ts";
import { requireEmpty, requireNoGateway } from "./migrate-command.ts";

/** Beside the Redis dump, where the archive is a file. */
const archiveCopy = (path: string) => `${path}.archive.db`;

/** Writes all of Redis to `path`, and the archive beside it where that is a file. */
export async function dumpBooks(config: Config, path: string): Promise<void> {
  const { withBooks } = await import("./redis-books.ts");
  const { archiveAll } = await import("../money/ledger/redis/books.ts");
  const { ARCHIVE_ID, EXPORTER } = await import("../money/ledger/archive/export.ts");
  const { dumpRedis } = await import("../platform/storage/redis-dump.ts");
  await withBooks({ config, use: "alone" }, async (books) => {
    // The archive then has all postings: with it the dump is complete, and any later archive continues from there.
    await archiveAll(books);
    const besides = books.backupArchive === null ? null : archiveCopy(path);
    if (existsSync(path)) throw new CommandError(`${path} is there already. Nothing was written.`);
    // The dump is written last: if it exists, so does the archive's copy.
    if (besides !== null) await books.backupArchive?.(besides);
    const head = { nowMs: clock.epochMs(), note: books.archive.id, without: [EXPORTER, ARCHIVE_ID] };
    await dumpRedis(books.link, path, head).catch((error: unknown) => {
      if (besides !== null) rmSync(besides, { force: true });
      throw error;
    });
  });
}

interface Restored {
  readonly report: DoctorReport;
  /** The number of archived postings that the copy did not have. */
  readonly replayed: number;
}

/** Throws where the copy's postings are not in the configured archive; if that is missing, restores it from beside the copy first. */
async function requireArchive(path: string, note: string, config: Config): Promise<void> {
  const { archiveFile, isFile } = await import("./redis-books.ts");
  const { openArchive } = await import("../money/ledger/archive/open-archive.ts");
  const file = archiveFile(config);
  if (isFile(config) && !existsSync(file)) {
    const copy = archiveCopy(path);
    if (!existsSync(copy))
      throw new CommandError(`There is no archive: neither ${file} nor, beside the copy, ${copy}.`);
    await takeBackFile(copy, file, "archive");
  }
  const { archive } = await openArchive(config.archiveUrl, { file, clock, onFatal: fail });
  await archive.close();
  if (archive.id === note) return;
  throw new CommandError(
    `The copy belongs to the archive ${note}, and this one is ${archive.id}: set the ARCHIVE_URL or DATA_DIR that has it. Nothing was written.`,
  );
}

async function restoreRedisBooks(path: string, url: string, config: Config): Promise<Restored> {
  const { openServer, useBooks } = await import("./redis-books.ts");
  const { ARCHIVE_ID, EXPORTER } = await import("../money/ledger/archive/export.ts");
  const { redisBookSource, replayArchive } = await import("../money/ledger/redis/books.ts");
  const { checkDump, restoreRedis } = await import("../platform/storage/redis-dump.ts");
  const { note } = await checkDump(path);
  const link = await openServer(url, config);
  try {
    await requireEmpty(link);
    await requireArchive(path, note, config);
    return await useBooks({ link, config, use: "filling" }, async (books) => {
      await restoreRedis(link, path, { nowMs: clock.epochMs(), without: [EXPORTER, ARCHIVE_ID] });
      const replayed = await replayArchive(books);
      await books.filled();
      return { report: await redisBookSource(books).doctor(), replayed };
    });
  } finally {
    await link.close();
  }
}

/** Puts a copy of an SQLite file in place; creates its folder if missing. */
async function takeBackFile(copy: string, file: string, unit: "ledger" | "archive"): Promise<void> {
  const { takeBack } = await import("../platform/storage/backup.ts");
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  await takeBack(copy, file, unit);
}

/** Runs `work` on the configured stores, which no gateway has open. */
export async function withStores<T>(config: Config, work: (stores: Stores) => Promise<T>): Promise<T> {
  // Imported lazily: the other commands start faster without the whole gateway.
  const { openStores } = await import("../gateway/stores.ts");
  const stores = await openStores(config, { onFatal: fail });
  return work(stores).finally(() => stores.close());
}

async function restoreFile(path: string, config: Config): Promise<Restored> {
  const { storeFile } = await import("../gateway/file-stores.ts");
  if (existsSync(storeFile(config))) {
    throw new CommandError(`${storeFile(config)} is there already: choose an empty DATA_DIR. Nothing was written.`);
  }
  await takeBackFile(path, storeFile(config), "ledger");
  // The file itself has just been checked.
  return withStores(config, async ({ ledger }) => ({ report: await ledger.doctor(), replayed: 0 }));
}

export const restore: Command = {
  name: "restore",
  takes: ["PATH"],
  summary:
    "Puts a copy that backup wrote into an empty DATA_DIR, or an empty Redis where REDIS_URL names one, and verifies it",
  async run(typed, place) {
    const { config } = place;
    const path = resolve(typed.word("PATH"));
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) throw new CommandError(`There is no file ${path}.`);
    await requireNoGateway(place);
    const { report, replayed } =
      config.redisUrl === null
        ? await restoreFile(path, config)
        : await restoreRedisBooks(path, config.redisUrl, config);
    const { accounts, postings, findings } = report;
    const more =
      replayed === 0 ? "" : ` ${replayed} postings that were made after the copy were taken from the archive.`;
    const health = findings.length === 0 ? "all in order" : `${findings.length} findings, see tollgate doctor`;
    const text = `Restored ${accounts} accounts with ${postings} postings: ${health}.${more}`;
    return { json: { accounts, postings, replayed, findings }, text, good: findings.length === 0 };
  },
};
