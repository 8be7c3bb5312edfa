// The storage thread: the only owner of the database. Runs each batch in one transaction, answers, and says later that it is on disk.
import { parentPort, workerData } from "node:worker_threads";
import { backupTo } from "./backup.ts";
import { guardDisk } from "./disk-guard.ts";
import { LogSync } from "./log-sync.ts";
import { openShared, sqliteCode } from "./open-database.ts";
import type { OpenUnit, SqliteUnit } from "./sqlite-unit.ts";
import { type StoreClient, StoreClients } from "./store-clients.ts";
import type { Batch, BatchAnswer, BatchDone, OperationEntry, ThreadStart, ToThread } from "./wire.ts";

/** Pages in the write-ahead log before it is emptied, once the disk has been full: 1 MB. */
const CHECKPOINT_PAGES_TIGHT = 250;
const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_NOTADB = 26;
/** After these nothing that the file or the memory says can be trusted; a failed fsync is never tried again. */
const FATAL = new Set([SQLITE_IOERR, SQLITE_CORRUPT, SQLITE_NOTADB]);

type Operation = (argument: unknown) => unknown;

const port = parentPort;
if (port === null) throw new Error("this file is the storage thread's; open it with openSqliteThread");
const start = workerData as ThreadStart;
const time = { epochMs: start.epochMs, elapsedMs: start.elapsedMs };
const clients = new StoreClients((message) => port.postMessage(message));
const file = openShared(start.file, start.sharing);
const { database } = file;
const disk = guardDisk(start.file, start.disk);
const units: SqliteUnit[] = [];
const entries: OperationEntry[] = [];
const operations: Operation[] = [];
/** Accounts that the running batch has changed. */
const changed = new Set<string>();
const noteChanged = (accountId: string): void => void changed.add(accountId);
await openUnits();
const log = openLog();
let backups: Promise<void> = Promise.resolve();
/** While the file is copied no checkpoint may change it. */
let copying = false;
const begin = database.prepare("BEGIN IMMEDIATE");
const commit = database.prepare("COMMIT");
const rowsChanged = database.prepare("SELECT total_changes() AS rows");

port.on("message", (message: ToThread) => hear(clients.own, message));
if (start.socket !== null) {
  const onLeft = (owner: string) => clients.own.say({ kind: "left", owner });
  await clients.listen(start.socket, { entries, onMessage: hear, onLeft });
}
clients.own.say({ kind: "ready", operations: entries });

function hear(client: StoreClient, message: ToThread): void {
  if (typeof message === "string") answerBatch(client, JSON.parse(message) as Batch);
  else if (message.kind === "tell") clients.tellAll({ kind: "told", text: message.text });
  else if (message.kind === "backup") answerBackup(client, message.path);
  else if (client === clients.own) void close();
}

async function openUnits(): Promise<void> {
  database.exec("BEGIN IMMEDIATE");
  for (const [name, url] of Object.entries(start.units)) {
    const { openUnit } = (await import(url)) as { openUnit: OpenUnit };
    const unit = openUnit(database, time);
    units.push(unit);
    for (const [operation, run] of Object.entries(unit.operations)) {
      entries.push({ unit: name, name: operation, admission: unit.admissions.includes(operation) });
      operations.push(run as Operation);
    }
  }
  database.exec("COMMIT");
}

/** Where processes share the file each reads what another has committed: there SQLite syncs within each commit, and nothing is left to do. */
function openLog(): LogSync | null {
  if (start.sharing === "processes") return null;
  // From here on a commit writes the log, and a checkpoint alone syncs.
  database.exec("PRAGMA synchronous = NORMAL");
  return new LogSync(`${start.file}-wal`, {
    synced: (commit) => clients.synced(commit),
    failed: (error) => clients.own.say({ kind: "fatal", error: `disk I/O error: ${error.message}` }),
  });
}

function answerBatch(client: StoreClient, { epochMs, elapsedMs, calls }: Batch): void {
  // A process that was stopped sends what is older than what another has sent since: time does not go back for it.
  if (elapsedMs >= time.elapsedMs) {
    time.epochMs = epochMs;
    time.elapsedMs = elapsedMs;
  }
  try {
    const { values, errors } = runBatch(calls);
    tellChanged();
    const answer: BatchAnswer = { values, errors, commit: log?.pending ?? 0 };
    client.waitsFor = answer.commit;
    client.say(JSON.stringify(answer));
  } catch (error) {
    // Its process ends, and with it the sockets of the others.
    clients.own.say({ kind: "fatal", error: String(error) });
  }
}

function tellChanged(): void {
  if (changed.size === 0) return;
  clients.tellAll({ kind: "changed", accountIds: [...changed] });
  changed.clear();
}

/** Runs all calls in one transaction. Where that fails, each alone, so that one bad call costs the others nothing. */
function runBatch(calls: readonly unknown[], roomMade = false): BatchDone {
  try {
    return transact(calls);
  } catch (error) {
    undo(error);
    const full = sqliteCode(error) === SQLITE_FULL;
    if (full && !roomMade && makeRoom()) return runBatch(calls, true);
    if (full || calls.length === 2) return rejected(calls, String(error));
  }
  const values: unknown[] = [];
  const errors: Record<number, string> = {};
  for (let at = 0; at < calls.length; at += 2) {
    const alone = runBatch(calls.slice(at, at + 2), roomMade);
    values.push(alone.values[0] ?? null);
    const error = alone.errors?.[0];
    if (error !== undefined) errors[at / 2] = error;
  }
  return { values, errors };
}

function rejected(calls: readonly unknown[], error: string): BatchDone {
  const errors: Record<number, string> = {};
  for (let at = 0; at < calls.length / 2; at++) errors[at] = error;
  return { values: [], errors };
}

function transact(calls: readonly unknown[]): BatchDone {
  const rowsBefore = rowsChanged.get()?.rows;
  const low = disk.isLow(time.elapsedMs);
  const values: unknown[] = [];
  let errors: Record<number, string> | null = null;
  begin.run();
  for (let at = 0; at < calls.length; at += 2) {
    const number = calls[at] as number;
    if (low && entries[number]?.admission) {
      errors ??= {};
      errors[at / 2] = "the disk of DATA_DIR is nearly full";
      values.push(null);
    } else {
      values.push(operations[number]?.(calls[at + 1]) ?? null);
    }
  }
  for (const unit of units) unit.flush();
  commit.run();
  if (rowsChanged.get()?.rows !== rowsBefore) log?.committed();
  for (const unit of units) unit.committed?.(noteChanged);
  return { values, errors };
}

/** On a full disk: gives up the ballast, and empties the write-ahead log into the database, whose pages are mostly there. */
function makeRoom(): boolean {
  const dropped = disk.dropBallast();
  if (copying) return dropped;
  // From now on the log is emptied while there is still room for the few pages that the database grows by.
  database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES_TIGHT}`);
  try {
    return database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.busy === 0 || dropped;
  } catch (error) {
    if (FATAL.has(sqliteCode(error))) throw error;
    return dropped;
  }
}

/** Takes a failed transaction back, in the file and in memory. Throws on where nothing can be trusted any more. */
function undo(error: unknown): void {
  if (FATAL.has(sqliteCode(error))) throw error;
  // SQLite has rolled back by itself after some errors, a full disk among them.
  if (database.isTransaction) database.exec("ROLLBACK");
  for (const unit of units) unit.reload();
}

/** One at a time, and `close` waits for the last. */
function answerBackup(client: StoreClient, path: string): void {
  backups = backups.then(async () => {
    copying = true;
    const error = await backupTo(database, start.file, path).then(
      () => null,
      (reason: unknown) => (reason instanceof Error ? reason.message : String(reason)),
    );
    copying = false;
    client.say({ kind: "backup", error });
  });
}

async function close(): Promise<void> {
  clients.close();
  await backups;
  log?.close();
  file.close();
  port?.close();
}
