// The ledger alone: hold and post pairs with 1, 64 and 512 in flight, on a real file with real commits.
import { randomBytes } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { systemClock } from "../src/core/clock.ts";
import { nano } from "../src/core/money.ts";
import { createWindows } from "../src/kernel/windows.ts";
import type { Ledger, PostRequest, ReserveRequest } from "../src/money/ledger/model/ledger.ts";
import { LEDGER_UNIT, sqliteLedger } from "../src/money/ledger/sqlite/ledger.ts";
import { openSqliteThread } from "../src/platform/storage/sqlite-thread.ts";
import { removeFolder } from "../test/support/remove-folder.ts";

export interface LedgerBenchRow {
  readonly inFlight: number;
  readonly accounts: number;
  readonly opsPerSecond: number;
  /** From an operation's call to its result. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The process's user and system time per hold and post. */
  readonly cpuUsPerPair: number;
}

export interface LedgerBenchOptions {
  readonly inFlight?: readonly number[];
  /** 1: all calls use one hot account. */
  readonly accounts?: number;
  readonly secondsPerRun?: number;
}

/** Runs hold and post pairs, `inFlight` at a time, and measures their speed and CPU. */
export async function ledgerBench(options: LedgerBenchOptions = {}): Promise<LedgerBenchRow[]> {
  const { inFlight = [1, 64, 512], accounts = 64, secondsPerRun = 2 } = options;
  const folder = mkdtempSync(join(tmpdir(), "tollgate-bench-"));
  const thread = await openSqliteThread({
    file: join(folder, "tollgate.db"),
    units: { ledger: LEDGER_UNIT },
    sharing: "readers",
    clock: systemClock,
    disk: { freeBytesMin: 0, ballastBytes: 0 },
    onFatal: (error) => {
      throw error;
    },
  });
  try {
    const ledger = sqliteLedger(thread);
    for (let at = 0; at < accounts; at++) await openAccount(ledger, at);
    const rows: LedgerBenchRow[] = [];
    await run(ledger, 64, accounts, 0.5);
    for (const count of inFlight) rows.push(await run(ledger, count, accounts, secondsPerRun));
    return rows;
  } finally {
    await thread.close();
    removeFolder(folder);
  }
}

/** Opens an account without limits, with its key. */
export async function openAccount(ledger: Ledger, at: number): Promise<void> {
  await ledger.openAccount({
    accountId: `account-${at}`,
    name: "bench",
    kind: "sandbox",
    creditNano: nano(1e15),
    inferenceCapNano: nano(1e15),
    requestsPerMinute: 600,
    inFlightMax: 64,
    primaryKey: {
      keyId: `key-${at}`,
      secretHash: randomBytes(32).toString("hex"),
      hint: "tg_sk_te...st",
      label: "primary",
      externalId: null,
      ceilingNano: nano(1e15),
      ceilingPeriod: "month",
      services: null,
      models: null,
      expiresAtMs: null,
    },
  });
}

async function run(ledger: Ledger, inFlight: number, accounts: number, seconds: number): Promise<LedgerBenchRow> {
  const took: number[] = [];
  let pairs = 0;
  const timed = async <T>(operation: Promise<T>): Promise<T> => {
    const from = performance.now();
    const answer = await operation;
    took.push(performance.now() - from);
    return answer;
  };
  const cpuFrom = process.cpuUsage();
  const from = performance.now();
  const lane = async (): Promise<void> => {
    while (performance.now() - from < seconds * 1000) {
      await pair(ledger, pairs++ % accounts, timed);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  const seconds_ = (performance.now() - from) / 1000;
  const cpu = process.cpuUsage(cpuFrom);
  took.sort((a, b) => a - b);
  return {
    inFlight,
    accounts,
    opsPerSecond: Math.round(took.length / seconds_),
    p50Ms: round(took[Math.floor(took.length * 0.5)] ?? 0),
    p99Ms: round(took[Math.floor(took.length * 0.99)] ?? 0),
    cpuUsPerPair: round((cpu.user + cpu.system) / pairs),
  };
}

let made = 0;

/** The windows of an ordinary call, as the gateway makes them. */
const WINDOWS = createWindows(nano(1e15)).unpaid({
  id: "acct:bench",
  accountId: "bench",
  keyId: "key",
  sandbox: false,
});

/** The hold of one chat call. */
export function holdRequest(accountId: string, holdId: string, keyId: string): ReserveRequest {
  return {
    ...{ accountId, holdId, keyId, parentId: null, amountNano: nano(20_000), inference: true, windows: WINDOWS },
    slots: [{ scope: "calls", max: 1_000, code: "concurrency_limit" }],
    ...{ owner: "process-1", leaseMs: 60_000, onExpire: "void", requestId: `req_${holdId}`, operation: "chat" },
    ...{ asked: "core/cheap", effect: "read", idempotency: null, nowMs: Date.now() },
  };
}

/** Its final cost. */
export function postRequest(accountId: string, holdId: string): PostRequest {
  return {
    ...{ accountId, holdId, amountNano: nano(12_345), upstreamNano: nano(9_000), absorbReason: "usage_above_hold" },
    ...{ provider: "vendor", served: "maker/model-small", estimated: false, priceVersion: "2026-01-01" },
    usage: { inputTokens: 812, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 96, reasoningTokens: 0 },
    legs: [
      {
        vendor: "vendor",
        model: "maker/model-small",
        upstreamNano: nano(9_000),
        ok: true,
        ms: 812,
        reason: null,
        count: 1,
      },
    ],
  };
}

async function pair(ledger: Ledger, at: number, timed: <T>(operation: Promise<T>) => Promise<T>): Promise<void> {
  const accountId = `account-${at}`;
  // Time-ordered like the gateway's ids, so that their index grows at one end.
  const holdId = `tx_${Date.now().toString(36)}${(made++).toString(36).padStart(6, "0")}${randomBytes(6).toString("hex")}`;
  const held = await timed(ledger.reserve(holdRequest(accountId, holdId, `key-${at}`)));
  if (held.outcome !== "held") throw new Error(`not held: ${held.outcome}`);
  const posted = await timed(ledger.post(postRequest(accountId, holdId)));
  if (posted.outcome !== "posted") throw new Error(`not posted: ${posted.outcome}`);
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  console.table([...(await ledgerBench()), ...(await ledgerBench({ accounts: 1, inFlight: [64] }))]);
}
