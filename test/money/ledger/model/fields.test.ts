// One table names every field of a hold and of a posting; this test compares the stores with it, and the scripts with their arguments.
import { readdirSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import type { PostingRow } from "../../../../src/core/account-rows.ts";
import { nano } from "../../../../src/core/money.ts";
import { COLUMN_NAMES } from "../../../../src/money/ledger/archive/rows.ts";
import { HOLD_FIELDS, HOLD_LINES, POSTING_FIELDS, POSTING_LINES } from "../../../../src/money/ledger/model/fields.ts";
import type { ReserveRequest } from "../../../../src/money/ledger/model/ledger.ts";
import { ARGUMENTS, argumentsOf } from "../../../../src/money/ledger/redis/arguments.ts";
import { holdLines, postingLines, postingText } from "../../../../src/money/ledger/redis/lines.ts";
import { callKey } from "../../../../src/money/ledger/redis/rows.ts";
import { LEDGER_SCHEMA } from "../../../../src/money/ledger/sqlite/schema.ts";
import { openRedis } from "../../../../src/platform/storage/redis-link.ts";
import { anyRedis, REDIS_MS_MAX } from "../../../support/redis.ts";
import { redisStore } from "../redis/store.ts";
import { CENT, holdRequest, legOf, newAccount, postRequest } from "../requests.ts";
import { sqliteStore, type TestStore } from "../store.ts";

/** Fields of a posting that only SQLite has: its global number, and the links of the lists. */
const OF_SQLITE = ["seq", "before_of_account", "before_of_key"];

const columnsOf = (fields: typeof HOLD_FIELDS | typeof POSTING_FIELDS) =>
  Object.values(fields).flatMap(({ column }) => (column === null ? [] : [column]));
const placesOf = (fields: typeof HOLD_FIELDS | typeof POSTING_FIELDS) =>
  Object.values(fields).map(({ redis }) => redis?.split(".")[0] ?? "nowhere");

test("the tables of SQLite and of the archive have these columns and no others", () => {
  const database = new DatabaseSync(":memory:");
  for (const step of LEDGER_SCHEMA) database.exec(step);
  const columns = (table: string) =>
    database
      .prepare(`PRAGMA table_info(${table})`)
      .all()
      .map(({ name }) => String(name));
  expect(columns("hold").sort()).toEqual(columnsOf(HOLD_FIELDS).sort());
  expect(columns("posting").sort()).toEqual([...columnsOf(POSTING_FIELDS), ...OF_SQLITE].sort());
  database.close();
  expect([...COLUMN_NAMES].sort()).toEqual([...columnsOf(POSTING_FIELDS), "number"].sort());
});

test("every line of a call in Redis is of a field, and every field has its line", () => {
  const elsewhere = ["the key's name", "the leases", "nowhere"];
  const lines = (places: readonly string[]) => new Set(places.filter((place) => !elsewhere.includes(place)));
  expect(lines(placesOf(HOLD_FIELDS))).toEqual(new Set(HOLD_LINES));
  expect(lines(placesOf(POSTING_FIELDS))).toEqual(new Set(POSTING_LINES));
});

async function redis(): Promise<TestStore & { text(accountId: string, id: string): Promise<string> }> {
  const server = await anyRedis();
  const link = await openRedis(server.url, { onBroken: () => {}, commandMsMax: 5_000 });
  const store = redisStore(link, async () => {
    await link.close();
    await server.dispose();
  });
  return Object.assign(store, {
    text: async (accountId: string, id: string) => String(await link.call("GET", callKey(accountId, id))),
  });
}

const wish: Partial<ReserveRequest> = {
  ...{
    parentId: "parent",
    requestId: "req",
    operation: "run",
    asked: "a/b",
    effect: "write",
    onExpire: "post-accrued",
  },
  ...{ owner: "job:7", leaseMs: 70_000, inference: true },
  slots: [{ scope: "calls", max: 8, code: "concurrency_limit" }],
  idempotency: { key: "order", fingerprint: "body", keepMs: 90_000 },
};
const hold = (store: TestStore) => ({ accountId: "ada", holdId: "tx", cents: 5, nowMs: store.clock.epochMs() });

/** A hold and its posting, with no empty field. */
async function play(store: TestStore): Promise<PostingRow> {
  await store.ledger.openAccount(newAccount("ada", 100));
  expect(await store.ledger.reserve(holdRequest(hold(store), wish))).toEqual({ outcome: "held" });
  await store.ledger.extend(hold(store), nano(6 * CENT), nano(2 * CENT), 80_000);
  store.clock.advance(1_000);
  const legs = [legOf({ vendor: "first", ok: false, reason: "timeout", upstreamNano: nano(0) }), legOf({ count: 2 })];
  await store.ledger.post(postRequest({ ...hold(store), cents: 9 }, { legs, estimated: true }));
  const posting = await store.ledger.transaction("ada", "tx");
  if (posting === null) throw new Error("there is no posting");
  return posting;
}

test(
  "a hold's lines are what the script was told, and both stores tell the same posting",
  async () => {
    const [first, second] = [await sqliteStore(), await redis()];
    onTestFinished(async () => {
      await first.dispose();
      await second.dispose();
    });
    await second.ledger.openAccount(newAccount("ada", 100));
    await second.ledger.reserve(holdRequest({ ...hold(second), holdId: "other" }, wish));
    expect(holdLines(await second.text("ada", "other"))).toEqual({
      ...{ amount: String(5 * CENT), accrued: "0", day: String(Math.floor(second.clock.epochMs() / 86_400_000)) },
      ...{ key: "ada.key", inference: "1", effect: "write", on_expire: "post-accrued", slots: "calls" },
      idempotency: JSON.stringify(["ada.key", "order"]),
      meta: JSON.stringify({ parentId: "parent", requestId: "req", operation: "run", asked: "a/b" }),
    });
    await second.ledger.void({ accountId: "ada", holdId: "other" }, "test");
    const [here, there] = [await play(first), await play(second)];
    expect(there).toEqual(here);
    const empty = Object.entries(here).filter(([, value]) => value === null || value === false || value === "");
    // A charge in time has no other empty fields.
    expect(empty.map(([name]) => name).sort()).toEqual(["reason", "reference"]);
    const lines = postingLines(await second.text("ada", "tx"));
    expect(postingText(lines ?? {})).toBe(await second.text("ada", "tx"));
  },
  REDIS_MS_MAX,
);

test("the scripts read what they are told by its name, and all of it", () => {
  const folder = new URL("../../../../src/money/ledger/redis/lua/", import.meta.url);
  const lua = readdirSync(folder)
    .map((name) => readFileSync(new URL(name, folder), "utf8"))
    .join("\n");
  expect(lua.match(/\bA\[\d/g)).toBeNull();
  const used = new Set([...lua.matchAll(/\b([A-Z_]{2,}\.[a-z_]+)/g)].map((match) => match[1] ?? ""));
  const named = Object.entries(ARGUMENTS).flatMap(([script, names]) =>
    names.map((name) => `${script.toUpperCase()}.${name}`),
  );
  const time = ["TIME.gateway", "TIME.leapt", "TIME.given"];
  expect([...used].filter((name) => !name.endsWith(".rest") && !named.includes(name) && !time.includes(name))).toEqual(
    [],
  );
  // `post` reads what `settle_orphan` passes to it under the names of `post`.
  const handedOn = ["SETTLE_ORPHAN.absorb_reason"];
  expect(named.filter((name) => !used.has(name) && !handedOn.includes(name))).toEqual([]);
  expect(argumentsOf("trim", { to: 9, from: 3 })).toEqual([3, 9]);
  expect(ARGUMENTS.settle_orphan.slice(0, ARGUMENTS.post.length)).toEqual(ARGUMENTS.post);
});
