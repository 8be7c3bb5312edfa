// Moves all stored data from a data folder's file to Redis, or back, while no gateway runs; and verifies that nothing changed.
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { systemClock as clock } from "../core/clock.ts";
import type { BookSource, BookTarget, CarriedBooks } from "../money/ledger/books.ts";
import type { Config } from "../platform/config.ts";
import type { openDatabase } from "../platform/storage/open-database.ts";
import type { RedisLink } from "../platform/storage/redis-link.ts";
import { NoGateway } from "./admin-client.ts";
import { type Command, CommandError, UsageError, type Workplace } from "./command.ts";

type Database = ReturnType<typeof openDatabase>;
type Moved = CarriedBooks & { readonly records: number };

/** Throws where a gateway answers: it would continue to write to the old store. */
export async function requireNoGateway({ admin }: Workplace): Promise<void> {
  const answered = await admin.call("GET", "/admin/v1/accounts/acct_none").then(
    () => true,
    (error: unknown) => !(error instanceof NoGateway),
  );
  if (answered) throw new CommandError("A gateway runs here: stop it first, and all others on the same store.");
}

async function requireSound(books: BookSource, which: string): Promise<void> {
  const { findings } = await books.doctor();
  const [first] = findings;
  if (first === undefined) return;
  const words = `${first.invariant} ${first.accountId ?? ""} ${first.detail}`;
  throw new CommandError(`The doctor has ${findings.length} findings on ${which}, the first: ${words}`);
}

/** Throws unless everything can be moved: no call holds money, and the doctor finds nothing. */
async function requireMovable(source: BookSource): Promise<void> {
  const held = await source.settle();
  if (held === 0) return requireSound(source, "what is to be moved; nothing was moved");
  throw new CommandError(
    `${held} calls are still held. Nothing was moved: repeat this a minute after the last gateway has stopped; jobs must have ended.`,
  );
}

/** Moves and verifies: the target is sound, and every account, key and idempotency key is the same. */
async function carry(source: BookSource, target: BookTarget, reread: () => BookSource): Promise<CarriedBooks> {
  const { carryBooks, differingAccounts } = await import("../money/ledger/books.ts");
  const carried = await carryBooks(source, target);
  await target.finish();
  const arrived = reread();
  await requireSound(arrived, "what has arrived; do not use it");
  const differing = await differingAccounts(source, arrived);
  if (differing.length > 0)
    throw new CommandError(`These accounts did not arrive as they were: ${differing.join(", ")}`);
  return carried;
}

async function toRedis(url: string, config: Config): Promise<Moved> {
  const { openServer, useBooks } = await import("./redis-books.ts");
  const { redisBookSource, redisBookTarget } = await import("../money/ledger/redis/books.ts");
  const { sqliteBookSource } = await import("../money/ledger/sqlite/books.ts");
  const { sqliteRecordCopies, writeRedisRecords } = await import("../platform/records/record-copies.ts");
  const { openUnit } = await import("../platform/records/sqlite-records.ts");
  const link = await openServer(url, config);
  try {
    await requireEmpty(link);
    return await withFile(config, async (database) => {
      const source = sqliteBookSource(database, clock);
      openUnit(database, { epochMs: clock.epochMs(), elapsedMs: clock.elapsedMs() });
      await requireMovable(source);
      return useBooks({ link, config, use: "filling" }, async (books) => {
        const carried = await carry(source, redisBookTarget(books), () => redisBookSource(books));
        const records = await writeRedisRecords(link, sqliteRecordCopies(database, clock));
        await books.filled();
        return { ...carried, records };
      });
    });
  } finally {
    await link.close();
  }
}

export async function requireEmpty(link: RedisLink): Promise<void> {
  const { isEmptyRedis } = await import("../platform/storage/redis-dump.ts");
  if (!(await isEmptyRedis(link))) {
    throw new CommandError(
      "This Redis is not empty. Nothing was written. (What a restore or a move that was cut off has left: redis-cli FLUSHALL.)",
    );
  }
}

async function withFile<T>(config: Config, work: (database: Database) => Promise<T>): Promise<T> {
  const { storeFile } = await import("../gateway/file-stores.ts");
  const { openDatabase: open } = await import("../platform/storage/open-database.ts");
  const file = storeFile(config);
  if (!existsSync(file)) throw new CommandError(`There is no ledger at ${file}; set DATA_DIR.`);
  const database = open(file);
  return work(database).finally(() => database.close());
}

async function toFolder(folder: string, config: Config): Promise<Moved> {
  const { withBooks } = await import("./redis-books.ts");
  const { redisBookSource } = await import("../money/ledger/redis/books.ts");
  const { sqliteBookSource, sqliteBookTarget } = await import("../money/ledger/sqlite/books.ts");
  const { redisRecordCopies, writeSqliteRecords } = await import("../platform/records/record-copies.ts");
  const { openDatabase: open } = await import("../platform/storage/open-database.ts");
  const file = join(folder, "tollgate.db");
  if (existsSync(file)) throw new CommandError(`${file} is there already. Nothing was written.`);
  return withBooks({ config, use: "alone" }, async (books) => {
    const source = redisBookSource(books);
    await requireMovable(source);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const fresh = `${file}.new`;
    for (const end of ["", "-wal", "-shm"]) rmSync(`${fresh}${end}`, { force: true });
    const database = open(fresh);
    try {
      const target = sqliteBookTarget(database, clock);
      const moved = await carry(source, target, () => sqliteBookSource(database, clock));
      const records = await writeSqliteRecords(database, clock, redisRecordCopies(books.link, clock));
      database.close();
      renameSync(fresh, file);
      return { ...moved, records };
    } finally {
      if (database.isOpen) database.close();
    }
  });
}

export const migrate: Command = {
  name: "migrate",
  options: {
    to: {
      value: "PLACE",
      required: true,
      meaning: "redis://..., which takes what DATA_DIR has; or a data folder, which takes what REDIS_URL has",
    },
  },
  summary:
    "Moves accounts, keys, transactions and records to Redis or back, while no gateway runs; the old store stays as it is",
  async run(typed, place) {
    const to = typed.text("to") ?? "";
    const isRedis = /^rediss?(\+cluster|\+sentinel)?:/.test(to);
    if (!isRedis && to.includes("://"))
      throw new UsageError(`--to takes redis://... or a folder, not ${JSON.stringify(to)}.`);
    await requireNoGateway(place);
    const moved = isRedis ? await toRedis(to, place.config) : await toFolder(resolve(to), place.config);
    const { accounts, postings, records } = moved;
    const next = isRedis
      ? "Start the gateways with this REDIS_URL"
      : `Start the gateway with DATA_DIR=${resolve(to)} and no REDIS_URL`;
    const text = `Moved ${accounts} accounts, ${postings} postings and ${records} records; the doctor finds both sides in order. ${next}.`;
    return { json: { to: isRedis ? "redis" : resolve(to), ...moved }, text };
  },
};
