// The teller over a store that fails: what it does while the records are away, and what it sends when they are back.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { manualClock } from "../../src/clock.ts";
import { createEventLog, OPERATOR } from "../../src/events/event-log.ts";
import { Teller, type TellerDeps } from "../../src/events/teller.ts";
import { createWebhooks } from "../../src/events/webhooks.ts";
import type { Records } from "../../src/records/records.ts";
import { RECORDS_UNIT, sqliteRecords } from "../../src/records/sqlite-records.ts";
import { openSqliteThread, type SqliteThread } from "../../src/storage/sqlite-thread.ts";
import { NO_BOUNDS } from "../ledger/store.ts";
import { eventually } from "../support/gateway.ts";

const clock = manualClock(Date.UTC(2026, 0, 1));
const ledger: TellerDeps["ledger"] = { events: async () => [], dropEvents: async () => {} };

let folder: string;
let thread: SqliteThread;
let records: Records;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-teller-"));
  const onFatal = (error: unknown) => console.error(error);
  const file = join(folder, "tollgate.db");
  thread = await openSqliteThread({ file, units: { records: RECORDS_UNIT }, clock, disk: NO_BOUNDS, onFatal });
  records = sqliteRecords(thread);
});
afterEach(async () => {
  await thread.close();
  rmSync(folder, { recursive: true });
});

/** A teller that keeps what it has sent, and to where. */
function tellerOver(of: Records) {
  const [sent, broken]: [string[], string[]] = [[], []];
  const log = createEventLog(of, clock);
  const webhooks = createWebhooks(of, clock);
  const send = async (url: string) => {
    sent.push(url);
    return null;
  };
  const onBroken = (error: unknown) => broken.push(String(error));
  return {
    teller: new Teller({ ledger, log, webhooks, records: of, clock, send, onBroken }),
    log,
    webhooks,
    sent,
    broken,
  };
}

describe("a teller whose store goes away in the middle of a delivery", () => {
  test("lets go of it, goes on with its ticks, and sends it when the store is back", async () => {
    let [asked, ticks] = [0, 0];
    const frail: Records = {
      ...records,
      get(kind, id) {
        if (kind === "teller") ticks += 1;
        // It is back after a hundred tries: that many would be made at once by a teller that does not wait.
        if (kind === "webhook" && ++asked <= 100) return Promise.reject(new Error("the store is away"));
        return records.get(kind, id);
      },
    };
    const { teller, log, webhooks, sent, broken } = tellerOver(frail);
    await webhooks.create(OPERATOR, "http://hears/", null);
    await log.tell({ kind: "job.ended", accountId: null, data: {} }, "one");
    teller.start();
    await eventually(() => broken[0], "a delivery that failed");
    const failedAt = ticks;
    await eventually(() => (ticks > failedAt + 1 ? true : undefined), "two more ticks");
    expect(asked).toBe(1);
    expect(sent).toEqual([]);
    asked = 100;
    clock.advance(5_000);
    await eventually(() => sent[0], "the message");
    expect(broken).toHaveLength(1);
    await teller.stop();
  });
});
