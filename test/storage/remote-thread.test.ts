// A storage thread that several processes share over a socket: what becomes of what each has sent when it, or the thread, ends.
import { once } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Clock, manualClock } from "../../src/clock.ts";
import type { ReserveRequest } from "../../src/ledger/model/ledger.ts";
import { endHoldsOf, LEDGER_UNIT, sqliteLedger } from "../../src/ledger/sqlite/ledger.ts";
import { FrameReader, frameOf } from "../../src/storage/frames.ts";
import { openRemoteThread } from "../../src/storage/remote-thread.ts";
import { openSqliteThread } from "../../src/storage/sqlite-thread.ts";
import type { StoreNews } from "../../src/storage/wire.ts";
import { VERSION } from "../../src/version.ts";
import { CENT, holdRequest, newAccount } from "../ledger/requests.ts";
import { NO_BOUNDS, START_MS } from "../ledger/store.ts";
import type { MortalOperations } from "./mortal-unit.ts";

const MORTAL = new URL("./mortal-unit.ts", import.meta.url);
const REFUSED = expect.objectContaining({ code: "ledger_unavailable" });

interface ChildOptions {
  readonly heard?: StoreNews[];
  readonly onFatal?: (error: Error) => void;
  readonly clock?: Clock;
}

async function serve() {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-remote-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
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
  return { kept, child, socket, news, left: left.promise, ended: ended.promise, clock };
}

test("a batch that came whole is carried out and half a one is not, and only then the process has left, once", async () => {
  const { kept, socket, news, left } = await serve();
  onTestFinished(() => kept.close());
  expect([statSync(socket).mode & 0o777, statSync(join(socket, "..")).mode & 0o777]).toEqual([0o600, 0o700]);
  const raw = connect(socket);
  const welcomed = once(raw, "data");
  raw.write(frameOf({ kind: "hello", owner: "dying", release: VERSION }));
  const [welcome] = (await welcomed) as [Buffer];
  let operations: readonly { readonly name: string }[] = [];
  new FrameReader((message) => ({ operations } = message as never)).push(welcome);
  const keep = operations.findIndex(({ name }) => name === "keep");
  const batch = (word: string) => frameOf(JSON.stringify({ epochMs: START_MS, elapsedMs: 0, calls: [keep, word] }));
  // In one piece with half of the next, as a process that is killed leaves them.
  raw.end(Buffer.concat([batch("whole"), batch("half").subarray(0, -1)]));
  await left;
  expect(await kept.unit<MortalOperations>("mortal")("words", null)).toEqual(["whole"]);
  expect(news).toEqual([{ kind: "left", owner: "dying" }]);
});

test("a process of another release is refused, with what is to be done", async () => {
  const { kept, socket } = await serve();
  onTestFinished(() => kept.close());
  const raw = connect(socket);
  raw.write(frameOf({ kind: "hello", owner: "new", release: "0.0.0" }));
  const told: unknown[] = [];
  const reader = new FrameReader((message) => told.push(message));
  for await (const chunk of raw) reader.push(chunk as Buffer);
  expect(told).toEqual([
    { kind: "refused", error: expect.stringMatching(/0\.0\.0, cannot share: restart all of it$/) },
  ]);
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
  // What was asked once and came to nothing may be asked again.
  expect((await second.reserve(hold("6", 2, { owner: "b", idempotency: keyed }))).outcome).toBe("held");
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
