// Records in Redis: each in one of 64 slots, listed for its payer in another. Readers ignore what a crash leaves between them.
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Clock } from "../../core/clock.ts";
import type { RedisLink } from "../storage/redis-link.ts";
import { libraryOf } from "../storage/redis-lua.ts";
import {
  type PutRecord,
  type RecordPage,
  type Records,
  type Share,
  type StoredRecord,
  sharedBytes,
} from "./records.ts";

/** Must never change: it determines where a record is stored. */
const SHARDS = 64;
const PUT_TRIES = 3;
/** How long a record outlives its expiry, so that the sweep still finds it. The script uses the same value. */
export const UNSWEPT_MS = 600_000;
const TOKEN_BYTES = 9;

const SOURCE = readFileSync(new URL("./redis-records.lua", import.meta.url), "utf8");
const OPERATIONS = ["put", "list_line", "get", "size", "delete", "due", "bury", "share"] as const;
const LIBRARY = libraryOf(SOURCE, OPERATIONS);

/** The shard of a record: FNV-1a over kind and id spreads them evenly. */
export function shardOf(kind: string, id: string): number {
  let sum = 0x811c9dc5;
  for (const byte of Buffer.from(`${kind}/${id}`)) sum = Math.imul(sum ^ byte, 0x01000193);
  return (sum >>> 0) % SHARDS;
}

export const recordKey = (kind: string, id: string) => `{r:${shardOf(kind, id)}}:${kind}/${id}`;
export const expiryKey = (shard: number) => `{r:${shard}}:expiry`;
export const listKey = (kind: string, payer: string) => `{r:${payer}}:list:${kind}`;
/** The keys of a share: its entries, and their total bytes. */
const shareKeys = (kind: string, payer: string) => ["share", "shared"].map((name) => `{r:${payer}}:${name}:${kind}`);

/** Parses an index entry: the number of a creation, and the owner, kind and id of its record. */
export function readEntry(entry: string) {
  const at = entry.indexOf(" ");
  const [kind, id, payer] = JSON.parse(entry.slice(at + 1)) as [string, string, string | null];
  return { number: entry.slice(0, at), kind, id, payer };
}

function readRecord(reply: unknown): StoredRecord | null {
  const [entry, version, created, expires, value] = reply as (string | undefined)[];
  if (entry === undefined || value === undefined) return null;
  const { kind, id, payer } = readEntry(entry);
  const times = { createdAtMs: Number(created), expiresAtMs: expires === "" ? null : Number(expires) };
  return { kind, id, payer, version: Number(version), value, ...times };
}

type Link = Pick<RedisLink, "isCluster" | "script" | "call">;

/** Runs a script with the time and its arguments; `clock` replaces the server's own. */
function scriptsOn(link: Link, clock: Clock | undefined) {
  const scripts = new Map(
    OPERATIONS.map((name) => [name, link.script(name, `${SOURCE}\nreturn ops.${name}(KEYS, ARGV)\n`, LIBRARY)]),
  );
  return (name: (typeof OPERATIONS)[number], keys: readonly string[], args: readonly (string | number)[] = []) => {
    const given = clock === undefined ? "" : String(Math.floor(clock.epochMs()));
    return scripts.get(name)?.run(keys, name === "list_line" ? args : [given, ...args]);
  };
}

interface Store {
  readonly link: Link;
  readonly run: ReturnType<typeof scriptsOn>;
}

/** One try; null if it was too late for its reserved line in the list. */
async function tryPut({ link, run }: Store, record: PutRecord): Promise<{ readonly version: number | null } | null> {
  const { kind, id, payer, value, ttlMs, ifVersion, share } = record;
  const keys = [recordKey(kind, id), expiryKey(shardOf(kind, id))];
  const isListed = payer !== null && share === undefined;
  if (isListed && !link.isCluster) keys.push(listKey(kind, payer));
  const token = randomBytes(TOKEN_BYTES).toString("base64url");
  const owner = JSON.stringify([kind, id, payer]);
  const put = async (entry: string) => {
    const args = [owner, id, value, ttlMs ?? "", ifVersion ?? "", token, entry, isListed ? "1" : ""];
    return (await run("put", keys, args)) as [outcome: string, ...words: string[]];
  };
  let [outcome, ...words] = await put("");
  if (outcome === "list" && payer !== null) {
    const [entry = "", number = ""] = words;
    if ((await run("list_line", [listKey(kind, payer)], [number, id])) !== 1) return null;
    [outcome, ...words] = await put(entry);
  }
  if (outcome === "again") return null;
  return { version: outcome === "put" ? Number(words[0]) : null };
}

async function putListed(store: Store, record: PutRecord): Promise<number | null> {
  for (let tries = 0; tries < PUT_TRIES; tries++) {
    const done = await tryPut(store, record);
    if (done !== null) return done.version;
  }
  throw new Error(`a record of kind ${record.kind} could not be listed in time`);
}

async function deleteRecord({ run }: Store, kind: string, id: string): Promise<boolean> {
  const shard = shardOf(kind, id);
  const own = `{r:${shard}}:deleted:${randomBytes(TOKEN_BYTES).toString("base64url")}`;
  return (await run("delete", [recordKey(kind, id), expiryKey(shard), own])) === 1;
}

interface Taken {
  readonly payer: string;
  readonly bytes: number;
  readonly ttlMs: number;
  readonly share: Share;
}

/** Counts a record in its share, and deletes others if needed; false if there is no room. */
async function takeShare(store: Store, { kind, id }: PutRecord, taken: Taken): Promise<boolean> {
  const { payer, bytes, ttlMs, share } = taken;
  const args = [id, bytes, share.bytesMax, ttlMs, share.full === "newest_stays_out" ? "1" : ""];
  const [outcome, ...gone] = (await store.run("share", shareKeys(kind, payer), args)) as [string, ...string[]];
  await Promise.all(gone.map((one) => deleteRecord(store, kind, one)));
  return outcome === "put";
}

async function sweepShard({ link, run }: Store, shard: number, countMax: number): Promise<number> {
  const index = expiryKey(shard);
  const due = (await run("due", [index], [countMax])) as string[];
  if (due.length === 0) return 0;
  const keys = due.map(readEntry).map(({ kind, id }) => recordKey(kind, id));
  const gone = (await run("bury", keys, due)) as string[];
  if (gone.length === 0) return 0;
  // Clean the lists before the index, so that after a crash the index still leads here.
  const lines = gone
    .map(readEntry)
    .flatMap(({ number, kind, id, payer }) =>
      payer === null ? [] : [{ key: listKey(kind, payer), line: `${number}:${id}` }],
    );
  const byList = Map.groupBy(lines, ({ key }) => key);
  await Promise.all([...byList].map(([key, some]) => link.call("ZREM", key, ...some.map(({ line }) => line))));
  await link.call("ZREM", index, ...gone);
  return gone.length;
}

/** The record of a list line; null if its creation failed or it is gone. */
async function lineRecord({ run }: Store, line: string, kind: string, payer: string) {
  const at = line.indexOf(":");
  const number = line.slice(0, at);
  const id = line.slice(at + 1);
  const reply = (await run("get", [recordKey(kind, id)])) as string[];
  const isOwn = reply[0] === `${number} ${JSON.stringify([kind, id, payer])}`;
  return { number, record: isOwn ? readRecord(reply) : null };
}

/** The records in Redis. Uses the server's time, or that of `clock` if given. */
export function redisRecords(link: Link, clock?: Clock): Records {
  const run = scriptsOn(link, clock);
  const store = { link, run };
  let sweptFirst = 0;
  return {
    get: async (kind, id) => readRecord(await run("get", [recordKey(kind, id)])),

    async sizes(kind, ids) {
      // Records are in many slots, so send one command per record, all in parallel.
      const bytes = await Promise.all(ids.map((id) => run("size", [recordKey(kind, id)]) as Promise<number>));
      return bytes.map((one) => (one < 0 ? null : one));
    },

    async put(record) {
      const { payer, value, ttlMs, share } = record;
      if (share === undefined || payer === null || ttlMs === null) return putListed(store, record);
      const taken = { payer, bytes: sharedBytes(value), ttlMs, share };
      if (share.full === "newest_stays_out")
        return (await takeShare(store, record, taken)) ? putListed(store, record) : null;
      if (taken.bytes > share.bytesMax) return null;
      // Write it before it is counted, so that a later eviction finds it.
      const version = await putListed(store, record);
      await takeShare(store, record, taken);
      return version;
    },

    delete: (kind, id) => deleteRecord(store, kind, id),

    async list(kind, payer, limit, cursor) {
      const key = listKey(kind, payer);
      const rows: StoredRecord[] = [];
      let last: string | null = null;
      for (let from = cursor; ; ) {
        const wanted = limit + 1 - rows.length;
        const below = from === null ? "+inf" : `(${from}`;
        const lines = (await link.call("ZREVRANGEBYSCORE", key, below, "-inf", "LIMIT", 0, wanted)) as string[];
        const found = await Promise.all(lines.map((line) => lineRecord(store, line, kind, payer)));
        for (const { number, record } of found) {
          from = number;
          if (record === null) continue;
          if (rows.length === limit) return { rows, next: last } satisfies RecordPage;
          rows.push(record);
          last = number;
        }
        if (lines.length < wanted) return { rows, next: null };
      }
    },

    async sweep(countMax) {
      let count = 0;
      for (let at = 0; at < SHARDS && count < countMax; at++) {
        count += await sweepShard(store, (sweptFirst + at) % SHARDS, countMax - count);
      }
      // Rotate the first shard, so that each gets its turn even when a sweep never finishes.
      sweptFirst = (sweptFirst + 1) % SHARDS;
      return count;
    },
  };
}
