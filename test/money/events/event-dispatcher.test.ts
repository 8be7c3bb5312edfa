// The dispatcher over a failing store: what it does while the records are unavailable, and what it sends once they are back.
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { EventDispatcher, type EventDispatcherDeps } from "../../../src/money/events/event-dispatcher.ts";
import { createEventLog, OPERATOR } from "../../../src/money/events/event-log.ts";
import { createWebhooks } from "../../../src/money/events/webhooks.ts";
import type { Records } from "../../../src/platform/records/records.ts";
import { RECORDS_UNIT, sqliteRecords } from "../../../src/platform/records/sqlite-records.ts";
import { openSqliteThread } from "../../../src/platform/storage/sqlite-thread.ts";
import type { SqliteThread } from "../../../src/platform/storage/thread-client.ts";
import { folderForTest } from "../../support/for-file.ts";
import { eventually } from "../../support/gateway.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { NO_BOUNDS } from "../ledger/store.ts";

const clock = manualClock(Date.UTC(2026, 0, 1));

let folder: string;
let thread: SqliteThread;
let records: Records;
beforeEach(async () => {
  folder = folderForTest("tollgate-teller-");
  const onFatal = (error: unknown) => console.error(error);
  const file = join(folder, "tollgate.db");
  thread = await openSqliteThread({ file, units: { records: RECORDS_UNIT }, clock, disk: NO_BOUNDS, onFatal });
  records = sqliteRecords(thread);
});
afterEach(async () => {
  await thread.close();
});

/** A dispatcher that records its messages and their targets. */
function dispatcherOver(
  of: Records,
  { shared = true, send = async () => null as string | null, onTick = () => {} } = {},
) {
  const [sent, broken]: [string[], string[]] = [[], []];
  const log = createEventLog(of, clock);
  const webhooks = createWebhooks(of, clock);
  const ledger: EventDispatcherDeps["ledger"] = {
    async events() {
      onTick();
      return [];
    },
    dropEvents: async () => {},
  };
  const noted: EventDispatcherDeps["send"] = (url) => {
    sent.push(url);
    return url.includes("hangs") ? send() : Promise.resolve(null);
  };
  const onBroken = (error: unknown) => broken.push(String(error));
  const dispatcher = new EventDispatcher({
    shared,
    ledger,
    log,
    webhooks,
    records: of,
    clock,
    send: noted,
    notice: async () => {},
    onBroken,
    tickMs: 100,
  });
  return { dispatcher, log, webhooks, sent, broken };
}

const ended = (accountId: string | null) => ({ kind: "job.ended", accountId, data: {} }) as const;

describe("a teller whose store goes away in the middle of a delivery", () => {
  test("lets go of it, goes on with its ticks, and sends it when the store is back", async () => {
    let [asked, ticks] = [0, 0];
    const frail: Records = {
      ...records,
      get(kind, id) {
        if (kind === "teller") ticks += 1;
        // The store recovers after a hundred tries, which a dispatcher without pauses would make at once.
        if (kind === "webhook" && ++asked <= 100) return Promise.reject(new Error("the store is away"));
        return records.get(kind, id);
      },
    };
    const { dispatcher, log, webhooks, sent, broken } = dispatcherOver(frail);
    await webhooks.create(OPERATOR, "http://hears/", null);
    await log.tell(ended(null), "one");
    dispatcher.start();
    await eventually(() => broken[0], "a delivery that failed");
    const failedAt = ticks;
    await eventually(() => (ticks > failedAt + 1 ? true : undefined), "two more ticks");
    expect(asked).toBe(1);
    expect(sent).toEqual([]);
    asked = 100;
    clock.advance(5_000);
    await eventually(() => sent[0], "the message");
    expect(broken).toHaveLength(1);
    await dispatcher.stop();
  });
});

describe("events that are taken side by side", () => {
  test("are listed in the order in which they happened", async () => {
    let later = 10;
    const slow: Records = {
      ...records,
      async put(record) {
        // The first ones take longest.
        if (record.kind === "event") await new Promise((resolve) => setTimeout(resolve, later--));
        return records.put(record);
      },
    };
    const { dispatcher, log } = dispatcherOver(slow, { shared: false });
    const words = ["one", "two", "three", "four"];
    for (const word of words) await log.tell({ kind: "job.ended", accountId: "a", data: { word } }, word);
    const told = await log.waiting();
    dispatcher.start();
    const listed = async (payer: string) => (await log.page(payer, 10, null)).events.toReversed();
    await eventually(async () => ((await log.waiting()).length === 0 ? true : undefined), "all of them to be listed");
    expect(told.map(({ data }) => data.word)).toEqual(words);
    expect(await listed(OPERATOR)).toEqual(told);
    expect(await listed("acct:a")).toEqual(told);
    await dispatcher.stop();
  });

  test("have all ended when one of them has failed, which is taken again", async () => {
    let [running, failed] = [0, false];
    const frail: Records = {
      ...records,
      async get(kind, id) {
        if (kind !== "event") return records.get(kind, id);
        if (id.startsWith("acct:a ") && !failed) {
          failed = true;
          throw new Error("the store is away");
        }
        running += 1;
        await new Promise((resolve) => setTimeout(resolve, 100));
        running -= 1;
        return records.get(kind, id);
      },
    };
    const { dispatcher, log, broken } = dispatcherOver(frail, { shared: false });
    for (const accountId of ["a", "b"]) await log.tell(ended(accountId), accountId);
    dispatcher.start();
    await eventually(() => broken[0], "the one that fails");
    expect(running).toBe(0);
    expect((await log.page("acct:b", 10, null)).events).toHaveLength(1);
    await eventually(async () => (await log.page("acct:a", 10, null)).events[0], "the other one");
    expect(broken).toHaveLength(1);
    await dispatcher.stop();
  });
});

describe("a message that is to be sent once more", () => {
  test("is sent by the process that leads where another one was asked for it", async () => {
    const leader = dispatcherOver(records);
    const hook = await leader.webhooks.create("acct:a", "http://hears/", null);
    await leader.log.tell(ended("a"), "one");
    leader.dispatcher.start();
    await eventually(() => leader.sent[0], "the message");
    const [event] = (await leader.log.page("acct:a", 1, null)).events;
    if (hook === null || event === undefined) throw new Error("there is nothing to send");
    await dispatcherOver(records).dispatcher.redeliver(hook, event);
    await eventually(() => leader.sent[1], "the message once more");
    await leader.dispatcher.stop();
  });

  test("is sent by a process that shares its store with no other", async () => {
    const { dispatcher, log, webhooks, sent } = dispatcherOver(records, { shared: false });
    const hook = await webhooks.create("acct:a", "http://hears/", null);
    await log.tell(ended("a"), "one");
    dispatcher.start();
    await eventually(() => sent[0], "the message");
    const [event] = (await log.page("acct:a", 1, null)).events;
    if (hook === null || event === undefined) throw new Error("there is nothing to send");
    await dispatcher.redeliver(hook, event);
    await eventually(() => sent[1], "the message once more");
    await dispatcher.stop();
  });
});

test("a teller that shares its store with no other and has nothing to tell writes nothing", async () => {
  let [ticks, puts] = [0, 0];
  const counted: Records = {
    ...records,
    put(record) {
      puts += 1;
      return records.put(record);
    },
  };
  const onTick = () => {
    ticks += 1;
  };
  const { dispatcher } = dispatcherOver(counted, { shared: false, onTick });
  dispatcher.start();
  await eventually(() => (ticks >= 2 ? true : undefined), "two ticks");
  expect(puts).toBe(0);
  await dispatcher.stop();
});

test("an account whose webhooks all hang keeps no other account's waiting", async () => {
  const over = Promise.withResolvers<null>();
  const { dispatcher, log, webhooks, sent } = dispatcherOver(records, { shared: false, send: () => over.promise });
  for (let at = 0; at < 10; at++) await webhooks.create("acct:a", `http://hangs/${at}`, null);
  await webhooks.create("acct:b", "http://hears/", null);
  for (let at = 0; at < 8; at++) await log.tell(ended("a"), at);
  await log.tell(ended("b"), "b");
  dispatcher.start();
  await eventually(() => (sent.includes("http://hears/") ? true : undefined), "the message of the other account");
  expect(sent.length).toBeLessThanOrEqual(65);
  over.resolve(null);
  await eventually(() => (sent.length === 81 ? true : undefined), "what has waited");
  await dispatcher.stop();
});

test("messages to one receiver that fail together are all sent again", async () => {
  let tries = 0;
  const kept: (() => void)[] = [];
  const slow: Records = {
    ...records,
    async put(record) {
      const version = await records.put(record);
      if (record.kind !== "delivery" || !record.value.includes('"failures":1')) return version;
      const both = Promise.withResolvers<void>();
      kept.push(both.resolve);
      // One commit contains both, and takes longer than the pause before the next try.
      if (kept.length === 2) clock.advance(6_000);
      if (kept.length === 2) for (const go of kept) go();
      await both.promise;
      return version;
    },
  };
  const send = async () => (++tries <= 2 ? "it answered 500" : null);
  const { dispatcher, log, webhooks, sent } = dispatcherOver(slow, { shared: false, send });
  await webhooks.create("acct:a", "http://hangs/", null);
  for (let at = 0; at < 2; at++) await log.tell(ended("a"), at);
  dispatcher.start();
  await eventually(() => (sent.length === 4 ? true : undefined), "both messages once more", 20_000);
  await dispatcher.stop();
});

test("nothing is kept of a receiver that has nothing waiting", async () => {
  const { dispatcher, log, webhooks, sent } = dispatcherOver(records, { shared: false });
  const hook = await webhooks.create("acct:a", "http://hears/", null);
  await log.tell(ended("a"), "one");
  dispatcher.start();
  await eventually(() => sent[0], "the message");
  const waiting = async () => (await records.list("delivery", "deliveries", 1, null)).rows.length;
  await eventually(async () => ((await waiting()) === 0 ? true : undefined), "the end of its delivery");
  // Each tick walks through what is waiting.
  const walks = vi.spyOn(Map.prototype, Symbol.iterator);
  await eventually(() => (walks.mock.calls.length > 20 ? true : undefined), "a few ticks");
  const maps = [...walks.mock.contexts] as readonly ReadonlyMap<unknown, unknown>[];
  walks.mockRestore();
  expect(maps.length).toBeGreaterThan(20);
  expect(maps.some((map) => map.has(hook?.id))).toBe(false);
  await dispatcher.stop();
});
