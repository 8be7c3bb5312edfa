// Restores a full backup into empty stores, and brings it up to date with its archive.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { systemClock as clock } from "../../src/core/clock.ts";
import { nano } from "../../src/core/money.ts";
import { openStores } from "../../src/gateway/stores.ts";
import { openSqliteArchive } from "../../src/money/ledger/archive/sqlite.ts";
import { readConfig } from "../../src/platform/config.ts";
import { CENT, holdRequest, postRequest } from "../money/ledger/requests.ts";
import { anyPostgres, POSTGRES_MS_MAX } from "../support/postgres.ts";
import { hold, openFile, openStage, seen, tollgate } from "./migrate-stage.ts";

let { server, before, folder, copy, filled, openServer, dispose } = {} as Awaited<ReturnType<typeof openStage>>;
beforeAll(async () => {
  ({ server, before, folder, copy, filled, openServer, dispose } = await openStage());
});
afterAll(() => dispose());
beforeEach(() => server.send("FLUSHALL"));

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
    const path = copy();
    return { store, env, path, dataDir };
  }

  test("is taken back by an empty Redis, with its archive, holds and all", async () => {
    const { store, env, path } = await copied();
    expect(await tollgate(env, "backup", path)).toEqual({ code: 0, out: `Written to ${path}.` });
    const then = await seen(store);
    await store.close();
    expect(await tollgate(env, "backup", path)).toMatchObject({
      code: 1,
      out: expect.stringContaining("is there already"),
    });
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
      ["nothing\n", "is not a dump"],
    ] as const) {
      writeFileSync(bad, content);
      expect(await tollgate(env, "restore", bad)).toMatchObject({ code: 1, out: expect.stringContaining(says) });
    }
    const stranger = folder();
    await (await openFile(stranger)).close();
    const another = { file: join(stranger, "archive.db"), clock, onFatal: console.error };
    await (await openSqliteArchive(another)).close();
    const refused = await tollgate({ ...env, DATA_DIR: stranger }, "restore", path);
    expect(refused).toMatchObject({ code: 1, out: expect.stringContaining("belongs to the archive") });
    expect(Number(await server.send("DBSIZE"))).toBe(0);
  });

  test("that does not come to its end leaves nothing of itself, and can be written again", async () => {
    const { store, env, path } = await copied();
    await server.send("XADD", "mine", "*", "a", "stream");
    expect(await tollgate(env, "backup", path)).toMatchObject({
      code: 1,
      out: expect.stringContaining("mine is a stream"),
    });
    expect(readdirSync(dirname(path)).filter((name) => name.startsWith(basename(path)))).toEqual([]);
    await server.send("DEL", "mine");
    expect((await tollgate(env, "backup", path)).code).toBe(0);
    await store.close();
  });

  test("that was taken back in part is no ledger: nothing starts on it, until it is emptied and filled to the end", async () => {
    const { store, env, path } = await copied();
    await tollgate(env, "backup", path);
    await store.close();
    await server.send("FLUSHALL");
    const used = Number(/used_memory:(\d+)/.exec(String(await server.send("INFO", "memory")))?.[1]);
    await server.send("CONFIG", "SET", "maxmemory", String(used + 65_536));
    expect(await tollgate(env, "restore", path)).toMatchObject({ code: 1, out: expect.stringContaining("OOM") });
    await server.send("CONFIG", "SET", "maxmemory", "0");
    expect(Number(await server.send("DBSIZE"))).toBeGreaterThan(1);
    const refused = "not filled this Redis to the end";
    expect(await tollgate(env, "doctor")).toMatchObject({ code: 1, out: expect.stringContaining(refused) });
    await expect(openStores(readConfig(env), { onFatal: console.error })).rejects.toThrow(refused);
    await server.send("FLUSHALL");
    expect((await tollgate(env, "restore", path)).code).toBe(0);
    expect((await tollgate(env, "doctor")).code).toBe(0);
  });

  test("needs no file beside it where the archive is in PostgreSQL", { timeout: POSTGRES_MS_MAX }, async () => {
    const postgres = await anyPostgres();
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
  const path = copy();
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

test("a copy of a data folder that is damaged, cut off or something else is refused, and nothing is written", async () => {
  const path = copy();
  await tollgate({ DATA_DIR: filled() }, "backup", path);
  const whole = readFileSync(path);
  const middle = whole.length / 2;
  const other = new DatabaseSync(`${path}.other`);
  other.exec("CREATE TABLE mine (word TEXT)");
  other.close();
  const fresh = folder();
  for (const [content, says] of [
    [whole.subarray(0, middle), "is damaged"],
    [Buffer.concat([whole.subarray(0, middle), Buffer.alloc(8_192, 7), whole.subarray(middle + 8_192)]), "is damaged"],
    [Buffer.alloc(0), "holds no ledger"],
    [readFileSync(`${path}.other`), "holds no ledger"],
    [Buffer.from("nothing\n"), "no database at all"],
  ] as const) {
    writeFileSync(`${path}.bad`, content);
    const refused = await tollgate({ DATA_DIR: fresh }, "restore", `${path}.bad`);
    expect(refused).toMatchObject({ code: 1, out: expect.stringContaining(says) });
    expect(refused.out).toContain(`${path}.bad`);
    expect(readdirSync(fresh)).toEqual([]);
  }
  expect((await tollgate({ DATA_DIR: fresh }, "restore", path)).code).toBe(0);
});
