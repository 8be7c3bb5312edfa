// Reports over a ledger file, an archive file and PostgreSQL, all with the same postings.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Client } from "pg";
import { expect, test } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { GatewayError } from "../../../../src/core/errors.ts";
import type { Reports } from "../../../../src/core/usage-rows.ts";
import type { Archive, NumberedPosting } from "../../../../src/money/ledger/archive/archive.ts";
import { openPostgresArchive } from "../../../../src/money/ledger/archive/postgres.ts";
import { openSqliteArchive } from "../../../../src/money/ledger/archive/sqlite.ts";
import { sqliteBookTarget } from "../../../../src/money/ledger/sqlite/books.ts";
import { EntryTables } from "../../../../src/money/ledger/sqlite/entries.ts";
import { sqliteLedger } from "../../../../src/money/ledger/sqlite/ledger.ts";
import { openDatabase } from "../../../../src/platform/storage/open-database.ts";
import { manualClock } from "../../../support/manual-clock.ts";
import { anyPostgres } from "../../../support/postgres.ts";
import { removeFolder } from "../../../support/remove-folder.ts";
import { charge, newAccount } from "../requests.ts";
import { openLedgerThread, START_MS } from "../store.ts";
import { type TestBooks, usageContract } from "./contract.ts";
import { SANDBOX_ACCOUNTS } from "./model.ts";

const BATCH = 50;

async function keep(archive: Archive, postings: readonly NumberedPosting[]): Promise<void> {
  for (let at = 0; at < postings.length; at += BATCH) await archive.append(postings.slice(at, at + BATCH));
}

function spoilFile(file: string, statement: string): void {
  const database = new DatabaseSync(file);
  database.exec(statement);
  database.close();
}

async function openLedger(postings: readonly NumberedPosting[]): Promise<TestBooks> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-usage-"));
  const file = join(folder, "tollgate.db");
  const database = openDatabase(file);
  const target = sqliteBookTarget(database, manualClock(START_MS));
  await target.takePostings(postings);
  await target.finish();
  database.close();
  const ledger = sqliteLedger(await openLedgerThread(file, manualClock(START_MS)));
  for (const id of SANDBOX_ACCOUNTS) await ledger.openAccount({ ...newAccount(id, 0), kind: "sandbox" });
  return {
    reports: ledger,
    prefix: "",
    // As the storage thread does.
    async add(more) {
      const database = new DatabaseSync(file);
      database.exec("PRAGMA foreign_keys = OFF");
      const entries = new EntryTables(database);
      let last = 0;
      for (const one of more) {
        const before = database.prepare("SELECT MAX(seq) AS last FROM posting WHERE account_id = ?").get(one.accountId);
        const beforeOfAccount = before?.last == null ? null : Number(before.last);
        last = entries.insertPosting({ ...one, beforeOfAccount, beforeOfKey: null });
        entries.count(one, last, false);
      }
      entries.flush(last);
      database.close();
    },
    // Without accounts the doctor has further findings.
    faults: async () =>
      (await ledger.doctor()).findings.flatMap((one) => (one.invariant === "I14" ? [one.detail] : [])),
    spoil: async (statement) => spoilFile(file, statement),
    async dispose() {
      await ledger.close();
      removeFolder(folder);
    },
  };
}

/** An archive does not know the accounts, so the test names the sandbox accounts. */
function told(archive: Archive): Reports {
  return { ...archive, usage: (query) => archive.usage(query, SANDBOX_ACCOUNTS) };
}

async function openFile(postings: readonly NumberedPosting[]): Promise<TestBooks> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-usage-"));
  const onFatal = (error: Error) => console.error(error);
  const archive = await openSqliteArchive({ file: join(folder, "archive.db"), clock: systemClock, onFatal });
  await keep(archive, postings);
  return {
    reports: told(archive),
    prefix: "tollgate_",
    add: (more) => keep(archive, more),
    faults: () => archive.sumFaults(),
    spoil: async (statement) => spoilFile(join(folder, "archive.db"), statement),
    async dispose() {
      await archive.close();
      removeFolder(folder);
    },
  };
}

async function openServer(postings: readonly NumberedPosting[]): Promise<TestBooks> {
  const server = await anyPostgres();
  const archive = await openPostgresArchive(server.url);
  await keep(archive, postings);
  return {
    reports: told(archive),
    prefix: "tollgate_",
    add: (more) => keep(archive, more),
    faults: () => archive.sumFaults(),
    async spoil(statement) {
      const client = new Client({ connectionString: server.url });
      await client.connect();
      await client.query(statement);
      await client.end();
    },
    async dispose() {
      await archive.close();
      await server.dispose();
    },
  };
}

test("a long report holds up neither the loop nor those who write, and too many are refused", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-usage-"));
  const thread = await openLedgerThread(join(folder, "tollgate.db"), manualClock(START_MS));
  const ledger = sqliteLedger(thread);
  const count =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) SELECT COUNT(*) AS n FROM n";
  // Takes some seconds.
  const rows = 20_000_000;
  let done = false;
  const long = thread.ask(count, [rows]).then((found) => {
    done = true;
    return found;
  });
  await ledger.openAccount(newAccount("a", 100));
  await charge(ledger, { accountId: "a", holdId: "tx_1", cents: 1, nowMs: START_MS });
  expect(done).toBe(false);
  const more = Array.from({ length: 40 }, () => thread.ask(count, [1]).catch((error: unknown) => error));
  expect(await long).toEqual([{ n: rows }]);
  const refused = (await Promise.all(more)).filter((one) => one instanceof GatewayError);
  expect(refused).toHaveLength(9);
  expect(refused[0]).toMatchObject({ code: "ledger_unavailable" });
  await ledger.close();
  removeFolder(folder);
});

usageContract("a ledger in a file", openLedger);
usageContract("an archive in a file", openFile);
usageContract("an archive in PostgreSQL", openServer);
