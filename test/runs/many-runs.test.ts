// How much of the store's queue a list or a tree of many runs takes: the calls of all accounts wait in the same queue.
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { GatewayRequest } from "../../src/core/endpoint.ts";
import { nano } from "../../src/core/money.ts";
import { ownRunEndpoints, type RunParts } from "../../src/money/runs/run-endpoints.ts";
import { Runs } from "../../src/money/runs/runs.ts";
import { RECORDS_UNIT, sqliteRecords } from "../../src/platform/records/sqlite-records.ts";
import { openSqliteThread } from "../../src/platform/storage/sqlite-thread.ts";
import { NO_BOUNDS } from "../money/ledger/store.ts";
import { callerOf } from "../simulation/process.ts";
import { folderForFile } from "../support/for-file.ts";
import { manualClock } from "../support/manual-clock.ts";

const folder = folderForFile("tollgate-many-runs-");
const WAITING_MAX = 400;

/** Passes on every method, and notes how many of their promises are open at most. */
function counted<T extends object>(target: T, seen: { open: number; most: number }): T {
  return new Proxy(target, {
    get(of, name) {
      const method = Reflect.get(of, name) as unknown;
      if (typeof method !== "function") return method;
      return (...words: unknown[]) => {
        const made: unknown = method.apply(of, words);
        if (!(made instanceof Promise)) return made;
        seen.most = Math.max(seen.most, ++seen.open);
        return made.finally(() => {
          seen.open -= 1;
        });
      };
    },
  });
}

test("lists and trees of many runs take few places in the store's queue at once", async () => {
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const onBroken = (error: unknown) => console.error("the runs broke:", error);
  const file = join(folder, "tollgate.db");
  const units = { records: RECORDS_UNIT };
  const thread = await openSqliteThread({ file, units, clock, disk: NO_BOUNDS, onFatal: onBroken });
  onTestFinished(() => thread.close());
  const seen = { open: 0, most: 0 };
  const records = counted(sqliteRecords(thread), seen);
  const books = counted({ periodSums: async () => [] }, seen);
  const runs = new Runs({ records, books, ...{ clock, hears: () => true, onBroken, forget() {} } });
  const caller = callerOf(0, { creditNano: 1, ceilingNano: null, inFlightMax: 1 });
  const open = (id: string, parent: string | null) => runs.open(caller, { id, budgetNano: nano(1), parent });
  await open("top", null);
  for (let at = 0; at < 16; at++) {
    await open(`r${at}`, "top");
    for (let below = 0; below < 6; below++) await open(`r${at}.${below}`, `r${at}`);
  }
  const endpoints = ownRunEndpoints({ runs, records, keys: { clock, books } } as unknown as RunParts);
  const request = { query: new URLSearchParams("limit=1000"), params: { id: "top" }, headers: new Map() };
  const five = (wanted: string) => {
    const endpoint = endpoints.find(({ method, path }) => `${method} ${path}` === wanted);
    if (endpoint === undefined || !("answer" in endpoint)) throw new Error(`there is no ${wanted}`);
    const asked = { request: request as unknown as GatewayRequest, caller };
    return Promise.all(Array.from({ length: 5 }, () => endpoint.answer(asked)));
  };
  seen.most = 0;
  const trees = await five("POST /api/v1/runs/{id}/stop");
  expect(trees.map(({ body }) => JSON.stringify(body).split('"children"').length - 1)).toEqual(Array(5).fill(113));
  expect(seen.most).toBeLessThan(WAITING_MAX);
  seen.most = 0;
  const lists = await five("GET /api/v1/runs");
  expect(lists.map(({ body }) => (body as { runs: unknown[] }).runs.length)).toEqual(Array(5).fill(113));
  expect(seen.most).toBeLessThan(WAITING_MAX);
});
