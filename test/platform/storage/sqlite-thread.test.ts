// Callers that wait for the storage thread: how long, and what happens to them when it dies; and concurrent readers.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { getPriority } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { THREAD_FLAGS } from "../../../src/core/thread-flags.ts";
import { copySteps } from "../../../src/platform/storage/backup.ts";
import { openSqliteThread } from "../../../src/platform/storage/sqlite-thread.ts";
import { ThreadClient } from "../../../src/platform/storage/thread-client.ts";
import type { Ready, ThreadStart } from "../../../src/platform/storage/wire.ts";
import { NO_BOUNDS } from "../../money/ledger/store.ts";
import { folderForTest } from "../../support/for-file.ts";
import { removeFolder } from "../../support/remove-folder.ts";
import type { MortalOperations } from "./mortal-unit.ts";

const MORTAL = new URL("./mortal-unit.ts", import.meta.url);
const REFUSED = expect.objectContaining({ code: "ledger_unavailable" });

test("the storage thread dies: who waits is refused, the process is told to end, and the next finds what was acknowledged", async () => {
  const folder = folderForTest("tollgate-thread-");
  const ended = Promise.withResolvers<Error>();
  let endings = 0;
  const options = { file: join(folder, "words.db"), units: { mortal: MORTAL }, clock: systemClock, disk: NO_BOUNDS };
  const thread = await openSqliteThread({
    ...options,
    onFatal(error) {
      endings++;
      ended.resolve(error);
    },
  });
  const call = thread.unit<MortalOperations>("mortal");
  expect(await call("keep", "acknowledged")).toBe("acknowledged");
  const together = await Promise.allSettled([call("keep", "before"), call("die", null), call("keep", "after")]);
  expect(together.map((one) => one.status === "rejected" && one.reason)).toEqual([REFUSED, REFUSED, REFUSED]);
  expect((await ended.promise).message).toBe("the storage thread ended");
  // It accepts nothing more, and no other thread replaces it: only the file knows what it had acknowledged.
  await expect(call("keep", "too late")).rejects.toEqual(REFUSED);
  await thread.close();
  expect(endings).toBe(1);

  const next = await openSqliteThread({ ...options, onFatal() {} });
  expect(await next.unit<MortalOperations>("mortal")("words", null)).toEqual(["acknowledged"]);
  await next.close();
});

test("what follows a commit fails: nothing of it is done again, who waits is refused, and the process is told to end", async () => {
  const folder = folderForTest("tollgate-thread-");
  const ended = Promise.withResolvers<Error>();
  const options = { file: join(folder, "words.db"), units: { mortal: MORTAL }, clock: systemClock, disk: NO_BOUNDS };
  const thread = await openSqliteThread({ ...options, onFatal: ended.resolve });
  const call = thread.unit<MortalOperations>("mortal");
  const together = await Promise.allSettled([call("keep", "one"), call("keepAtLast", "two"), call("keep", "three")]);
  expect(together.map((one) => one.status === "rejected" && one.reason)).toEqual([REFUSED, REFUSED, REFUSED]);
  expect((await ended.promise).message).toContain("what follows a commit failed");
  await thread.close();
  const next = await openSqliteThread({ ...options, onFatal() {} });
  expect(await next.unit<MortalOperations>("mortal")("words", null)).toEqual(["one", "two", "three"]);
  await next.close();
});

test("a short operation that is alone gets one message, once it is on disk", async () => {
  const folder = folderForTest("tollgate-thread-");
  const options = { file: join(folder, "words.db"), units: { mortal: MORTAL }, clock: systemClock, disk: NO_BOUNDS };
  const thread = await openSqliteThread({ ...options, sharing: "readers", onFatal() {} });
  const heard = vi.spyOn(ThreadClient.prototype, "hear");
  onTestFinished(() => heard.mockRestore());
  expect(await thread.unit<MortalOperations>("mortal")("keep", "one")).toBe("one");
  expect(heard.mock.calls.map(([message]) => JSON.parse(String(message)))).toEqual([
    { values: ["one"], errors: null, commit: 0, isLate: true },
  ]);
  await thread.close();
});

test("a thread that breaks while it waits for a backup to close writes nothing more", async () => {
  const folder = folderForTest("tollgate-thread-");
  const [file, ready] = [join(folder, "words.db"), join(folder, "ready")];
  const time = { epochMs: systemClock.epochMs(), elapsedMs: systemClock.elapsedMs() };
  const closeWith = async (messages: readonly object[]) => {
    const start: ThreadStart = {
      ...{ file, sharing: "readers", units: { mortal: MORTAL.href }, disk: NO_BOUNDS, socket: null, ...time },
    };
    const worker = new Worker(new URL("../../../src/platform/storage/sqlite-worker.ts", import.meta.url), {
      workerData: start,
      execArgv: [...THREAD_FLAGS],
    });
    const [{ operations }] = (await once(worker, "message")) as [Ready];
    // The thread reads the other messages together: the backup has not ended when it breaks.
    const number = operations.findIndex(({ name }) => name === "wait");
    worker.postMessage(JSON.stringify({ ...time, calls: [number, ready] }));
    for (const message of messages) worker.postMessage(message);
    const exit = once(worker, "exit");
    mkdirSync(ready);
    await exit;
    removeFolder(ready);
    const found = new DatabaseSync(file, { readOnly: true });
    const version = found.prepare("PRAGMA user_version").get()?.user_version;
    found.close();
    return version;
  };
  const backup = { kind: "backup", path: join(folder, "copy.db") };
  expect(await closeWith([backup, { kind: "close" }, { kind: "log-written", fatal: "disk I/O error" }])).toBe(0);
  expect(await closeWith([{ kind: "close" }])).toBe(1);
});

/** The threads of this process that have lowered their priority. */
function givingWay(): number[] {
  const threads = readdirSync("/proc/self/task").map(Number);
  return threads.filter((thread) => {
    try {
      return getPriority(thread) === 10;
    } catch {
      // It has ended meanwhile.
      return false;
    }
  });
}

test.runIf(process.platform === "linux")("the thread that reads reports gives way to all others", async () => {
  const folder = folderForTest("tollgate-thread-");
  const options = { file: join(folder, "words.db"), units: { mortal: MORTAL }, clock: systemClock, disk: NO_BOUNDS };
  const before = new Set(givingWay());
  const added = () => givingWay().filter((thread) => !before.has(thread)).length;
  const thread = await openSqliteThread({ ...options, sharing: "readers", onFatal() {} });
  expect(added()).toBe(0);
  expect(await thread.ask("SELECT 1 AS one", [])).toEqual([{ one: 1 }]);
  expect(added()).toBe(1);
  await thread.close();
});

test("many rows come a few dozen at a time, each when the loop has gone around, and before the answers to later questions", async () => {
  const folder = folderForTest("tollgate-thread-");
  const options = { file: join(folder, "words.db"), units: { mortal: MORTAL }, clock: systemClock, disk: NO_BOUNDS };
  const thread = await openSqliteThread({ ...options, sharing: "readers", onFatal() {} });
  const messages = vi.spyOn(Worker.prototype, "postMessage");
  onTestFinished(() => messages.mockRestore());
  const numbers =
    "WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted) SELECT n FROM counted LIMIT ?";
  const answered: string[] = [];
  const [many, none, broken] = await Promise.all([
    thread.ask(numbers, [1_000]).finally(() => answered.push("many")),
    thread.ask(numbers, [0]).finally(() => answered.push("none")),
    thread.ask("SELECT nonsense", []).catch((error: unknown) => error),
  ]);
  expect(many).toEqual(Array.from({ length: 1_000 }, (_, at) => ({ n: at + 1 })));
  expect(none).toEqual([]);
  expect(broken).toEqual(REFUSED);
  expect(answered).toEqual(["many", "none"]);
  expect(messages).toHaveBeenCalledTimes(3 + 15);
  await thread.close();
});

test("a long log is written into the database by the thread that reads, while commits go on", async () => {
  const folder = folderForTest("tollgate-thread-");
  const options = { file: join(folder, "words.db"), units: { mortal: MORTAL }, clock: systemClock, disk: NO_BOUNDS };
  const thread = await openSqliteThread({ ...options, sharing: "readers", onFatal() {} });
  const call = thread.unit<MortalOperations>("mortal");
  const other = new DatabaseSync(options.file);
  const length = other.prepare("PRAGMA wal_checkpoint(NOOP)");
  const word = "x".repeat(100_000);
  for (let at = 0; at < 150; at++) await call("keep", word);
  expect(length.get()).toMatchObject({ checkpointed: 0 });
  for (let at = 0; at < 50; at++) await call("keep", word);
  await vi.waitFor(() => expect(length.get()?.checkpointed).toBeGreaterThanOrEqual(4_000), 60_000);
  expect(length.get()?.log).toBeGreaterThanOrEqual(4_900);
  other.close();
  const copy = join(folder, "copy.db");
  await Promise.all([thread.backup(copy), call("keep", "meanwhile")]);
  await thread.close();
  const kept = new DatabaseSync(copy);
  expect(kept.prepare("SELECT COUNT(*) AS words, SUM(word = ?) AS long FROM word").get(word)).toMatchObject({
    long: 200,
  });
  kept.close();
});

/** The system's locks on a file. */
function locksOn(file: string): number {
  const inode = `:${statSync(file).ino} `;
  return readFileSync("/proc/locks", "utf8")
    .split("\n")
    .filter((line) => line.includes(inode)).length;
}

test.runIf(process.platform === "linux")(
  "after a backup the file is locked as before: other programs that look at it do not take its log for abandoned",
  async () => {
    const folder = folderForTest("tollgate-thread-");
    const options = { file: join(folder, "words.db"), units: { mortal: MORTAL }, clock: systemClock, disk: NO_BOUNDS };
    const thread = await openSqliteThread({ ...options, sharing: "readers", onFatal() {} });
    await thread.unit<MortalOperations>("mortal")("keep", "before");
    const before = locksOn(options.file);
    await thread.backup(join(folder, "copy.db"));
    expect(locksOn(options.file)).toBe(before);
    await thread.close();
  },
);

test("a copy is on the disk step by step, and never much of it is not", async () => {
  const folder = folderForTest("tollgate-copy-");
  const bytes = randomBytes(20_000_000);
  writeFileSync(join(folder, "from"), bytes);
  const [source, target] = await Promise.all([open(join(folder, "from"), "r"), open(join(folder, "to"), "wx")]);
  const syncs = vi.spyOn(target, "datasync");
  await copySteps(source.fd, target);
  await Promise.all([source.close(), target.close()]);
  expect(readFileSync(join(folder, "to")).equals(bytes)).toBe(true);
  expect(syncs).toHaveBeenCalledTimes(2);
});

test("an operation whose caller has time goes with the next that has none, and by itself where none comes", async () => {
  const folder = folderForTest("tollgate-thread-");
  const options = { file: join(folder, "words.db"), units: { mortal: MORTAL }, clock: systemClock, disk: NO_BOUNDS };
  const thread = await openSqliteThread({ ...options, onFatal() {} });
  const call = thread.unit<MortalOperations>("mortal");
  const messages = vi.spyOn(Worker.prototype, "postMessage");
  onTestFinished(() => messages.mockRestore());
  const patient = call("keep", "patient", { isPatient: true });
  const hurried = call("keep", "hurried");
  expect(await Promise.all([patient, hurried])).toEqual(["patient", "hurried"]);
  expect(messages).toHaveBeenCalledTimes(1);
  expect(await call("words", null)).toEqual(["hurried", "patient"]);
  expect(await call("keep", "alone", { isPatient: true })).toBe("alone");
  // Work that waits when the store closes is stored too.
  const last = call("keep", "last", { isPatient: true });
  await thread.close();
  expect(await last).toBe("last");
});
