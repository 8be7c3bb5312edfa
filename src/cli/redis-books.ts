// Redis and its archive as a command has them for itself: no gateway may be at work on them.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "../clock.ts";
import type { Config } from "../config.ts";
import { claimArchive, EXPORTER } from "../ledger/archive-export.ts";
import { openArchive } from "../ledger/open-archive.ts";
import type { RedisBooks } from "../ledger/redis-books.ts";
import { ledgerScripts } from "../ledger/redis-script.ts";
import { openRedis, type RedisLink } from "../storage/redis-link.ts";
import { LEASE_MS } from "../stores.ts";
import { CommandError } from "./command.ts";

/** Commands wait for large answers; calls never would. */
const COMMAND_MS_MAX = 60_000;
/** As long as a command may take before it is thought to have died. */
const ALONE_MS = 3_600_000;

export interface OwnBooks extends RedisBooks {
  /** Copies the archive; null where it has a backup of its own. */
  readonly backupArchive: ((path: string) => Promise<void>) | null;
  close(): Promise<void>;
}

/** Where the archive's file is, or would be. */
export function archiveFile({ archiveUrl, dataDir }: Config): string {
  return archiveUrl?.startsWith("file:") ? fileURLToPath(archiveUrl) : join(dataDir, "archive.db");
}

/** Connects to the server at `url`. Throws where it would lose money. */
export async function openServer(url: string, config: Config): Promise<RedisLink> {
  const link = await openRedis(url, { onBroken() {}, commandMsMax: COMMAND_MS_MAX });
  const problems = await link.problems();
  if (problems.length === 0 || config.redisUnsafe) return link;
  await link.close();
  throw new CommandError(`This server would lose money. ${problems.join(" ")} REDIS_UNSAFE=1 goes on all the same.`);
}

/**
 * The books in `link` and the archive of the settings; unless they are `shared`, nobody else may be at work on them until they are
 * closed here.
 */
export async function ownBooks(link: RedisLink, config: Config, shared = false): Promise<OwnBooks> {
  const file = { file: archiveFile(config), clock: systemClock, onFatal: fail };
  const { archive, backup: backupArchive } = await openArchive(config.archiveUrl, file);
  const run = ledgerScripts(link);
  const self = `command ${randomUUID()}`;
  try {
    const [outcome] = shared ? ["own"] : await run("exporter", EXPORTER, [self, ALONE_MS]);
    if (outcome !== "own") {
      throw new CommandError(
        "A gateway or another command is at work on this Redis: stop it and wait 15 seconds. (A command that was killed is thought " +
          "to be at work for an hour; `redis-cli del exporter` ends that.)",
      );
    }
    await claimArchive(link, archive);
  } catch (error) {
    await archive.close();
    throw error;
  }
  return {
    ...{ link, archive, clock: systemClock, leaseMs: LEASE_MS, backupArchive },
    async close() {
      if (!shared) await run("exporter", EXPORTER, [self, 0]);
      await archive.close();
    },
  };
}

function fail(error: Error): never {
  throw error;
}

/** Runs `work` on the Redis of the settings. */
export async function withBooks<T>(
  { config, shared = false }: { readonly config: Config; readonly shared?: boolean },
  work: (books: OwnBooks) => Promise<T>,
): Promise<T> {
  if (config.redisUrl === null) throw new CommandError("REDIS_URL must say which Redis is meant.");
  const link = await openServer(config.redisUrl, config);
  try {
    const books = await ownBooks(link, config, shared);
    return await work(books).finally(() => books.close());
  } finally {
    await link.close();
  }
}
