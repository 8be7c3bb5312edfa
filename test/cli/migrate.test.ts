import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { run } from "../../src/cli/run.ts";
import { systemClock as clock } from "../../src/clock.ts";
import { openSqliteArchive } from "../../src/ledger/archive-sqlite.ts";
import type { Ledger } from "../../src/ledger/ledger.ts";
import { redisLedger } from "../../src/ledger/redis-ledger.ts";
import { LEDGER_UNIT, sqliteLedger } from "../../src/ledger/sqlite-ledger.ts";
import { nano } from "../../src/money.ts";
import type { Records } from "../../src/records/records.ts";
import { redisRecords } from "../../src/records/redis-records.ts";
import { RECORDS_UNIT, sqliteRecords } from "../../src/records/sqlite-records.ts";
import { openRedis } from "../../src/storage/redis-link.ts";
import { openSqliteThread } from "../../src/storage/sqlite-thread.ts";
import { CENT, holdRequest, newAccount, newKey, postRequest } from "../ledger/requests.ts";
import { NO_BOUNDS } from "../ledger/store.ts";
import { startTestGateway } from "../support/gateway.ts";
import { POSTGRES_MS_MAX, startPostgres } from "../support/postgres.ts";
import { type RedisServer, startRedis } from "../support/redis.ts";

const DAY_MS = 86_400_000;
let root: string;
let server: RedisServer;
let folders = 0;
/** What is to be seen of the ledger that all tests begin with. */
let before: { seen: Awaited<ReturnType<typeof seen>>; answers: Awaited<ReturnType<typeof answers>> };

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "tollgate-migrate-"));
  server = await startRedis();
  const store = await openFile(join(root, "sound"));
  await fill(store);
  before = { seen: await seen(store), answers: await answers(store, "x") };
  await store.close();
});
afterAll(async () => {
  await server.dispose();
  rmSync(root, { recursive: true });
});
beforeEach(() => server.send("FLUSHALL"));

const folder = () => join(root, `data-${folders++}`);

interface Store {
  readonly ledger: Ledger;
  readonly records: Records;
  close(): Promise<void>;
}

async function openFile(dataDir: string): Promise<Store> {
  mkdirSync(dataDir, { recursive: true });
  const units = { ledger: LEDGER_UNIT, records: RECORDS_UNIT };
  const file = join(dataDir, "tollgate.db");
  const thread = await openSqliteThread({ file, units, clock, disk: NO_BOUNDS, onFatal: console.error });
  return { ledger: sqliteLedger(thread), records: sqliteRecords(thread), close: () => thread.close() };
}

async function openServer(dataDir: string): Promise<Store> {
  const link = await openRedis(server.url, { onBroken: () => {}, commandMsMax: 5_000 });
  const archive = await openSqliteArchive({ file: join(dataDir, "archive.db"), clock, onFatal: console.error });
  return {
    ledger: redisLedger({ link, clock, leaseMs: 60_000, archive }),
    records: redisRecords(link),
    async close() {
      await archive.close();
      await link.close();
    },
  };
}

async function tollgate(environment: Record<string, string>, ...words: string[]) {
  const out: string[] = [];
  const place = { ADMIN_PORT: "1", ...environment };
  const say = (line: string) => out.push(line);
  const code = await run(words, { environment: place, out: say, err: say });
  return { code, out: out.join("\n") };
}

const hold = (accountId: string, id: string, cents: number) => ({
  ...{ accountId, holdId: `${accountId}.${id}`, cents, nowMs: clock.epochMs() },
});
const order = (key: string, fingerprint = "body") => ({ idempotency: { key, fingerprint, keepMs: DAY_MS } });

/** Two accounts with a bit of everything, and records. */
async function fill({ ledger, records }: Store): Promise<void> {
  const limits = { services: ["files", "exa/search"], models: [], expiresAtMs: 1_900_000_000_000 };
  await ledger.openAccount(newAccount("ada", 1_000, { name: "Ada é 💶", kind: "business" }));
  await ledger.openAccount(newAccount("bob", 0));
  await ledger.createKey(
    "ada",
    newKey("bot", { externalId: "bot-1", ceilingNano: nano(90 * CENT), ceilingPeriod: "week", ...limits }),
  );
  await ledger.createKey("ada", newKey("old"));
  await ledger.patchKey("ada", "bot", { label: "robot" });
  for (let at = 0; at < 520; at++) {
    const keyId = ["ada.key", "bot", "old"][at % 3] ?? "";
    const one = hold("ada", String(at), 1);
    const amountNano = nano(at % 7);
    await Promise.all([
      ledger.reserve(holdRequest(one, { keyId, amountNano: nano(5), inference: at % 2 === 0 })),
      ledger.post(postRequest(one, { amountNano })),
    ]);
  }
  await ledger.rotateKey("ada", "bot", "new secret of bot", "tg_sk_new");
  await ledger.deleteKey("ada", "old");
  await ledger.topUp("ada", "ada.topup", nano(7), "invoice 7");
  await ledger.refund("ada.1", "ada.refund", "wrong answer");
  await ledger.patchAccount("bob", { frozen: true, requestsPerMinute: 5 });
  await ledger.reserve(holdRequest(hold("ada", "done", 2), order("done")));
  await ledger.post(postRequest(hold("ada", "done", 2)));
  await ledger.reserve(holdRequest(hold("ada", "maybe", 2), { ...order("maybe"), effect: "write" }));
  await ledger.void(hold("ada", "maybe", 0), "died", "unknown");
  await ledger.reserve(
    holdRequest(hold("ada", "lapsed", 2), { idempotency: { key: "l", fingerprint: "f", keepMs: 0 } }),
  );
  await ledger.void(hold("ada", "lapsed", 0), "failed", "answered");
  await records.put({ kind: "job", id: "one", payer: "acct:ada", value: "first", ttlMs: null, ifVersion: null });
  await records.put({ kind: "job", id: "one", payer: "acct:ada", value: "second", ttlMs: null, ifVersion: null });
  await records.put({ kind: "job", id: "two", payer: "acct:ada", value: '{"é":1}', ttlMs: DAY_MS, ifVersion: null });
  await records.put({ kind: "day", id: "x", payer: null, value: "7", ttlMs: null, ifVersion: null });
  await records.put({ kind: "job", id: "brief", payer: "acct:ada", value: "", ttlMs: 1, ifVersion: null });
}

/** Everything that callers and operators can see. */
async function seen({ ledger, records }: Store) {
  const transactions = async (accountId: string, keyId: string | null) => {
    const rows: unknown[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<Ledger["transactions"]>> = await ledger.transactions({
        accountId,
        keyId,
        limit: 100,
        cursor,
      });
      rows.push(...page.rows);
      cursor = page.next;
    } while (cursor !== null);
    return rows;
  };
  return {
    accounts: await ledger.accounts(),
    keys: [await ledger.keys("ada"), await ledger.keys("bob")],
    bySecret: await Promise.all(
      ["hash of ada.key", "new secret of bot", "hash of bot", "hash of old"].map(ledger.keyByHash),
    ),
    transactions: [await transactions("ada", null), await transactions("ada", "bot"), await transactions("bob", null)],
    refund: await ledger.transaction(null, "ada.refund"),
    jobs: await records.list("job", "acct:ada", 10, null).then(({ rows }) => rows),
    day: await records.get("day", "x"),
  };
}

/** What late and repeated calls are told. */
async function answers({ ledger, records }: Store, tries: string) {
  const reserve = (id: string, more: object) => ledger.reserve(holdRequest(hold("ada", `${tries}.${id}`, 1), more));
  return {
    done: await reserve("a", order("done")),
    other: await reserve("b", order("done", "another body")),
    maybe: await reserve("c", { ...order("maybe"), effect: "write" }),
    posted: await ledger.reserve(holdRequest(hold("ada", "done", 2))),
    repeat: await ledger.post(postRequest(hold("ada", "done", 2))),
    topUp: await ledger.topUp("ada", "again", nano(7), "invoice 7"),
    refund: await ledger.refund("ada.1", "again", "again"),
    ceiling: await ledger
      .reserve(holdRequest(hold("ada", `${tries}.d`, 95), { keyId: "bot" }))
      .then(({ outcome }) => outcome),
    frozen: await ledger.reserve(holdRequest(hold("bob", `${tries}.e`, 1))),
    stale: await records.put({ kind: "job", id: "one", payer: "acct:ada", value: "", ttlMs: null, ifVersion: 1 }),
  };
}

/** A data folder with a ledger in it. */
function filled(): string {
  const dataDir = folder();
  mkdirSync(dataDir);
  copyFileSync(join(root, "sound", "tollgate.db"), join(dataDir, "tollgate.db"));
  return dataDir;
}

test("a ledger moves to Redis and back, and nothing that anybody can see changes", async () => {
  const dataDir = filled();
  const [file, redis] = [{ DATA_DIR: dataDir }, { DATA_DIR: dataDir, REDIS_URL: server.url }];
  const moved = await tollgate(file, "migrate", "--to", server.url);
  expect(moved).toEqual({ code: 0, out: expect.stringMatching(/^Moved 2 accounts, 524 postings and 3 records;/) });
  const sound = { code: 0, out: "2 accounts, 0 open holds, 524 postings: all in order." };
  expect(await tollgate(redis, "doctor")).toEqual(sound);
  expect(await tollgate(file, "doctor")).toEqual(sound);
  const store = await openServer(dataDir);
  expect(await seen(store)).toEqual(before.seen);
  expect(await answers(store, "y")).toEqual(before.answers);
  // Calls go on over Redis, some of which have not left it when the way back begins.
  await store.ledger.reserve(holdRequest(hold("ada", "later", 3), order("later")));
  await store.ledger.post(postRequest(hold("ada", "later", 3)));
  await store.records.put({ kind: "job", id: "three", payer: "acct:ada", value: "3", ttlMs: null, ifVersion: 0 });
  const later = { seen: await seen(store), answers: await answers(store, "z") };
  await store.close();

  const back = folder();
  const returned = await tollgate(redis, "migrate", "--to", back);
  expect(returned).toEqual({ code: 0, out: expect.stringMatching(/^Moved 2 accounts, 525 postings and 4 records;/) });
  expect((await tollgate({ DATA_DIR: back }, "doctor")).out).toMatch(/525 postings: all in order/);
  const last = await openFile(back);
  expect(await seen(last)).toEqual(later.seen);
  expect(await answers(last, "w")).toEqual(later.answers);
  await last.close();
});

describe("a move that cannot be is refused, and writes nothing", () => {
  const keys = async () => Number(await server.send("DBSIZE"));

  test("to a Redis with anything in it, or one that would lose money", async () => {
    const dataDir = filled();
    const move = () => tollgate({ DATA_DIR: dataDir }, "migrate", "--to", server.url);
    await server.send("SET", "mine", "1");
    expect(await move()).toMatchObject({ code: 1, out: expect.stringContaining("not empty") });
    expect(await keys()).toBe(1);
    await server.send("FLUSHALL");
    await server.send("CONFIG", "SET", "appendfsync", "everysec");
    expect(await move()).toMatchObject({ code: 1, out: expect.stringContaining("appendfsync is everysec") });
    await server.send("CONFIG", "SET", "appendfsync", "always");
    expect(await keys()).toBe(0);
  });

  test("to a folder with a ledger in it", async () => {
    const dataDir = folder();
    await (await openFile(dataDir)).close();
    const bytes = readFileSync(join(dataDir, "tollgate.db"));
    const refused = await tollgate({ DATA_DIR: folder(), REDIS_URL: server.url }, "migrate", "--to", dataDir);
    expect(refused).toMatchObject({ code: 1, out: expect.stringContaining("is there already") });
    expect(readFileSync(join(dataDir, "tollgate.db")).equals(bytes)).toBe(true);
  });

  test("while a job holds money; what a dead process held is given back first", async () => {
    const dataDir = folder();
    let store = await openFile(dataDir);
    await store.ledger.openAccount(newAccount("ada", 10));
    await store.ledger.reserve(holdRequest(hold("ada", "dead", 3)));
    await store.ledger.reserve(holdRequest(hold("ada", "job", 3), { owner: "job:1" }));
    await store.close();
    const move = () => tollgate({ DATA_DIR: dataDir }, "migrate", "--to", server.url);
    expect(await move()).toMatchObject({ code: 1, out: expect.stringContaining("1 calls are still held") });
    expect(await keys()).toBe(0);
    store = await openFile(dataDir);
    await store.ledger.void(hold("ada", "job", 0), "done");
    await store.close();
    expect((await move()).code).toBe(0);
  });

  test("while Redis still holds money, or a gateway is at work on it", async () => {
    const dataDir = folder();
    await (await openFile(dataDir)).close();
    const store = await openServer(dataDir);
    await store.ledger.openAccount(newAccount("ada", 10));
    await store.ledger.reserve(holdRequest(hold("ada", "live", 3)));
    const env = { DATA_DIR: dataDir, REDIS_URL: server.url };
    const back = folder();
    expect(await tollgate(env, "migrate", "--to", back)).toMatchObject({
      ...{ code: 1, out: expect.stringContaining("1 calls are still held") },
    });
    await store.ledger.void(hold("ada", "live", 0), "done");
    await server.send("SET", "exporter", "another process", "PX", "60000");
    expect(await tollgate(env, "migrate", "--to", back)).toMatchObject({
      ...{ code: 1, out: expect.stringContaining("A gateway or another command is at work") },
    });
    expect(existsSync(join(back, "tollgate.db"))).toBe(false);
    await server.send("DEL", "exporter");
    expect((await tollgate(env, "migrate", "--to", back)).code).toBe(0);
    await store.close();
  });

  test("while the gateway runs here", async () => {
    const dataDir = folder();
    const gateway = await startTestGateway({ DATA_DIR: dataDir });
    const env = { DATA_DIR: dataDir, ADMIN_PORT: new URL(gateway.adminUrl).port };
    for (const words of [
      ["migrate", "--to", server.url],
      ["restore", join(dataDir, "tollgate.db")],
    ]) {
      expect(await tollgate(env, ...words)).toMatchObject({
        code: 1,
        out: expect.stringContaining("A gateway runs here"),
      });
    }
    await gateway.stop();
  });

  test("from a ledger that is not sound", async () => {
    const dataDir = filled();
    const { DatabaseSync } = await import("node:sqlite");
    const database = new DatabaseSync(join(dataDir, "tollgate.db"));
    database.exec("UPDATE spent_day SET spent = spent + 1");
    database.close();
    expect(await tollgate({ DATA_DIR: dataDir }, "migrate", "--to", server.url)).toMatchObject({
      ...{ code: 1, out: expect.stringMatching(/findings on what is to be moved; nothing was moved, the first: I4/) },
    });
  });
});

describe("a copy of everything in Redis", () => {
  /** Redis with a ledger in it, and its copy. */
  async function copied(more: Record<string, string> = {}) {
    const dataDir = filled();
    const env = { DATA_DIR: dataDir, REDIS_URL: server.url, ...more };
    await tollgate({ ...more, DATA_DIR: dataDir }, "migrate", "--to", server.url);
    const store = await openServer(dataDir);
    if (Object.keys(more).length === 0) {
      await store.ledger.reserve(holdRequest(hold("ada", "held", 3)));
      await store.ledger.reserve(holdRequest(hold("ada", "young", 3)));
      await store.ledger.post(postRequest(hold("ada", "young", 3)));
    }
    const path = join(root, `copy-${folders++}`);
    return { store, env, path, dataDir };
  }

  test("is taken back by an empty Redis, with its archive, holds and all", async () => {
    const { store, env, path } = await copied();
    expect(await tollgate(env, "backup", path)).toEqual({ code: 0, out: `Written to ${path}.` });
    const then = await seen(store);
    await store.close();
    expect(await tollgate(env, "backup", path)).toMatchObject({ code: 1, out: expect.stringContaining("EEXIST") });
    const fresh = folder();
    const elsewhere = { ...env, DATA_DIR: fresh };
    expect(await tollgate(elsewhere, "restore", path)).toMatchObject({
      code: 1,
      out: expect.stringContaining("not empty"),
    });
    await server.send("FLUSHALL");
    expect(await tollgate(elsewhere, "restore", path)).toEqual({
      ...{ code: 0, out: "Restored 2 accounts with 525 postings: all in order." },
    });
    const restored = await openServer(fresh);
    expect(await seen(restored)).toEqual(then);
    expect(await restored.ledger.post(postRequest(hold("ada", "held", 1)))).toMatchObject({ repeat: false });
    expect(Number(await server.send("PTTL", "{a:ada}:c:ada.young"))).toBeGreaterThan(5 * 3_600_000);
    await restored.close();
  });

  test("that is older than its archive is brought up to it", async () => {
    const { store, env, path } = await copied();
    expect((await tollgate(env, "backup", path)).code).toBe(0);
    await store.ledger.post(postRequest(hold("ada", "held", 2)));
    await store.ledger.topUp("ada", "ada.more", nano(11 * CENT), "invoice 8");
    await store.ledger.refund("ada.young", "ada.young.r", "wrong");
    expect((await tollgate(env, "backup", `${path}-2`)).code).toBe(0);
    const then = await seen(store);
    await store.close();
    await server.send("FLUSHALL");
    expect(await tollgate(env, "restore", path)).toEqual({
      code: 0,
      out: "Restored 2 accounts with 528 postings: all in order. 3 postings that were made after the copy were taken from the archive.",
    });
    const restored = await openServer(env.DATA_DIR);
    expect({ ...(await seen(restored)), keys: [] }).toEqual({ ...then, keys: [] });
    expect(await restored.ledger.topUp("ada", "t", nano(1), "invoice 8")).toMatchObject({ outcome: "exists" });
    await restored.close();
  });

  test("that is damaged, cut off, or another's is refused before anything is written", async () => {
    const { store, env, path } = await copied();
    await tollgate(env, "backup", path);
    await store.close();
    await server.send("FLUSHALL");
    const text = readFileSync(path, "utf8");
    const bad = `${path}.bad`;
    for (const [content, says] of [
      [text.replace("Ada", "Eve"), "damaged"],
      [text.slice(0, text.lastIndexOf("\n", text.length - 2) + 1), "damaged"],
      ["nothing\n", "is no dump"],
    ] as const) {
      writeFileSync(bad, content);
      expect(await tollgate(env, "restore", bad)).toMatchObject({ code: 1, out: expect.stringContaining(says) });
    }
    const stranger = folder();
    await (await openFile(stranger)).close();
    await (await openServer(stranger)).close();
    const refused = await tollgate({ ...env, DATA_DIR: stranger }, "restore", path);
    expect(refused).toMatchObject({ code: 1, out: expect.stringContaining("belongs to the archive") });
    expect(Number(await server.send("DBSIZE"))).toBe(0);
  });

  test("needs no file beside it where the archive is in PostgreSQL", { timeout: POSTGRES_MS_MAX }, async () => {
    const postgres = await startPostgres();
    const { store, env, path } = await copied({ ARCHIVE_URL: postgres.url });
    await store.close();
    expect((await tollgate(env, "backup", path)).code).toBe(0);
    expect(existsSync(`${path}.archive.db`)).toBe(false);
    await server.send("FLUSHALL");
    expect(await tollgate(env, "restore", path)).toMatchObject({
      ...{ code: 0, out: "Restored 2 accounts with 524 postings: all in order." },
    });
    const back = folder();
    expect((await tollgate(env, "migrate", "--to", back)).code).toBe(0);
    expect((await tollgate({ DATA_DIR: back }, "doctor")).out).toMatch(/524 postings: all in order/);
    await postgres.dispose();
  });
});

test("a copy of a data folder is put into an empty one, and verified", async () => {
  const dataDir = filled();
  const path = join(root, `copy-${folders++}`);
  expect((await tollgate({ DATA_DIR: dataDir }, "backup", path)).code).toBe(0);
  expect(await tollgate({ DATA_DIR: dataDir }, "restore", path)).toMatchObject({
    ...{ code: 1, out: expect.stringContaining("is there already") },
  });
  const fresh = folder();
  expect(await tollgate({ DATA_DIR: fresh }, "restore", path)).toEqual({
    ...{ code: 0, out: "Restored 2 accounts with 524 postings: all in order." },
  });
  const store = await openFile(fresh);
  expect(await seen(store)).toEqual(before.seen);
  await store.close();
});
