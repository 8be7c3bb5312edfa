// Dumps all of Redis into a file that any empty Redis can load: JSON lines, ending with their count and a checksum.
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { parsedJson } from "../../core/json.ts";
import { writeWhole } from "../../core/whole-file.ts";
import type { RedisLink } from "./redis-link.ts";

const FORMAT = "tollgate redis dump 1";
/** Members per write command. */
const BATCH = 500;
const KEYS_AT_ONCE = 64;

interface DumpHead {
  readonly format: string;
  readonly createdAtMs: number;
  /** The writer's own note, such as the name of an archive. */
  readonly note: string;
}

interface DumpedKey {
  readonly key: string;
  readonly type: "string" | "hash" | "zset" | "set" | "list";
  /** Expiry in ms since the epoch; null: never. */
  readonly expiresAtMs: number | null;
  readonly values: readonly string[];
}

interface DumpEnd {
  readonly keys: number;
  readonly sha256: string;
}

const READS = {
  string: ["GET"],
  hash: ["HGETALL"],
  zset: ["ZRANGE", "0", "-1", "WITHSCORES"],
  set: ["SMEMBERS"],
  list: ["LRANGE", "0", "-1"],
} as const;

const isKnown = (type: string): type is DumpedKey["type"] => Object.hasOwn(READS, type);

/** Map replies are pairs, lists of pairs or objects, depending on the client's protocol. */
function flatten(reply: unknown): string[] {
  if (Array.isArray(reply)) return reply.flat().map(String);
  if (typeof reply === "object" && reply !== null) return Object.entries(reply).flat().map(String);
  return [String(reply)];
}

async function readKey(link: RedisLink, key: string): Promise<DumpedKey | null> {
  const type = String(await link.call("TYPE", key));
  if (type === "none") return null;
  if (!isKnown(type)) throw new Error(`${key} is a ${type}, which this program does not make: nothing was written`);
  const expires = Number(await link.call("PEXPIRETIME", key));
  const [command, ...words] = READS[type];
  const reply = await link.call(command, key, ...words);
  if (expires === -2 || reply === null) return null;
  return { key, type, expiresAtMs: expires < 0 ? null : expires, values: flatten(reply) };
}

/** Writes all keys to `path`, which must not exist, and makes the file durable; no other program may write to Redis meanwhile. */
export async function dumpRedis(
  link: RedisLink,
  path: string,
  head: { readonly nowMs: number; readonly note: string; readonly without: readonly string[] },
): Promise<number> {
  const digest = createHash("sha256");
  let keys = 0;
  const line = (value: unknown): string => {
    const text = `${JSON.stringify(value)}\n`;
    digest.update(text);
    return text;
  };
  let waiting: Promise<DumpedKey | null>[] = [];
  async function* written(): AsyncIterable<string> {
    const dumped = await Promise.all(waiting);
    waiting = [];
    for (const one of dumped) {
      if (one === null) continue;
      keys += 1;
      yield line(one);
    }
  }
  async function* lines(): AsyncIterable<string> {
    yield line({ format: FORMAT, createdAtMs: head.nowMs, note: head.note } satisfies DumpHead);
    const seen = new Set(head.without);
    for await (const key of link.keys()) {
      if (seen.has(key)) continue;
      seen.add(key);
      waiting.push(readKey(link, key));
      if (waiting.length === KEYS_AT_ONCE) yield* written();
    }
    yield* written();
    yield `${JSON.stringify({ keys, sha256: digest.digest("hex") } satisfies DumpEnd)}\n`;
  }
  await writeWhole(path, (part) => pipeline(Readable.from(lines()), createWriteStream(part, { mode: 0o600 })));
  return keys;
}

/** Reads a dump to its end; returns its header and end, or throws a message for the operator. */
export async function checkDump(path: string): Promise<DumpHead & DumpEnd> {
  const digest = createHash("sha256");
  let head: DumpHead | null = null;
  let last: string | null = null;
  let count = 0;
  for await (const text of createInterface({ input: createReadStream(path) })) {
    if (last !== null) digest.update(`${last}\n`);
    head ??= (parsedJson(text) ?? null) as DumpHead | null;
    last = text;
    count += 1;
  }
  if (head?.format !== FORMAT) throw new Error(`${path} is not a dump of Tollgate's Redis`);
  const end = parsedJson(last ?? "") as DumpEnd | null | undefined;
  if (end?.sha256 !== digest.digest("hex") || end.keys !== count - 2) {
    throw new Error(`${path} is damaged or cut off: its checksum is not that of what is in it`);
  }
  return { ...head, ...end };
}

export async function isEmptyRedis(link: RedisLink): Promise<boolean> {
  for await (const _ of link.keys()) return false;
  return true;
}

/** Writes a checked dump into Redis, which must have none of its keys; leaves out keys that have expired. */
export async function restoreRedis(
  link: RedisLink,
  path: string,
  { nowMs, without }: { readonly nowMs: number; readonly without: readonly string[] },
): Promise<void> {
  let some: DumpedKey[] = [];
  const write = async () => {
    await Promise.all(some.map((row) => writeKey(link, row)));
    some = [];
  };
  for await (const text of createInterface({ input: createReadStream(path) })) {
    const row = JSON.parse(text) as DumpHead | DumpedKey | DumpEnd;
    const isLive = "key" in row && (row.expiresAtMs === null || row.expiresAtMs > nowMs);
    if (isLive && !without.includes(row.key)) some.push(row);
    if (some.length === KEYS_AT_ONCE) await write();
  }
  await write();
}

async function writeKey(link: RedisLink, { key, type, expiresAtMs, values }: DumpedKey): Promise<void> {
  if (type === "string") await link.call("SET", key, values[0] ?? "");
  // A sorted set is read as members and scores, and written as scores and members.
  const pairs = type === "zset" ? values.map((_, at) => values[at % 2 === 0 ? at + 1 : at - 1] ?? "") : values;
  const command = { hash: "HSET", zset: "ZADD", set: "SADD", list: "RPUSH", string: "" }[type];
  for (let at = 0; type !== "string" && at < pairs.length; at += BATCH) {
    await link.call(command, key, ...pairs.slice(at, at + BATCH));
  }
  if (expiresAtMs !== null) await link.call("PEXPIREAT", key, expiresAtMs);
}
