// Reports over many postings, in a file beside calls, or in a PostgreSQL: `node bench/usage.ts [postings] [accounts] [postgres url]`.
// The postings are written by the database itself; nothing is asked over HTTP.
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Client } from "pg";
import { systemClock } from "../src/clock.ts";
import { openPostgresArchive } from "../src/ledger/archive/postgres.ts";
import { sqliteLedger } from "../src/ledger/sqlite/ledger.ts";
import { LEDGER_SCHEMA } from "../src/ledger/sqlite/schema.ts";
import { nano } from "../src/money.ts";
import { openSqliteThread } from "../src/storage/sqlite-thread.ts";
import { migrate } from "../src/storage/sqlite-unit.ts";
import type { Reports, UsageField } from "../src/usage-rows.ts";

const POSTINGS = Number(process.argv[2] ?? 1_000_000);
const ACCOUNTS = Number(process.argv[3] ?? 1_000);
const POSTGRES = process.argv[4];
const DAYS = 30;
const MODELS = 20;
const START_MS = Date.UTC(2026, 10, 1);
const STEP_MS = Math.max(1, Math.floor((DAYS * 86_400_000) / POSTINGS));
/** By turns, with reports and without. */
const ROUNDS = 7;
const ROUND_MS = 2_000;
const USAGE = `{"inputTokens":1000,"cacheReadTokens":0,"cacheWriteTokens":0,"outputTokens":200,"reasoningTokens":0}`;

const say = (text: string) => process.stdout.write(`${text}\n`);

async function timed<T>(what: string, work: () => Promise<T> | T): Promise<T> {
  const fromMs = systemClock.elapsedMs();
  const result = await work();
  say(`${what}: ${((systemClock.elapsedMs() - fromMs) / 1000).toFixed(2)} s`);
  return result;
}

/** One charge after the other, over accounts and models by turns, as text of SQL for number `n`. */
const account = `'acct_' || (n * 7919 % ${ACCOUNTS})`;
const model = `'maker/model-' || (n * 31 % ${MODELS})`;

function fillFile(file: string): void {
  const database = new DatabaseSync(file);
  database.exec(
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -262144; PRAGMA foreign_keys = OFF",
  );
  // As the release before sums left it.
  migrate(database, "ledger", LEDGER_SCHEMA.slice(0, 4));
  database.exec(`BEGIN;
    WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ${ACCOUNTS})
    INSERT INTO account (account_id, name, kind, created_at, frozen, inference_cap, requests_per_minute, in_flight_max,
      granted, spent, absorbed, clock, last_posting)
      SELECT 'acct_' || n, 'bench', 'personal', ${START_MS}, 0, 9000000000000000, 600, 64, 9000000000000000, 0, 0, ${START_MS}, NULL FROM numbers;
    WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ${ACCOUNTS})
    INSERT INTO api_key (key_id, account_id, is_primary, secret_hash, hint, label, external_id, paused, ceiling, ceiling_period,
      created_at, last_used_at) SELECT 'acct_' || n || '.key', 'acct_' || n, 1, 'hash ' || n, '', '', NULL, 0, NULL, NULL, 1, NULL FROM numbers;
    WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ${POSTINGS})
    INSERT INTO posting (seq, transaction_id, kind, account_id, key_id, request_id, created_at, day, inference, operation, asked,
      served, provider, amount, charged_cents, upstream, absorbed, usage, before_of_account)
      SELECT n + 1, 'tx_' || n, 'charge', ${account}, ${account} || '.key', 'req_' || n, ${START_MS} + n * ${STEP_MS},
        (${START_MS} + n * ${STEP_MS}) / 86400000, 1, 'chat', ${model}, ${model}, 'vendor-' || (n * 31 % ${MODELS} % 4),
        1234567 + n % 1000, 0, 1000000, 0, '${USAGE}', CASE WHEN n >= ${ACCOUNTS} THEN n + 1 - ${ACCOUNTS} END FROM numbers;
    COMMIT; PRAGMA wal_checkpoint(TRUNCATE)`);
  database.close();
}

async function ask(reports: Reports, name: string): Promise<void> {
  const all = { accountId: null, keyId: null, model: null, provider: null, tag: null, fromMs: null, toMs: null };
  const query = { ...all, kind: "charged" as const, limit: 1_000, cursor: null };
  const dayFrom = START_MS + 10 * 86_400_000;
  const reportsAsked: [string, readonly UsageField[], Partial<typeof all>][] = [
    ["by day and model", ["day", "model"], {}],
    ["by day and model, of one account", ["day", "model"], { accountId: "acct_7" } as never],
    ["by account", ["account"], {}],
    [
      "by account and model, of a part of a day",
      ["account", "model"],
      { fromMs: dayFrom + 1, toMs: dayFrom + 86_000_000 } as never,
    ],
  ];
  for (const [what, by, filters] of reportsAsked) {
    await timed(`${name}, usage ${what}`, () => reports.usage({ ...query, ...filters, by }));
  }
  const search = { ...all, kind: null, limit: 100, cursor: null };
  await timed(`${name}, the last 100 transactions`, () => reports.search(search));
  await timed(`${name}, an account's last 100 transactions`, () => reports.search({ ...search, accountId: "acct_7" }));
  const old = { fromMs: dayFrom as never, toMs: (dayFrom + 86_400_000) as never };
  await timed(`${name}, an account's 100 of a day long ago`, () =>
    reports.search({ ...search, accountId: "acct_7", ...old }),
  );
  await timed(`${name}, 100 of a model, of one day`, () =>
    reports.search({ ...search, model: "maker/model-3" as never, ...old }),
  );
}

/** Holds and posts of a few callers at once, as many as there is time for. */
async function calls(ledger: ReturnType<typeof sqliteLedger>, ms: number, stop = () => false): Promise<number> {
  const untilMs = systemClock.elapsedMs() + ms;
  let [made, at] = [0, 0];
  const caller = async () => {
    while (systemClock.elapsedMs() < untilMs && !stop()) {
      const accountId = `acct_${at++ % ACCOUNTS}`;
      const hold = { accountId, holdId: `bench_${process.hrtime.bigint()}_${at}` };
      const held = await ledger.reserve({
        ...hold,
        keyId: `${accountId}.key`,
        parentId: null,
        amountNano: nano(1_000),
        slots: [],
        inference: true,
        owner: "bench",
        leaseMs: 60_000,
        onExpire: "void",
        requestId: "req",
        operation: "chat",
        asked: "core/cheap",
        effect: "read",
        idempotency: null,
        nowMs: systemClock.epochMs(),
      });
      if (held.outcome !== "held") throw new Error(`not held: ${held.outcome}`);
      await ledger.post({
        ...hold,
        amountNano: nano(900),
        upstreamNano: nano(7),
        absorbReason: "usage_above_hold",
        provider: "vendor-1",
        served: "maker/model-1",
        usage: JSON.parse(USAGE),
        estimated: false,
        priceVersion: "1",
        legs: [],
      });
      made += 1;
    }
  };
  await Promise.all(Array.from({ length: 64 }, caller));
  return (made * 1000) / ms;
}

async function ofFile(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-bench-usage-"));
  const file = join(folder, "tollgate.db");
  try {
    await timed(`a file of ${POSTINGS} postings and ${ACCOUNTS} accounts is written`, () => fillFile(file));
    const LEDGER_UNIT = new URL("../src/ledger/sqlite/unit.ts", import.meta.url);
    const open = () =>
      openSqliteThread({
        file,
        units: { ledger: LEDGER_UNIT },
        sharing: "readers",
        clock: systemClock,
        onFatal: (error) => say(String(error)),
      });
    const first = await timed("its first start, which makes the sums", open);
    await first.close();
    const thread = await timed("its next start", open);
    const ledger = sqliteLedger(thread);
    await ask(ledger, "SQLite");
    await calls(ledger, 2_000);
    const rates: Record<"alone" | "beside", number[]> = { alone: [], beside: [] };
    let reports = 0;
    const everything = {
      accountId: null,
      keyId: null,
      model: null,
      provider: null,
      tag: null,
      fromMs: null,
      toMs: null,
    };
    for (let round = 0; round < ROUNDS; round++) {
      for (const how of ["alone", "beside"] as const) {
        let going = how === "beside";
        const asking = (async () => {
          while (going) {
            await ledger.usage({ ...everything, by: ["day", "model"], kind: "charged", limit: 1_000, cursor: null });
            reports += 1;
            await new Promise((resolve) => setTimeout(resolve, 1_000));
          }
        })();
        rates[how].push(await calls(ledger, ROUND_MS));
        going = false;
        await asking;
      }
    }
    const median = (all: readonly number[]) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;
    const [alone, beside] = [median(rates.alone), median(rates.beside)];
    say(`calls a second: ${alone.toFixed(0)} alone, ${beside.toFixed(0)} beside ${reports} reports by day and model`);
    await ledger.close();
    say(`the file: ${(statSync(file).size / 1024 / 1024).toFixed(0)} MiB`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function ofServer(url: string): Promise<void> {
  const archive = await openPostgresArchive(url);
  await archive.close();
  const client = new Client({ connectionString: url });
  await client.connect();
  const batch = 100_000;
  await timed(`${POSTINGS} postings are added to PostgreSQL, with their sums`, async () => {
    for (let from = 0; from < POSTINGS; from += batch) {
      await client.query(`INSERT INTO tollgate_posting (account_id, number, transaction_id, kind, key_id, request_id, created_at, day,
          inference, operation, asked, served, provider, amount, charged_cents, upstream, absorbed, usage, estimated)
        SELECT ${account}, n / ${ACCOUNTS} + 1, 'tx_' || n, 'charge', ${account} || '.key', 'req_' || n, ${START_MS} + n * ${STEP_MS},
          (${START_MS} + n * ${STEP_MS}) / 86400000, 1, 'chat', ${model}, ${model}, 'vendor-' || (n * 31 % ${MODELS} % 4),
          1234567 + n % 1000, 0, 1000000, 0, '${USAGE}', 0 FROM generate_series(${from}::bigint, ${Math.min(from + batch, POSTINGS) - 1}::bigint) AS s(n)`);
    }
  });
  await client.query("ANALYZE");
  await client.end();
  const again = await openPostgresArchive(url);
  await ask(again, "PostgreSQL");
  await again.close();
}

if (POSTGRES === undefined) await ofFile();
else await ofServer(POSTGRES);
