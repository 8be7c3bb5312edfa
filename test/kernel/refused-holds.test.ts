// Calls that the ledger refuses before it changes anything: however many there are, they leave nothing to undo or to store.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { GatewayError } from "../../src/core/errors.ts";
import { LedgerFunds } from "../../src/kernel/ledger-funds.ts";
import type { Ledger } from "../../src/money/ledger/model/ledger.ts";
import { sqliteLedger } from "../../src/money/ledger/sqlite/ledger.ts";
import type { Records } from "../../src/platform/records/records.ts";
import { cost, startSpooled } from "../money/ledger/spool/spooled.ts";
import { openLedgerThread } from "../money/ledger/store.ts";
import { eventually } from "../support/gateway.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { CALLER, planOver, scriptedDeps } from "../support/scripted-plan.ts";

const CALLS = 20;
const UNAVAILABLE = Array.from({ length: CALLS }, () => "ledger_unavailable");
const unasked = () => Promise.reject(new Error("a hold needs no records"));
const NO_RECORDS: Records = {
  get: unasked,
  sizes: unasked,
  put: unasked,
  delete: unasked,
  list: unasked,
  sweep: unasked,
};
let made = 0;

/** The outcome of calls at this ledger, and how many voids they leave. */
async function callAt(ledger: Ledger) {
  let voids = 0;
  const counted: Ledger = {
    ...ledger,
    void(...args) {
      voids++;
      return ledger.void(...args);
    },
  };
  const deps = scriptedDeps({ stores: { ledger: counted, records: NO_RECORDS }, lines: [], broken: [] });
  const funds = new LedgerFunds(deps, CALLER, { requestId: "req_1", rateLimit: { learn() {} } });
  const { plan } = planOver([], {});
  const calls = Array.from({ length: CALLS }, () => funds.reserve(plan, `tx_${++made}`, null));
  const codes = (await Promise.all(calls)).map((one) => (one instanceof GatewayError ? one.code : "held"));
  return { codes, voids };
}

describe("a refused call leaves nothing", () => {
  it("while Redis is away", async () => {
    const { ledger, redis, hold } = await startSpooled();
    await redis.kill();
    const isKnown = () =>
      hold(`tx_${++made}`, 1).then(
        () => undefined,
        (error: GatewayError) => error.options.nothingDone || undefined,
      );
    await eventually(isKnown, "the loss of the connection to be seen");
    expect(await callAt(ledger)).toEqual({ codes: UNAVAILABLE, voids: 0 });
    expect(ledger.spoolState().depth).toBe(0);
  });

  it("in a full Redis, which would keep a mark of each for hours", async () => {
    const { ledger, redis } = await startSpooled();
    await redis.send("CONFIG", "SET", "maxmemory", "1");
    const keys = await redis.send("DBSIZE");
    expect(await callAt(ledger)).toEqual({ codes: UNAVAILABLE, voids: 0 });
    expect(await redis.send("DBSIZE")).toBe(keys);
  });

  it("in a spool in which too many ends wait already", async () => {
    const { ledger, redis, hold, reopen } = await startSpooled();
    await hold("tx_1", 5);
    const { ledger: narrow } = await reopen({ openMax: 1 });
    await redis.kill();
    expect(await narrow.post(cost("tx_1", 3))).toMatchObject({ outcome: "spooled" });
    expect(await callAt(narrow)).toEqual({ codes: UNAVAILABLE, voids: 0 });
    expect([narrow.spoolState().depth, ledger.spoolState().depth]).toEqual([1, 0]);
  });

  it("on a disk that is nearly full", async () => {
    const folder = mkdtempSync(join(tmpdir(), "tollgate-refused-"));
    const bounds = { freeBytesMin: Number.MAX_SAFE_INTEGER, ballastBytes: 0 };
    const ledger = sqliteLedger(await openLedgerThread(join(folder, "tollgate.db"), systemClock, bounds));
    onTestFinished(async () => {
      await ledger.close();
      removeFolder(folder);
    });
    expect(await callAt(ledger)).toEqual({ codes: UNAVAILABLE, voids: 0 });
  });
});
