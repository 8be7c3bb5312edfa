import { existsSync, mkdtempSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { expect, test } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { openPostgresArchive } from "../../../../src/money/ledger/archive/postgres.ts";
import { COLUMN_NAMES } from "../../../../src/money/ledger/archive/rows.ts";
import { openSqliteArchive } from "../../../../src/money/ledger/archive/sqlite.ts";
import { guardDisk } from "../../../../src/platform/storage/disk-guard.ts";
import { openDatabase } from "../../../../src/platform/storage/open-database.ts";
import { freePort } from "../../../support/free-port.ts";
import { anyPostgres, POSTGRES_MS_MAX, startPostgres } from "../../../support/postgres.ts";
import { onlyAProcessShows } from "../../../support/process-fact.ts";
import { removeFolder } from "../../../support/remove-folder.ts";
import { EVERYTHING, pagesOf } from "../usage/contract.ts";
import { archiveContract, posting } from "./contract.ts";
import { lastNumber } from "./numbers.ts";

onlyAProcessShows("an archive in PostgreSQL");

function openFile(file: string) {
  return openSqliteArchive({
    file,
    clock: systemClock,
    onFatal: (error) => console.error("the archive broke:", error),
  });
}

async function sqlite() {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-archive-"));
  const file = join(folder, "archive.db");
  const archive = await openFile(file);
  return {
    archive,
    another: () => openFile(file),
    async dispose() {
      await archive.close();
      removeFolder(folder);
    },
  };
}

async function postgres() {
  const server = await anyPostgres();
  const archive = await openPostgresArchive(server.url);
  return {
    archive,
    another: () => openPostgresArchive(server.url),
    async dispose() {
      await archive.close();
      await server.dispose();
    },
  };
}

archiveContract("sqlite", sqlite, 20_000);
archiveContract("postgres", postgres, POSTGRES_MS_MAX);

test("processes that start together share one new file, and only its owner can read it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-archive-"));
  const file = join(folder, "archive.db");
  const archives = await Promise.all([1, 2, 3, 4].map(() => openFile(file)));
  expect(new Set(archives.map(({ id }) => id)).size).toBe(1);
  await Promise.all(archives.map((archive, at) => archive.append([posting(`account ${at}`, 1)])));
  for (const archive of archives) expect(await lastNumber(archive, "account 3")).toBe(1);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await Promise.all(archives.map((archive) => archive.close()));
  removeFolder(folder);
});

/** As in releases without sums. */
const WITHOUT_SUMS = `DROP TABLE tollgate_usage_day; DROP TABLE tollgate_usage_total; DROP TABLE tollgate_usage_tag;
  DROP INDEX tollgate_posting_by_time;`;

test("an archive of the release before this one opens, and keeps what it has", {
  timeout: POSTGRES_MS_MAX,
}, async () => {
  const old = COLUMN_NAMES.filter((name) => !["legs", "tags", "windows"].includes(name)).join(", ");
  const before = [posting("a", 1), posting("a", 2, { tags: [] })];
  const after = [...before, posting("a", 3, { windows: "-unpaid;+margin" })];
  expect(after[2]?.legs).toHaveLength(3);

  const folder = mkdtempSync(join(tmpdir(), "tollgate-archive-"));
  const file = join(folder, "archive.db");
  const made = await openFile(file);
  await made.append(before);
  await made.close();
  const database = openDatabase(file);
  database.exec(`${WITHOUT_SUMS} DROP TRIGGER tollgate_usage_of_posting; DROP TRIGGER tollgate_tags_of_posting;
    DROP TRIGGER tollgate_usage_of_deleted; DROP INDEX tollgate_posting_by_run;
    ALTER TABLE tollgate_posting DROP COLUMN run_id; ALTER TABLE tollgate_posting DROP COLUMN tags; ALTER TABLE tollgate_posting DROP COLUMN legs;
    ALTER TABLE tollgate_posting DROP COLUMN windows;
    UPDATE schema_version SET version = 1`);
  database.close();
  const ofFile = await openFile(file);
  expect(await ofFile.sumFaults()).toEqual([]);
  expect(await ofFile.append(after)).toBeNull();
  expect(await ofFile.after("a", 0, 9)).toEqual(after);
  expect(await ofFile.sumFaults()).toEqual([]);
  await ofFile.close();
  removeFolder(folder);

  const server = await anyPostgres();
  const first = await openPostgresArchive(server.url);
  await first.append(before);
  await first.close();
  const client = new Client({ connectionString: server.url });
  await client.connect();
  await client.query(`${WITHOUT_SUMS} DROP FUNCTION tollgate_count_usage CASCADE;
    DROP FUNCTION tollgate_count_usage_off CASCADE;
    ALTER TABLE tollgate_posting DROP COLUMN tags; ALTER TABLE tollgate_posting DROP COLUMN legs;
    ALTER TABLE tollgate_posting DROP COLUMN windows`);
  const ofServer = await openPostgresArchive(server.url);
  expect(await ofServer.sumFaults()).toEqual([]);
  expect(await ofServer.append(after)).toBeNull();
  expect(await ofServer.after("a", 0, 9)).toEqual(after);
  // A process of that release keeps running beside it.
  await client.query(`INSERT INTO tollgate_posting (${old}) SELECT ${old.replace(/\bnumber\b/, "4").replace("transaction_id", "'a.4'")}
    FROM tollgate_posting WHERE number = 3`);
  expect((await ofServer.transaction("a", "a.4"))?.legs).toEqual([]);
  // Its additions are counted all the same, exactly once.
  expect(await ofServer.sumFaults()).toEqual([]);
  expect((await pagesOf(ofServer, { ...EVERYTHING, by: ["account"], kind: "charged" })) as unknown).toMatchObject([
    { group: { account: "a" }, calls: 3, amountNano: "8" },
  ]);
  await client.end();
  await ofServer.close();
  await server.dispose();
});

test("where the disk is nearly full postings stay where they are, and the ballast is left to running calls", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-archive-"));
  const file = join(folder, "archive.db");
  const ample = await openFile(file);
  await ample.append([posting("a", 1)]);
  await ample.close();
  const disk = { freeBytesMin: Number.MAX_SAFE_INTEGER, ballastBytes: 0 };
  const archive = await openSqliteArchive({ file, clock: systemClock, disk, onFatal: (error) => console.error(error) });
  await expect(archive.append([posting("a", 2)])).rejects.toMatchObject({ code: "ledger_unavailable" });
  expect(await lastNumber(archive, "a")).toBe(1);
  await archive.close();
  // The ballast of the spool, which may be in the same folder.
  writeFileSync(join(folder, "ballast"), "room for running calls");
  expect(guardDisk(file, disk).dropBallast()).toBe(false);
  expect(existsSync(join(folder, "ballast"))).toBe(true);
  removeFolder(folder);
});

test("while PostgreSQL is away the archive refuses, and goes on by itself when it is back", {
  timeout: POSTGRES_MS_MAX,
}, async () => {
  const server = await startPostgres();
  const archives = await Promise.all([1, 2, 3].map(() => openPostgresArchive(server.url)));
  expect(new Set(archives.map(({ id }) => id)).size).toBe(1);
  const [archive] = archives;
  await archive?.append([posting("a", 1)]);
  await server.kill();
  const refused = { code: "ledger_unavailable" };
  await expect(archive?.append([posting("a", 2)])).rejects.toMatchObject(refused);
  await expect(archive?.transaction(null, "a.1")).rejects.toMatchObject(refused);
  await server.start();
  expect(await archive?.append([posting("a", 2)])).toBeNull();
  expect(archive && (await lastNumber(archive, "a"))).toBe(2);
  await Promise.all(archives.map((one) => one.close()));
  await server.dispose();
});

test("where no PostgreSQL answers, the operator is told so", async () => {
  const url = `postgres://tollgate@127.0.0.1:${await freePort()}/postgres`;
  await expect(openPostgresArchive(url)).rejects.toThrow(/archive at ARCHIVE_URL cannot be opened: .*ECONNREFUSED/);
});
