// Reports over many postings, in a file beside calls, or in a PostgreSQL: `node bench/usage.ts [postings] [accounts] [postgres url]`.
// The database writes the postings, the same as those of `growth`. The bench sends no HTTP requests.
import { mkdtempSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { systemClock } from "../src/core/clock.ts";
import { nano } from "../src/core/money.ts";
import {
  NO_FILTERS,
  type PostingFilters,
  type Reports,
  type UsageField,
  type UsageQuery,
} from "../src/core/usage-rows.ts";
import { openPostgresArchive } from "../src/money/ledger/archive/postgres.ts";
import { sqliteLedger } from "../src/money/ledger/sqlite/ledger.ts";
import { openSqliteThread } from "../src/platform/storage/sqlite-thread.ts";
import { removeFolder } from "../test/support/remove-folder.ts";
import { burstsOf, chargePlaces, fillLedger, type KnownAccount, USAGE } from "./fill-ledger.ts";

const POSTINGS = Number(process.argv[2] ?? 1_000_000);
const ACCOUNTS = Number(process.argv[3] ?? 1_000);
const POSTGRES = process.argv[4];
const START_MS = Date.UTC(2026, 9, 1);
const SIZE = { accounts: ACCOUNTS, postings: POSTINGS, startMs: START_MS };
/** Accounts that call, at most. */
const CALLING = 20_000;
/** By turns, with reports and without. */
const ROUNDS = 7;
const ROUND_MS = 2_000;
/** Postings that are added to PostgreSQL at once. */
const BATCH = 100_000;

const say = (text: string) => process.stdout.write(`${text}\n`);

async function timed<T>(what: string, work: () => Promise<T> | T): Promise<T> {
  const fromMs = systemClock.elapsedMs();
  const result = await work();
  say(`${what}: ${((systemClock.elapsedMs() - fromMs) / 1000).toFixed(2)} s`);
  return result;
}

async function ask(reports: Reports, name: string, accountId: string): Promise<void> {
  const query = { ...NO_FILTERS, kind: "charged" as const, limit: 1_000, cursor: null };
  const dayFrom = START_MS + 10 * 86_400_000;
  const reportsAsked: [string, readonly UsageField[], Partial<PostingFilters>][] = [
    ["by day and model", ["day", "model"], {}],
    ["by day and model, of one account", ["day", "model"], { accountId }],
    ["by account", ["account"], {}],
    [
      "by account and model, of a part of a day",
      ["account", "model"],
      { fromMs: dayFrom + 1, toMs: dayFrom + 86_000_000 },
    ],
  ];
  for (const [what, by, filters] of reportsAsked) {
    await timed(`${name}, usage ${what}`, () => reports.usage({ ...query, ...filters, by, sandbox: false }));
  }
  const search = { ...NO_FILTERS, kind: null, limit: 100, cursor: null };
  await timed(`${name}, the last 100 transactions`, () => reports.search(search));
  await timed(`${name}, an account's last 100 transactions`, () => reports.search({ ...search, accountId }));
  const old = { fromMs: dayFrom, toMs: dayFrom + 86_400_000 };
  await timed(`${name}, an account's 100 of a day long ago`, () => reports.search({ ...search, accountId, ...old }));
  await timed(`${name}, 100 of a model, of one day`, () =>
    reports.search({ ...search, model: "maker/model-3", ...old }),
  );
}

/** Holds and posts of a few callers at once, as many as there is time for. */
async function calls(
  ledger: ReturnType<typeof sqliteLedger>,
  known: readonly KnownAccount[],
  ms: number,
): Promise<number> {
  const untilMs = systemClock.elapsedMs() + ms;
  let [made, at] = [0, 0];
  const caller = async () => {
    while (systemClock.elapsedMs() < untilMs) {
      const caller = known[at++ % known.length];
      if (caller === undefined) return;
      const { accountId, keyId } = caller;
      const hold = { accountId, holdId: `bench_${process.hrtime.bigint()}_${at}` };
      const held = await ledger.reserve({
        ...hold,
        keyId,
        parentId: null,
        amountNano: nano(1_000),
        slots: [],
        inference: true,
        windows: [],
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
    const { known, postings } = await timed(`a file of ${POSTINGS} postings and ${ACCOUNTS} accounts is written`, () =>
      fillLedger(file, { ...SIZE, known: Math.min(ACCOUNTS, CALLING) }),
    );
    say(`${postings} postings`);
    const LEDGER_UNIT = new URL("../src/money/ledger/sqlite/unit.ts", import.meta.url);
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
    await ask(ledger, "SQLite", known[7 % known.length]?.accountId ?? "");
    await calls(ledger, known, 2_000);
    const rates: Record<"alone" | "beside", number[]> = { alone: [], beside: [] };
    let reports = 0;
    const byDayAndModel: UsageQuery = {
      ...NO_FILTERS,
      by: ["day", "model"],
      kind: "charged",
      sandbox: false,
      limit: 1_000,
      cursor: null,
    };
    for (let round = 0; round < ROUNDS; round++) {
      for (const how of ["alone", "beside"] as const) {
        let going = how === "beside";
        const asking = (async () => {
          while (going) {
            await ledger.usage(byDayAndModel);
            reports += 1;
            await new Promise((resolve) => setTimeout(resolve, 1_000));
          }
        })();
        rates[how].push(await calls(ledger, known, ROUND_MS));
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
    removeFolder(folder);
  }
}

async function ofServer(url: string): Promise<void> {
  const archive = await openPostgresArchive(url);
  await archive.close();
  const client = new Client({ connectionString: url });
  await client.connect();
  const at = chargePlaces({ accounts: ACCOUNTS, bursts: burstsOf(SIZE), startMs: START_MS });
  const account = `'acct_' || ${at.account}`;
  await timed(`${at.charges} postings are added to PostgreSQL, with their sums`, async () => {
    for (let from = 0; from < at.charges; from += BATCH) {
      await client.query(`INSERT INTO tollgate_posting (account_id, number, transaction_id, kind, key_id, request_id, created_at, day,
          inference, operation, asked, served, provider, amount, charged_cents, upstream, absorbed, usage, estimated)
        SELECT ${account}, ${at.place} + 1, 'tx_' || n, 'charge', ${account} || '.key', 'req_' || n, ${at.createdAt}, ${at.day},
          1, 'chat', ${at.model}, ${at.model}, ${at.vendor}, 1234567 + n % 1000, 0, 1000000, 0, '${USAGE}', 0
          FROM generate_series(${from}::bigint, ${Math.min(from + BATCH, at.charges) - 1}::bigint) AS s(n)`);
    }
  });
  await client.query("ANALYZE");
  await client.end();
  const again = await openPostgresArchive(url);
  await ask(again, "PostgreSQL", "acct_7");
  await again.close();
}

if (POSTGRES === undefined) await ofFile();
else await ofServer(POSTGRES);
