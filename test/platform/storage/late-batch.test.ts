// A batch that is answered once it is on disk: one message instead of two, while nothing else is in progress.
import { expect, test } from "vitest";
import { StoreClients } from "../../../src/platform/storage/store-clients.ts";
import { ThreadClient } from "../../../src/platform/storage/thread-client.ts";
import type { Batch, BatchAnswer, FromThread, OperationEntry } from "../../../src/platform/storage/wire.ts";
import { START_MS } from "../../money/ledger/store.ts";
import { manualClock } from "../../support/manual-clock.ts";

const REFUSED = expect.objectContaining({ code: "ledger_unavailable" });
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A client whose thread the test plays. */
function open() {
  const batches: Batch[] = [];
  const others: unknown[] = [];
  const port = {
    post: (message: unknown) =>
      void (typeof message === "string" ? batches.push(JSON.parse(message)) : others.push(message)),
    cut() {},
  };
  const reading = {
    ask: () => Promise.resolve([]),
    inquire: () => Promise.resolve(null),
    close: () => Promise.resolve(),
  };
  const entry = (name: string, isShort: boolean): OperationEntry => ({ unit: "u", name, admission: false, isShort });
  const entries = [entry("post", true), entry("list", false)];
  const client = new ThreadClient({
    port,
    entries,
    reading,
    clock: manualClock(START_MS),
    shared: false,
    onFatal() {},
  });
  const call = client.unit<Record<"post" | "list", (argument: string) => string>>("u");
  const sent = () => batches.map(({ calls, isLate }) => [...calls.filter((_, at) => at % 2 === 1), isLate]);
  const answer = (values: readonly string[], more: Partial<BatchAnswer> = {}) =>
    client.hear(JSON.stringify({ values, errors: null, commit: 0, isLate: false, ...more } satisfies BatchAnswer));
  return { client, call, sent, answer, others };
}

/** What has become of a promise. */
async function stateOf(promise: Promise<unknown>): Promise<unknown> {
  await turn();
  return Promise.race([promise, Promise.resolve("waits")]);
}

test("a short durable operation that is alone is sent at once and answered once", async () => {
  const { call, sent, answer } = open();
  const post = call("post", "one");
  await Promise.resolve();
  expect(sent()).toEqual([["one", true]]);
  answer(["posted"], { isLate: true });
  expect(await post).toBe("posted");
});

test("others are sent meanwhile, and each gets its own answer in whatever order they come", async () => {
  const { call, sent, answer, client } = open();
  const first = call("post", "first");
  await turn();
  const lost = call("post", "lost", { mayBeLost: true });
  await turn();
  const next = call("post", "next");
  await turn();
  expect(sent()).toEqual([
    ["first", true],
    ["lost", false],
  ]);
  answer(["lost!"], { commit: 1 });
  expect(await lost).toBe("lost!");
  await turn();
  expect(sent().at(-1)).toEqual(["next", false]);
  answer(["next!"], { commit: 2 });
  expect(await stateOf(first)).toBe("waits");
  answer(["first!"], { isLate: true });
  expect(await first).toBe("first!");
  expect(await stateOf(next)).toBe("waits");
  client.hear(2);
  expect(await next).toBe("next!");
});

test("operations that nobody waits for go with it, and are told only if they were not done", async () => {
  const { call, sent, answer } = open();
  const failed: string[] = [];
  for (const word of ["done", "refused"]) void call("post", word, { onFailed: () => failed.push(word) });
  await turn();
  expect(sent()).toEqual([]);
  const post = call("post", "one");
  await turn();
  expect(sent()).toEqual([["done", "refused", "one", true]]);
  answer(["", "", "posted"], { isLate: true, errors: { 1: "no such key" } });
  expect(await post).toBe("posted");
  expect(failed).toEqual(["refused"]);
});

test("a late answer that comes while another batch runs is its own operation's", async () => {
  const { call, answer } = open();
  const late = call("post", "late");
  await turn();
  const running = call("post", "running", { mayBeLost: true });
  await turn();
  answer(["late!"], { isLate: true });
  expect(await late).toBe("late!");
  expect(await stateOf(running)).toBe("waits");
  answer(["running!"]);
  expect(await running).toBe("running!");
});

test.each([
  ["answers that may be long", "list", {}],
  ["operations that a crash may lose", "post", { mayBeLost: true }],
] as const)("%s are answered before they are on disk", async (_, name, manner) => {
  const { call, sent, answer } = open();
  const called = call(name, "x", manner);
  await turn();
  expect(sent()).toEqual([["x", false]]);
  answer(["y"]);
  expect(await called).toBe("y");
});

test("several operations of a turn go together, and are answered early", async () => {
  const { call, sent } = open();
  void call("post", "one");
  void call("post", "two");
  await turn();
  expect(sent()).toEqual([["one", "two", false]]);
});

test("an error in a late answer rejects its operation", async () => {
  const { call, answer } = open();
  const post = call("post", "one");
  await turn();
  answer([null as never], { isLate: true, errors: { 0: "the disk is full" } });
  await expect(post).rejects.toEqual(REFUSED);
});

test("the store breaks: the late operation is rejected too, as it may or may not be on disk", async () => {
  const { client, call } = open();
  const post = call("post", "one");
  await turn();
  client.break(new Error("disk I/O error"));
  await expect(post).rejects.toEqual(REFUSED);
});

test("a closing client waits for its late answer, and then closes the thread", async () => {
  const { client, call, answer, others } = open();
  const post = call("post", "one");
  await turn();
  const closed = client.close();
  await turn();
  expect(others).toEqual([]);
  answer(["posted"], { isLate: true });
  expect(await post).toBe("posted");
  await turn();
  expect(others).toEqual([{ kind: "close" }]);
  client.exited(new Error("it was asked to"));
  await closed;
});

test("a thread that ends before its late answer has failed", async () => {
  const { client, call } = open();
  const post = call("post", "one");
  await turn();
  const closed = client.close();
  client.exited(new Error("the storage thread ended"));
  await expect(closed).rejects.toThrow("the storage thread ended");
  await expect(post).rejects.toEqual(REFUSED);
});

test("the thread tells a late answer with its commit's sync, not before", () => {
  const said: FromThread[] = [];
  const clients = new StoreClients((message) => void said.push(message));
  clients.own.late = { commit: 3, text: "third" };
  clients.synced(2);
  expect(said).toEqual([]);
  clients.own.waitsFor = 4;
  clients.synced(3);
  expect(said).toEqual(["third", 3]);
  clients.synced(4);
  expect(said).toEqual(["third", 3, 4]);
});
