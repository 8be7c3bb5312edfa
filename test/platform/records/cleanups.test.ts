// Records that expire: once, at their time, by the first process to look, in both stores; also those that an earlier version stored.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { PREPAID_SESSIONS } from "../../../src/actions/run/prepaid-session-records.ts";
import { UNCLOSED } from "../../../src/actions/sessions/box-cleanups.ts";
import {
  type Cleanup,
  type CleanupBook,
  type CleanupKind,
  Cleanups,
  enter,
  PAGE_MS,
} from "../../../src/platform/records/cleanups.ts";
import type { Records } from "../../../src/platform/records/records.ts";
import { redisRecords } from "../../../src/platform/records/redis-records.ts";
import { RECORDS_UNIT, sqliteRecords } from "../../../src/platform/records/sqlite-records.ts";
import { openSqliteThread } from "../../../src/platform/storage/sqlite-thread.ts";
import { NO_BOUNDS } from "../../money/ledger/store.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { onlyAProcessShows } from "../../support/process-fact.ts";
import { anyRedis, openLink, REDIS_MS_MAX } from "../../support/redis.ts";
import { removeFolder } from "../../support/remove-folder.ts";

onlyAProcessShows("records in Redis");

const clock = manualClock(Date.UTC(2026, 0, 1));

async function inSqlite() {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-endings-"));
  const onFatal = (error: unknown) => console.error(error);
  const file = join(folder, "tollgate.db");
  const units = { records: RECORDS_UNIT };
  const thread = await openSqliteThread({ file, units, clock, disk: NO_BOUNDS, sharing: "readers", onFatal });
  const dispose = async () => {
    await thread.close();
    removeFolder(folder);
  };
  return { records: sqliteRecords(thread), dispose };
}

async function inRedis() {
  const server = await anyRedis();
  const link = await openLink(server.url);
  const dispose = async () => {
    await link.close();
    await server.dispose();
  };
  return { records: redisRecords(link, clock), dispose };
}

describe.each([
  ["SQLite", inSqlite],
  ["Redis", inRedis],
] as const)("what ends by itself, in %s", (_, open) => {
  let records: Records;
  let dispose: () => Promise<void>;
  let number = 0;
  let book: CleanupBook;
  let broken: string[];
  let ended: string[];
  let end: (ending: Cleanup) => Promise<boolean>;

  beforeAll(async () => {
    ({ records, dispose } = await open());
  }, REDIS_MS_MAX);
  afterAll(() => dispose());
  beforeEach(() => {
    const name = `things-${++number}`;
    book = { kind: name, ttlMs: null, listOf: (ms) => `${name}:${Math.floor(ms / PAGE_MS)}` };
    [broken, ended] = [[], []];
    end = async ({ label }) => {
      ended.push(label);
      return true;
    };
  });

  /** A process that has just started. */
  function sweeper(of: CleanupBook = book): Cleanups {
    const kind: CleanupKind = { book: of, pauseMs: (tries) => tries * 10_000, end: (ending) => end(ending) };
    const onBroken = (error: unknown, label: string) => broken.push(`${label}: ${(error as Error).message}`);
    return new Cleanups({ records, clock, onBroken }, [kind]);
  }
  const inMs = (ms: number) => clock.epochMs() + ms;

  it("ends at its time and not before, and once where two look", async () => {
    await enter(records, book, "a", { label: "a", endsAtMs: inMs(60_000) });
    const [one, other] = [sweeper(), sweeper()];
    await one.look(true);
    expect(ended).toEqual([]);
    clock.advance(61_000);
    await Promise.all([one.look(false), other.look(false)]);
    await other.look(true);
    expect(ended).toEqual(["a"]);
  });

  it("is found by a process that starts hours later", async () => {
    await enter(records, book, "a", { label: "a", endsAtMs: inMs(0) });
    clock.advance(7 * 3_600_000);
    await sweeper().look(false);
    expect(ended).toEqual([]);
    await sweeper().look(true);
    expect(ended).toEqual(["a"]);
  });

  it("is left alone for a while after a failure, longer each time, and said with its age", async () => {
    await enter(records, book, "a", { label: "a", endsAtMs: inMs(0) });
    end = ({ label }) => {
      ended.push(label);
      return Promise.reject(new Error("it is away"));
    };
    const one = sweeper();
    await one.look(false);
    await one.look(false);
    expect(broken).toEqual(["a: it is away"]);
    clock.advance(10_000);
    await one.look(false);
    clock.advance(10_000);
    await sweeper().look(false);
    expect(ended).toHaveLength(2);
    expect(one.seen(book)).toEqual({ count: 1, oldestMs: 20_000 });
  });

  it("is not kept waiting by another kind whose vendor is slow", async () => {
    const slow: CleanupBook = { ...book, kind: `${book.kind}-slow`, listOf: (ms) => `slow:${book.listOf(ms)}` };
    await enter(records, slow, "s", { label: "s", endsAtMs: inMs(0) });
    const answers = Promise.withResolvers<boolean>();
    let asked = 0;
    const asks = () => {
      asked += 1;
      return answers.promise;
    };
    const waits: CleanupKind = { book: slow, pauseMs: () => 0, end: asks };
    const kind: CleanupKind = { book, pauseMs: () => 0, end: (ending) => end(ending) };
    const onBroken = (error: unknown) => broken.push(String(error));
    const one = new Cleanups({ records, clock, onBroken }, [waits, kind]);
    const looks = [one.look(false)];
    await expect.poll(() => asked).toBe(1);
    await enter(records, book, "a", { label: "a", endsAtMs: inMs(0) });
    // The previous look may still be at this kind, and no kind is looked at twice at a time.
    const looked = () => {
      looks.push(one.look(false));
      return ended;
    };
    await expect.poll(looked).toEqual(["a"]);
    expect(asked).toBe(1);
    answers.resolve(true);
    await Promise.all(looks);
    expect(await records.get(slow.kind, "s")).toBeNull();
  });

  it("is ended by another process where the first died over it", async () => {
    await enter(records, book, "a", { label: "a", endsAtMs: inMs(0) });
    end = () => new Promise(() => {});
    void sweeper().look(false);
    const tried = async () => (await records.get(book.kind, "a"))?.version;
    await expect.poll(tried).toBe(2);
    end = async ({ label }) => ended.push(label) > 0;
    await sweeper().look(false);
    expect(ended).toEqual([]);
    clock.advance(10_000);
    await sweeper().look(false);
    expect(ended).toEqual(["a"]);
    expect(await records.get(book.kind, "a")).toBeNull();
  });

  it("ends as well where an earlier version has kept it: a box since when, a machine until when", async () => {
    const sinceMs = inMs(-3_600_000);
    const box = {
      adapterId: "e2b",
      sandbox: false,
      label: "tg-old",
      box: null,
      sinceMs,
      nextMs: inMs(5_000),
      tries: 3,
    };
    const kept = { ttlMs: null, ifVersion: null };
    const [boxes, list] = ["unclosed-box", "unclosed-boxes"];
    await records.put({ ...kept, kind: boxes, id: "job_old", payer: list, value: JSON.stringify(box) });
    const time = { label: "tg-time", endsAtMs: inMs(5_000) };
    const page = `paid-until:${Math.floor(time.endsAtMs / 600_000)}`;
    const id = `tg-time ${time.endsAtMs}`;
    await records.put({ ...kept, kind: "paid-time-end", id, payer: page, value: JSON.stringify(time) });
    const [ofBoxes, ofTimes] = [sweeper(UNCLOSED), sweeper(PREPAID_SESSIONS)];
    await ofBoxes.look(true);
    expect([ended, ofBoxes.seen(UNCLOSED)]).toEqual([[], { count: 1, oldestMs: 3_600_000 }]);
    clock.advance(5_000);
    await ofBoxes.look(true);
    await ofTimes.look(true);
    expect(ended).toEqual(["tg-old", "tg-time"]);
    expect(await records.get(boxes, "job_old")).toBeNull();
  });
});
