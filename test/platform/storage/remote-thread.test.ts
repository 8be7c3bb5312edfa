// A storage thread that several processes share over a socket: what happens to their sent operations when a process, or the thread, ends.
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, statSync, watch, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import type { Clock } from "../../../src/core/clock.ts";
import { exactVersion, VERSION } from "../../../src/core/version.ts";
import type { ReserveRequest } from "../../../src/money/ledger/model/ledger.ts";
import { endHoldsOf, LEDGER_UNIT, sqliteLedger } from "../../../src/money/ledger/sqlite/ledger.ts";
import { FrameReader, frameOf } from "../../../src/platform/storage/frames.ts";
import { EndRequested, openRemoteThread } from "../../../src/platform/storage/remote-thread.ts";
import { openSqliteThread } from "../../../src/platform/storage/sqlite-thread.ts";
import { ThreadClient } from "../../../src/platform/storage/thread-client.ts";
import type { StoreNews, ToThread } from "../../../src/platform/storage/wire.ts";
import { CENT, holdRequest, newAccount } from "../../money/ledger/requests.ts";
import { NO_BOUNDS, START_MS } from "../../money/ledger/store.ts";
import { folderForTest } from "../../support/for-file.ts";
import { manualClock } from "../../support/manual-clock.ts";
import type { MortalOperations } from "./mortal-unit.ts";

const MORTAL = new URL("./mortal-unit.ts", import.meta.url);
const REFUSED = expect.objectContaining({ code: "ledger_unavailable" });

interface ChildOptions {
  readonly heard?: StoreNews[];
  readonly onFatal?: (error: Error) => void;
  readonly clock?: Clock;
}

async function serve() {
  const folder = folderForTest("tollgate-remote-");
  const [file, socket] = [join(folder, "words.db"), join(folder, "store/socket")];
  const clock = manualClock(START_MS);
  const news: StoreNews[] = [];
  const left = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<Error>();
  const kept = await openSqliteThread({
    file,
    units: { mortal: MORTAL, ledger: LEDGER_UNIT },
    clock,
    disk: NO_BOUNDS,
    sharing: "readers",
    serve: socket,
    onFatal: ended.resolve,
    onNews(one) {
      news.push(one);
      if (one.kind === "left") left.resolve();
    },
  });
  const child = (owner: string, { heard = [], onFatal = () => {}, ...own }: ChildOptions = {}) =>
    openRemoteThread({ socket, file, owner, clock, onNews: (one) => void heard.push(one), onFatal, ...own });
  return { kept, child, file, socket, news, left: left.promise, ended: ended.promise, clock };
}

/** A process's raw connection. */
async function bareChild(socket: string, owner: string) {
  const raw = connect(socket);
  const heard: unknown[] = [];
  const reader = new FrameReader((message) => heard.push(message));
  const welcomed = once(raw, "data");
  raw.on("data", (chunk) => reader.push(chunk));
  raw.write(frameOf({ kind: "hello", owner, release: exactVersion() }));
  await welcomed;
  const { operations } = heard.shift() as { readonly operations: readonly { readonly name: string }[] };
  const batch = (...calls: (readonly [name: string, argument: unknown])[]) => {
    const numbered = calls.flatMap(([name, of]) => [operations.findIndex((one) => one.name === name), of]);
    return frameOf(JSON.stringify({ epochMs: START_MS, elapsedMs: 0, calls: numbered }));
  };
  return { raw, heard, batch };
}

test("a batch that came whole is carried out and half a one is not, and only then the process has left, once", async () => {
  const { kept, socket, news, left } = await serve();
  onTestFinished(() => kept.close());
  expect([statSync(socket).mode & 0o777, statSync(join(socket, "..")).mode & 0o777]).toEqual([0o600, 0o700]);
  const { raw, batch } = await bareChild(socket, "dying");
  // In one piece with half of the next, as a killed process leaves them.
  raw.end(Buffer.concat([batch(["keep", "whole"]), batch(["keep", "half"]).subarray(0, -1)]));
  await left;
  expect(await kept.unit<MortalOperations>("mortal")("words", null)).toEqual(["whole"]);
  expect(news).toEqual([{ kind: "left", owner: "dying" }]);
});

test("the disk fails in one process's batch: the next one's is not carried out, and all are told to end", async () => {
  const { child, file, socket, ended, news } = await serve();
  const fatal = Promise.withResolvers<Error>();
  await child("c", { onFatal: fatal.resolve });
  const [a, b] = [await bareChild(socket, "a"), await bareChild(socket, "b")];
  // Unread bytes that it had sent reset its connection.
  const over = [a, b].map(({ raw }) => new Promise((closed) => raw.on("error", () => {}).once("close", closed)));
  const [begun, sent] = [`${file}-begun`, `${file}-sent`];
  const watcher = watch(dirname(file));
  onTestFinished(() => watcher.close());
  const beginning = new Promise<void>((seen) => watcher.on("change", () => existsSync(begun) && seen()));
  a.raw.write(a.batch(["keep", "of the failed batch"], ["breakDisk", [begun, sent]]));
  await beginning;
  await new Promise((written) => b.raw.write(b.batch(["keep", "of the next batch"]), written));
  mkdirSync(sent);
  expect((await ended).message).toBe("Error: disk I/O error");
  await Promise.all(over);
  expect([a.heard, b.heard]).toEqual(Array(2).fill([{ kind: "fatal", error: "Error: disk I/O error" }]));
  // It does not log: the process that owns the store does.
  expect(await fatal.promise).toBeInstanceOf(EndRequested);
  expect(news).toEqual([]);
  // The thread may not have ended yet.
  const database = new DatabaseSync(file, { timeout: 60_000 });
  expect(database.prepare("SELECT word FROM word").all()).toEqual([]);
  database.close();
});

test("what is told right behind the welcome is heard", async () => {
  const folder = folderForTest("tollgate-remote-");
  const news = { kind: "told", text: "at once" } as const;
  const server = createServer((socket) => {
    socket.once("data", () => socket.end(Buffer.concat([frameOf({ kind: "ready", operations: [] }), frameOf(news)])));
  });
  const socket = join(folder, "socket");
  await new Promise<void>((listening) => server.listen(socket, listening));
  onTestFinished(() => void server.close());
  const heard: StoreNews[] = [];
  const over = Promise.withResolvers<Error>();
  const options = { socket, file: join(folder, "none.db"), owner: "a", clock: manualClock(START_MS) };
  await openRemoteThread({ ...options, onNews: (one) => void heard.push(one), onFatal: over.resolve });
  expect((await over.promise).message).toBe("the process that keeps the store has ended");
  expect(heard).toEqual([news]);
});

test("long answers end a batch and nothing else; one that is too long for any is refused alone", async () => {
  const { kept, child } = await serve();
  onTestFinished(() => kept.close());
  const call = (await child("a")).unit<MortalOperations>("mortal");
  const long = 5 * 1_048_576;
  const [first, ...told] = await Promise.allSettled([
    ...[call("keep", "first"), call("tell", long), call("tell", long), call("tell", 18 * long), call("keep", "last")],
  ]);
  expect(first).toEqual({ status: "fulfilled", value: "first" });
  const lengths = told.map((one) => (one.status === "fulfilled" ? String(one.value).length : one.reason));
  expect(lengths).toEqual([long, long, REFUSED, "last".length]);
  expect(await call("words", null)).toEqual(["first", "last"]);
});

test("a batch that is too long to be sent goes in parts: one that is too long alone is refused alone", async () => {
  const sent: unknown[][] = [];
  const post = (message: ToThread) => {
    const text = String(message);
    if (text.length > 1_000) throw new RangeError("too long");
    const values = (JSON.parse(text) as { calls: unknown[] }).calls.filter((_, at) => at % 2 === 1);
    sent.push(values);
    setImmediate(() => client.hear(JSON.stringify({ values, errors: null, commit: 0 })));
  };
  const reading = {
    ask: () => Promise.resolve([]),
    inquire: () => Promise.resolve(null),
    close: () => Promise.resolve(),
  };
  const clock = manualClock(START_MS);
  const entries = [{ unit: "mortal", name: "keep", admission: false, isShort: false }];
  const client = new ThreadClient({ port: { post, cut() {} }, entries, reading, clock, shared: true, onFatal() {} });
  const keep = client.unit<MortalOperations>("mortal");
  const words = ["a", "b", "x".repeat(1_001), "c", "d"];
  const kept = await Promise.allSettled(words.map((word) => keep("keep", word)));
  expect(kept.map((one) => (one.status === "fulfilled" ? one.value : one.reason))).toEqual([
    "a",
    "b",
    REFUSED,
    "c",
    "d",
  ]);
  expect(sent.flat()).toEqual(["a", "b", "c", "d"]);
});

test("the thread is told to close once, also where a sync ends after that", async () => {
  const posts: unknown[] = [];
  const reading = {
    ask: () => Promise.resolve([]),
    inquire: () => Promise.resolve(null),
    close: () => Promise.resolve(),
  };
  const entries = [{ unit: "mortal", name: "keep", admission: false, isShort: false }];
  const port = { post: (message: unknown) => void posts.push(message), cut() {} };
  const client = new ThreadClient({
    port,
    entries,
    reading,
    clock: manualClock(START_MS),
    shared: false,
    onFatal() {},
  });
  const kept = client.unit<MortalOperations>("mortal")("keep", "a", { mayBeLost: true });
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  await turn();
  // The batch is answered before its commit is on disk; nothing waits for that, so the client may close at once.
  client.hear(JSON.stringify({ values: ["a"], errors: null, commit: 1 }));
  await kept;
  const closed = client.close();
  await turn();
  client.hear(1);
  await turn();
  client.exited(new Error("asked for"));
  await closed;
  expect(posts.filter((message) => typeof message === "object")).toEqual([{ kind: "close" }]);
});

test("an answer of numbers ends a batch as one of text does", async () => {
  const { kept, child } = await serve();
  onTestFinished(() => kept.close());
  const call = (await child("a")).unit<MortalOperations>("mortal");
  // Two of them are too long for one answer.
  const count = 1_900_000;
  const told = await Promise.all([call("count", count), call("count", count)]);
  expect(told.map(({ length }) => length)).toEqual([count, count]);
});

test("a process of other sources is refused, with what is to be done, and of the same version too", async () => {
  const { kept, socket } = await serve();
  onTestFinished(() => kept.close());
  const raw = connect(socket);
  raw.write(frameOf({ kind: "hello", owner: "new", release: `${VERSION}+other` }));
  const told: unknown[] = [];
  const reader = new FrameReader((message) => told.push(message));
  for await (const chunk of raw) reader.push(chunk as Buffer);
  expect(told).toEqual([
    { kind: "refused", error: expect.stringMatching(/\+other, cannot share: restart all of it$/) },
  ]);
});

test("the exact version is another one as soon as a source is", async () => {
  const folder = folderForTest("tollgate-version-");
  const file = join(folder, "src/core/version.ts");
  for (const path of ["package.json", "src/core/version.ts"])
    cpSync(new URL(`../../../${path}`, import.meta.url), join(folder, path));
  const copy = (await import(pathToFileURL(file).href)) as { readonly exactVersion: typeof exactVersion };
  mkdirSync(join(folder, "src/deep"));
  const versions = ["one", "two", "one"].map((word) => {
    writeFileSync(join(folder, "src/deep/other.ts"), word);
    return copy.exactVersion();
  });
  expect(versions[0]).toMatch(/^\d+\.\d+\.\d+\+[0-9a-f]{16}$/);
  expect([versions[1] === versions[0], versions[2] === versions[0]]).toEqual([false, true]);
});

test("what the store does not have is an error to who asks, and to nobody beside", async () => {
  const { kept, child, socket } = await serve();
  onTestFinished(() => kept.close());
  const call = (await child("a")).unit<{ lack: (_: null) => null }>("mortal");
  await expect(call("lack", null)).rejects.toThrow("the store has no operation mortal.lack");
  const { raw, heard, batch } = await bareChild(socket, "b");
  raw.write(batch(["keep", "first"], ["lack", null], ["keep", "last"]));
  while (heard.length === 0) await once(raw, "data");
  expect(JSON.parse(String(heard[0]))).toMatchObject({
    values: ["first", null, "last"],
    errors: { 1: "Error: no operation has the number -1" },
  });
});

test("a connection that never says who it is does not keep the store from closing", async () => {
  const { kept, child, socket } = await serve();
  const silent = connect(socket);
  await once(silent, "connect");
  // A later connection has been welcomed, so the first has been accepted.
  await child("a");
  const over = once(silent, "close");
  await kept.close();
  await over;
});

test("messages come whole in whatever pieces they arrive", () => {
  const messages = ["", "a text with ü and €", { kind: "told", text: "x".repeat(70_000) }, 7, "{}"];
  const bytes = Buffer.concat(messages.map(frameOf));
  for (const size of [1, 3, 4_096, bytes.length]) {
    const read: unknown[] = [];
    const reader = new FrameReader((message) => read.push(message));
    for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
    expect(read).toEqual(messages);
  }
  const reader = new FrameReader(() => {});
  expect(() => reader.push(Buffer.from([255, 255, 255, 255, 0]))).toThrow(RangeError);
});

test("the thread dies: every process hears that it must end, and who waits is refused", async () => {
  const { child, ended } = await serve();
  const fatal = Promise.withResolvers<Error>();
  const thread = await child("a", { onFatal: fatal.resolve });
  const call = thread.unit<MortalOperations>("mortal");
  expect(await call("keep", "acknowledged")).toBe("acknowledged");
  const together = await Promise.allSettled([call("keep", "before"), call("die", null), call("keep", "after")]);
  expect(together.map((one) => one.status === "rejected" && one.reason)).toEqual([REFUSED, REFUSED, REFUSED]);
  expect((await ended).message).toBe("the storage thread ended");
  expect((await fatal.promise).message).toBe("the process that keeps the store has ended");
  await expect(call("keep", "too late")).rejects.toEqual(REFUSED);
});

test("processes spend one balance; a change is told to all of them, and what one held that has left is free, a job's aside", async () => {
  const { kept, child, left } = await serve();
  onTestFinished(() => kept.close());
  const heard: StoreNews[] = [];
  const [here, there] = [await child("a"), await child("b", { heard })];
  const [first, second] = [sqliteLedger(here), sqliteLedger(there)];
  await first.openAccount(newAccount("acct", 10));
  const hold = (holdId: string, cents: number, more: Partial<ReserveRequest>) =>
    holdRequest({ accountId: "acct", holdId, cents, nowMs: START_MS }, more);
  expect((await first.reserve(hold("1", 4, { owner: "a", unwritten: true }))).outcome).toBe("held");
  const keyed = { key: "once", fingerprint: "f", keepMs: 60_000 };
  expect((await first.reserve(hold("2", 2, { owner: "a", idempotency: keyed }))).outcome).toBe("held");
  expect((await first.reserve(hold("3", 1, { owner: "job:x", onExpire: "post-accrued" }))).outcome).toBe("held");
  expect((await second.reserve(hold("4", 4, { owner: "b" }))).outcome).toBe("insufficient");
  expect((await second.reserve(hold("5", 3, { owner: "b" }))).outcome).toBe("held");
  await first.patchAccount("acct", { name: "changed" });
  await second.account("acct");
  expect(heard).toEqual([{ kind: "changed", accountIds: ["acct"] }]);
  await here.close();
  await left;
  await endHoldsOf(kept, "a");
  expect(await second.totals()).toMatchObject({ holdsOpen: 2, heldNano: 4 * CENT });
  // A request that had no effect may be repeated.
  expect((await second.reserve(hold("6", 2, { owner: "b", idempotency: keyed }))).outcome).toBe("held");
});

test("a batch that is rolled back has counted no request of an account", async () => {
  const { kept } = await serve();
  onTestFinished(() => kept.close());
  const ledger = sqliteLedger(kept);
  await ledger.openAccount(newAccount("acct", 10));
  const window = { limit: 3, seconds: 60 };
  const hold = (holdId: string) =>
    ledger.reserve(holdRequest({ accountId: "acct", holdId, cents: 1, nowMs: START_MS }, { window }));
  // In one batch, which then runs again without the failing operation.
  const fail = kept.unit<MortalOperations>("mortal")("fail", null);
  const [first, second, failed] = await Promise.allSettled([hold("1"), hold("2"), fail]);
  expect(failed).toEqual({ status: "rejected", reason: REFUSED });
  const left = (remaining: number) => ({ outcome: "held", window: { remaining, resetSeconds: 60 } });
  expect([first, second]).toEqual([2, 1].map((remaining) => ({ status: "fulfilled", value: left(remaining) })));
  expect([await hold("3"), await hold("4")]).toEqual([left(0), { outcome: "window", limit: 3, resetSeconds: 60 }]);
});

test("where no socket can be made, the start says so", async () => {
  const folder = folderForTest("tollgate-remote-");
  const serve = join(folder, "socket");
  mkdirSync(serve);
  const options = { file: join(folder, "words.db"), units: {}, clock: manualClock(START_MS), disk: NO_BOUNDS };
  await expect(openSqliteThread({ ...options, serve, sharing: "readers", onFatal() {} })).rejects.toThrow(
    /^DATA_DIR: no socket can be made at .* \(ERR_FS_EISDIR\), which WORKERS above 1 need without REDIS_URL$/,
  );
});

test("a process that was stopped for an hour does not set the time back for the others", async () => {
  const { kept, child, clock } = await serve();
  onTestFinished(() => kept.close());
  const ledger = sqliteLedger(kept);
  await ledger.openAccount(newAccount("acct", 10));
  clock.advance(3_600_000);
  await ledger.account("acct");
  const lagging = sqliteLedger(await child("late", { clock: manualClock(START_MS) }));
  const request = holdRequest({ accountId: "acct", holdId: "1", cents: 1, nowMs: clock.epochMs() });
  expect((await lagging.reserve(request)).outcome).toBe("held");
});
