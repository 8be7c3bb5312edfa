// Migrates a ledger to Redis and back, or refuses before writing anything.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { withBooks } from "../../src/cli/redis-books.ts";
import { readConfig } from "../../src/platform/config.ts";
import { holdRequest, newAccount, postRequest } from "../money/ledger/requests.ts";
import { eventually, startTestGateway } from "../support/gateway.ts";
import { onlyAProcessShows } from "../support/process-fact.ts";
import { answers, hold, openFile, openStage, order, seen, tollgate } from "./migrate-stage.ts";

onlyAProcessShows("a move between stores");

let { server, before, folder, copy, filled, openServer, dispose } = {} as Awaited<ReturnType<typeof openStage>>;
beforeAll(async () => {
  ({ server, before, folder, copy, filled, openServer, dispose } = await openStage());
});
afterAll(() => dispose());
beforeEach(() => server.send("FLUSHALL"));

test("a ledger moves to Redis and back, and nothing that anybody can see changes", async () => {
  const dataDir = filled();
  const [file, redis] = [{ DATA_DIR: dataDir }, { DATA_DIR: dataDir, REDIS_URL: server.url }];
  const moved = await tollgate(file, "migrate", "--to", server.url);
  expect(moved).toEqual({ code: 0, out: expect.stringMatching(/^Moved 2 accounts, 524 postings and 3 records;/) });
  const sound = { code: 0, out: expect.stringMatching(/^2 accounts, 0 open holds, 524 postings: all in order\.$/m) };
  expect(await tollgate(redis, "doctor")).toEqual(sound);
  expect(await tollgate(file, "doctor")).toEqual(sound);
  const store = await openServer(dataDir);
  expect(await seen(store)).toEqual(before.seen);
  expect(await answers(store, "y")).toEqual(before.answers);
  // Calls continue over Redis, and some are still there when the migration back begins.
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

  test("to what is neither a Redis nor a folder, or from no Redis", async () => {
    const there = readdirSync(process.cwd());
    for (const place of ["postgres://localhost/ledger", "http://localhost", "redis+clutser://localhost"]) {
      const refused = await tollgate({ DATA_DIR: filled(), REDIS_URL: server.url }, "migrate", "--to", place);
      expect(refused).toMatchObject({ code: 2, out: expect.stringContaining(`or a folder, not "${place}"`) });
    }
    expect(readdirSync(process.cwd())).toEqual(there);
    const back = folder();
    const refused = await tollgate({ DATA_DIR: filled() }, "migrate", "--to", back);
    expect(refused).toMatchObject({ code: 1, out: expect.stringContaining("REDIS_URL must say") });
    expect(existsSync(back)).toBe(false);
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

  test("from a Redis without a ledger, which stays one that takes a copy", async () => {
    const env = { DATA_DIR: folder(), REDIS_URL: server.url };
    for (const words of [["doctor"], ["backup", copy()], ["migrate", "--to", folder()]]) {
      const refused = await tollgate(env, ...words);
      expect(refused).toMatchObject({ code: 1, out: expect.stringContaining("There is no ledger in this Redis") });
    }
    expect(await keys()).toBe(0);
    expect(existsSync(env.DATA_DIR)).toBe(false);
  });

  test("from a Redis whose archive is elsewhere, which is not made anew", async () => {
    const dataDir = filled();
    await tollgate({ DATA_DIR: dataDir }, "migrate", "--to", server.url);
    const env = { DATA_DIR: folder(), REDIS_URL: server.url };
    const refused = await tollgate(env, "doctor");
    expect(refused).toMatchObject({ code: 1, out: expect.stringContaining(`no archive at ${env.DATA_DIR}`) });
    expect(existsSync(env.DATA_DIR)).toBe(false);
  });

  test("and while it is at work nobody else is, which others know for a minute after it was killed", async () => {
    const config = readConfig({ DATA_DIR: folder(), REDIS_URL: server.url });
    await (await openFile(config.dataDir)).close();
    await (await openServer(config.dataDir)).close();
    const beats: (() => void)[] = [];
    const every = (_: number, beat: () => void) => {
      beats.push(beat);
      return () => {};
    };
    const left = async () => Number(await server.send("PTTL", "exporter"));
    const work = withBooks({ config, use: "alone", every }, async () => {
      expect(await left()).toBeGreaterThan(50_000);
      expect(await left()).toBeLessThanOrEqual(60_000);
      await server.send("PEXPIRE", "exporter", "20000");
      beats[0]?.();
      await eventually(async () => (await left()) > 20_000 || undefined, "the renewal");
      // As after the machine slept.
      await server.send("SET", "exporter", "another process");
      beats[0]?.();
      await new Promise(() => {});
    });
    await expect(work).rejects.toThrow("Another process began to work on this Redis");
    expect(await server.send("GET", "exporter")).toBe("another process");
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
    expect(await keys()).toBe(0);
  });
});
