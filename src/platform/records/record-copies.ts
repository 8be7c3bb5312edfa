// Copies all records from one store to another while no gateway runs; preserves versions and times.
import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../core/clock.ts";
import type { RedisLink } from "../storage/redis-link.ts";
import type { StoredRecord } from "./records.ts";
import { expiryKey, listKey, readEntry, recordKey, shardOf, UNSWEPT_MS } from "./redis-records.ts";
import { openUnit } from "./sqlite-records.ts";

const BATCH = 200;
const RECORD = /^\{r:\d{1,2}\}:(?!expiry$|deleted:)/;

export interface RecordCopy extends StoredRecord {
  readonly number: number;
}

/** The records in a data folder's database, oldest first. */
export async function* sqliteRecordCopies(database: DatabaseSync, clock: Clock): AsyncIterable<RecordCopy> {
  const page = database.prepare(
    `SELECT seq AS number, kind, id, payer, version, value, created_at AS createdAtMs, expires_at AS expiresAtMs
       FROM record WHERE seq > ? AND (expires_at IS NULL OR expires_at > ?) ORDER BY seq LIMIT ?`,
  );
  for (let after = 0; ; ) {
    const rows = page.all(after, clock.epochMs(), BATCH) as unknown as RecordCopy[];
    if (rows.length === 0) return;
    yield* rows.map((row) => ({ ...row }));
    after = rows.at(-1)?.number ?? after;
  }
}

export async function* redisRecordCopies(link: RedisLink, clock: Clock): AsyncIterable<RecordCopy> {
  const found = new Map<string, number>();
  for await (const key of link.keys()) {
    if (!RECORD.test(key)) continue;
    const entry = (await link.call("HGET", key, "entry")) as string | null;
    if (entry !== null) found.set(key, Number(readEntry(entry).number));
  }
  for (const [key, number] of [...found].sort(([, a], [, b]) => a - b)) {
    const reply = await link.call("HMGET", key, "entry", "version", "created", "expires", "value");
    const [entry, version, created, expires, value] = reply as (string | null)[];
    if (entry == null || value == null) continue;
    const { kind, id, payer } = readEntry(entry);
    const expiresAtMs = expires == null || expires === "" ? null : Number(expires);
    if (expiresAtMs !== null && expiresAtMs <= clock.epochMs()) continue;
    yield { number, kind, id, payer, version: Number(version), value, createdAtMs: Number(created), expiresAtMs };
  }
}

/** Writes records into a new database; returns how many. */
export async function writeSqliteRecords(
  database: DatabaseSync,
  clock: Clock,
  copies: AsyncIterable<RecordCopy>,
): Promise<number> {
  openUnit(database, { epochMs: clock.epochMs(), elapsedMs: clock.elapsedMs() });
  const insert = database.prepare(
    "INSERT INTO record (kind, id, payer, version, value, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );
  let count = 0;
  for await (const { kind, id, payer, version, value, createdAtMs, expiresAtMs } of copies) {
    insert.run(kind, id, payer, version, value, createdAtMs, expiresAtMs);
    count += 1;
  }
  return count;
}

/** Writes records into an empty Redis; returns how many. */
export async function writeRedisRecords(link: RedisLink, copies: AsyncIterable<RecordCopy>): Promise<number> {
  let count = 0;
  for await (const { number, kind, id, payer, version, value, createdAtMs, expiresAtMs } of copies) {
    const key = recordKey(kind, id);
    const entry = `${number} ${JSON.stringify([kind, id, payer])}`;
    const expires = expiresAtMs ?? "";
    if (payer !== null) await link.call("ZADD", listKey(kind, payer), number, `${number}:${id}`);
    if (expiresAtMs !== null) await link.call("ZADD", expiryKey(shardOf(kind, id)), expiresAtMs, entry);
    const fields = { entry, version, created: createdAtMs, expires, value, token: "" };
    await link.call("HSET", key, ...Object.entries(fields).flat());
    if (expiresAtMs !== null) await link.call("PEXPIREAT", key, expiresAtMs + UNSWEPT_MS);
    count += 1;
  }
  return count;
}
