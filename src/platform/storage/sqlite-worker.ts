// The storage thread, the only owner of the database: runs each batch in one transaction, answers, and reports later that it is on disk.
import { existsSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../../core/clock.ts";
import { backupTo } from "./backup.ts";
import { guardDisk } from "./disk-guard.ts";
import { FRAME_BYTES_MAX } from "./frames.ts";
import { LogLength } from "./log-length.ts";
import { LogSync } from "./log-sync.ts";
import { isFatal, openShared, SQLITE_FULL, sqliteCode } from "./open-database.ts";
import { migratedTo, type SqliteUnit, type UnitModule } from "./sqlite-unit.ts";
import { type StoreClient, StoreClients } from "./store-clients.ts";
import type { Batch, BatchAnswer, BatchDone, OperationEntry, ThreadStart, ToThread } from "./wire.ts";

/** Pages in the write-ahead log before a checkpoint, once the disk has been full: 1 MB. */
const CHECKPOINT_PAGES_TIGHT = 250;

/** The counted characters of values at which a batch ends; the process resends the rest. Escaping can turn each into six in the answer. */
const VALUES_CHARS_MAX = 8 * 1_048_576;
/** The longest number. */
const NUMBER_CHARS = 24;
/** The longest answer; each character takes up to three bytes. */
const ANSWER_CHARS_MAX = Math.floor(FRAME_BYTES_MAX / 3);

interface Operation {
  run(argument: unknown): unknown;
  isUnwritten?(argument: unknown): boolean;
}

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
/** Accounts changed by the running batch. */
const changed = new Set<string>();
const noteChanged = (accountId: string): void => void changed.add(accountId);
await openUnits();
const log = openLog();
// A file without readers is locked, and a file shared by processes is written by each of them.
const logLength =
  start.sharing === "readers"
    ? new LogLength(database, () => clients.own.say({ kind: "long-log", descriptor: file.descriptor }))
    : null;
/** What commits have left for later is about to be written. */
let catchingUp = false;
let backups: Promise<void> = Promise.resolve();
/** During a copy, no checkpoint may change the file. */
let copying = false;
/** Neither file nor memory can be trusted: no process is served any more. */
let broken = false;
const begin = database.prepare("BEGIN IMMEDIATE");
const commit = database.prepare("COMMIT");
const rowsChanged = database.prepare("SELECT total_changes() AS rows");
let rowsSeen = rowsChanged.get()?.rows;
/** The running batch has begun a transaction. */
let writes = false;

port.on("message", (message: ToThread) => hear(clients.own, message));
if (start.socket !== null) {
  const onLeft = (owner: string) => broken || clients.own.say({ kind: "left", owner });
  await clients.listen(start.socket, { entries, onMessage: hear, onLeft });
}
clients.own.say({ kind: "ready", operations: entries });
catchUpSoon();

function hear(client: StoreClient, message: ToThread): void {
  if (broken) return;
  if (typeof message === "string") answerBatch(client, JSON.parse(message) as Batch);
  else if (message.kind === "tell") clients.tellAll({ kind: "told", text: message.text });
  else if (message.kind === "backup") answerBackup(client, message.path);
  else if (client !== clients.own) return;
  else if (message.kind === "log-written") logWritten(message.fatal);
  else void close();
}

function logWritten(fatal: string | null): void {
  if (fatal !== null) return end(fatal);
  try {
    logLength?.written();
  } catch (error) {
    end(String(error));
  }
}

/** Ends the thread, because memory may be ahead of the file, and one more batch would persist that. */
function end(error: string): void {
  if (broken) return;
  broken = true;
  clients.end(error);
}

/**
 * Copies a file with tables of an older version before they change, so that the older program can be started again on what it left.
 * Processes that share a file may be writing it, so theirs is not copied.
 */
async function copyOlder(modules: readonly (readonly [name: string, module: UnitModule])[]): Promise<void> {
  if (start.sharing === "processes") return;
  for (const [name, { schemaVersion = 0 }] of modules) {
    const found = migratedTo(database, name);
    if (found === 0 || found >= schemaVersion) continue;
    const copy = `${start.file}.${name}-${found}`;
    try {
      if (!existsSync(copy)) await backupTo(file, copy);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`${start.file} is of an older version and cannot be copied before it changes: ${why}`, { cause });
    }
    return;
  }
}

async function openUnits(): Promise<void> {
  const modules: (readonly [name: string, module: UnitModule])[] = [];
  for (const [name, url] of Object.entries(start.units)) modules.push([name, (await import(url)) as UnitModule]);
  await copyOlder(modules);
  database.exec("BEGIN IMMEDIATE");
  for (const [name, { openUnit }] of modules) {
    const unit = openUnit(database, time);
    units.push(unit);
    for (const [operation, run] of Object.entries(unit.operations)) {
      const isShort = unit.short?.includes(operation) === true;
      entries.push({ unit: name, name: operation, admission: unit.admissions.includes(operation), isShort });
      operations.push({ run, isUnwritten: unit.unwritten?.[operation] } as Operation);
    }
  }
  database.exec("COMMIT");
}

/** Null where processes share the file: each reads what others have committed, so SQLite must sync within each commit. */
function openLog(): LogSync | null {
  if (start.sharing === "processes") return null;
  // From here on, commits write only the log, and only checkpoints sync.
  database.exec("PRAGMA synchronous = NORMAL");
  const events = {
    synced: (commit: number) => broken || clients.synced(commit),
    failed: (error: Error) => end(`disk I/O error: ${error.message}`),
  };
  return new LogSync(`${start.file}-wal`, events, systemClock);
}

function answerBatch(client: StoreClient, { epochMs, elapsedMs, calls, isLate = false }: Batch): void {
  // A process that was suspended may send an older time than another has since: time must not go back.
  if (elapsedMs >= time.elapsedMs) {
    time.epochMs = epochMs;
    time.elapsedMs = elapsedMs;
  }
  try {
    const done = runBatch(calls);
    // A failed sync.
    if (broken) return;
    tellChanged();
    const commit = log?.pending ?? 0;
    const low = disk.isLow(time.elapsedMs) ? ({ low: true } as const) : null;
    if (isLate && commit > 0) client.late = { commit, text: answerText({ ...done, commit: 0, isLate, ...low }) };
    else {
      client.waitsFor = commit;
      client.say(answerText({ ...done, commit, isLate, ...low }));
    }
    catchUpSoon();
  } catch (error) {
    end(String(error));
  }
}

/**
 * If an answer is too long, the last value is the cause, since those before it are bounded together: a query, whose caller can ask for
 * less.
 */
function answerText(answer: BatchAnswer): string {
  try {
    const text = JSON.stringify(answer);
    if (text.length <= ANSWER_CHARS_MAX) return text;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  const last = answer.values.length - 1;
  const errors = { ...answer.errors, [last]: "what was asked for is too long to be told at once" };
  return JSON.stringify({ ...answer, values: [...answer.values.slice(0, last), null], errors });
}

function tellChanged(): void {
  if (changed.size === 0) return;
  clients.tellAll({ kind: "changed", accountIds: [...changed] });
  changed.clear();
}

/**
 * Runs all calls in one transaction, or only the first ones if their answers get too long. If it fails, runs each call alone, so that one
 * bad call does not affect the others.
 */
function runBatch(calls: readonly unknown[], roomMade = false): BatchDone {
  let done: BatchDone;
  try {
    done = transact(calls);
  } catch (error) {
    undo(error);
    const full = sqliteCode(error) === SQLITE_FULL;
    if (full && !roomMade && makeRoom()) return runBatch(calls, true);
    if (full) return runUnwritten(calls, String(error));
    if (calls.length === 2) return rejected(calls, String(error));
    return runEach(calls, roomMade);
  }
  // It is committed: a failure from here on must not repeat it, and ends the thread.
  settle();
  return done;
}

function runEach(calls: readonly unknown[], roomMade: boolean): BatchDone {
  const values: unknown[] = [];
  const errors: Record<number, string> = {};
  let chars = 0;
  for (let at = 0; at < calls.length && chars <= VALUES_CHARS_MAX; at += 2) {
    const alone = runBatch(calls.slice(at, at + 2), roomMade);
    values.push(alone.values[0] ?? null);
    const error = alone.errors?.[0];
    if (error !== undefined) errors[at / 2] = error;
    chars += charsOf(values.at(-1));
  }
  return { values, errors };
}

/** On a full disk: runs what writes nothing, and refuses the rest. */
function runUnwritten(calls: readonly unknown[], error: string): BatchDone {
  let done: BatchDone;
  try {
    done = transact(calls, error);
  } catch (cause) {
    undo(cause);
    return rejected(calls, error);
  }
  for (const unit of units) unit.committed?.(noteChanged);
  return done;
}

function rejected(calls: readonly unknown[], error: string): BatchDone {
  const values = Array(calls.length / 2).fill(null);
  return { values, errors: Object.fromEntries(values.map((_, at) => [at, error])) };
}

/** `full`: why nothing can be written; null: there is room. */
function transact(calls: readonly unknown[], full: string | null = null): BatchDone {
  const low = disk.isLow(time.elapsedMs) ? "the disk of DATA_DIR is nearly full" : null;
  const values: unknown[] = [];
  let errors: Record<number, string> | null = null;
  let chars = 0;
  writes = false;
  for (let at = 0; at < calls.length && chars <= VALUES_CHARS_MAX; at += 2) {
    const number = calls[at] as number;
    const refusal =
      (operations[number]?.isUnwritten?.(calls[at + 1]) ? null : full) ?? (entries[number]?.admission ? low : null);
    if (refusal !== null) {
      errors ??= {};
      errors[at / 2] = refusal;
      values.push(null);
    } else {
      const operation = operations[number];
      if (operation === undefined) throw new Error(`no operation has the number ${number}`);
      const argument = calls[at + 1];
      if (!writes && operation.isUnwritten?.(argument) !== true) {
        begin.run();
        writes = true;
      }
      const value = operation.run(argument) ?? null;
      if (entries[number]?.isShort !== true) chars += charsOf(value);
      values.push(value);
    }
  }
  if (writes) {
    for (const unit of units) unit.flush();
    commit.run();
  }
  return { values, errors };
}

/** Runs after a batch. Each commit that changed rows must reach the disk. */
function settle(): void {
  const rows = writes ? rowsChanged.get()?.rows : rowsSeen;
  if (rows !== rowsSeen) {
    rowsSeen = rows;
    log?.committed();
    logLength?.committed();
  }
  for (const unit of units) unit.committed?.(noteChanged);
}

/** The longest that a value can be as JSON, before escaping. */
function charsOf(value: unknown): number {
  if (typeof value === "string") return value.length + '""'.length;
  if (typeof value !== "object" || value === null) return typeof value === "number" ? NUMBER_CHARS : "false".length;
  let chars = "[]".length;
  if (Array.isArray(value)) for (const one of value) chars += charsOf(one) + ",".length;
  else
    for (const name in value)
      chars += name.length + '"":,'.length + charsOf((value as Readonly<Record<string, unknown>>)[name]);
  return chars;
}

/** On a full disk: deletes the ballast, and checkpoints the write-ahead log into the database, which mostly has the pages already. */
function makeRoom(): boolean {
  const dropped = disk.dropBallast();
  if (copying) return dropped;
  // From now on, checkpoint while there is still room for the few pages by which the database grows.
  database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES_TIGHT}`);
  try {
    return database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.busy === 0 || dropped;
  } catch (error) {
    if (isFatal(error)) throw error;
    return dropped;
  }
}

/** Writes what commits have left for later, after what is waiting now. */
function catchUpSoon(): void {
  if (catchingUp || !units.some((unit) => unit.isBehind?.())) return;
  catchingUp = true;
  setImmediate(() => {
    catchingUp = false;
    if (!broken) catchUp();
  });
}

/** On a full disk this stays for later: the units can make all of it again. */
function catchUp(): void {
  try {
    writes = true;
    begin.run();
    for (const unit of units) unit.catchUp?.();
    commit.run();
    settle();
  } catch (error) {
    try {
      undo(error);
      if (sqliteCode(error) !== SQLITE_FULL) throw error;
    } catch (fatal) {
      end(String(fatal));
    }
  }
}

/** Rolls back a failed transaction, in the file and in memory. Rethrows if nothing can be trusted any more. */
function undo(error: unknown): void {
  if (isFatal(error)) throw error;
  // SQLite has already rolled back after some errors, such as a full disk.
  if (database.isTransaction) database.exec("ROLLBACK");
  for (const unit of units) unit.reload();
}

/** Backs up, one at a time; `close` waits for the last. */
function answerBackup(client: StoreClient, path: string): void {
  backups = backups.then(async () => {
    await logLength?.hold();
    copying = true;
    const error = await backupTo(file, path).then(
      () => null,
      (reason: unknown) => (reason instanceof Error ? reason.message : String(reason)),
    );
    copying = false;
    logLength?.release();
    client.say({ kind: "backup", error });
  });
}

async function close(): Promise<void> {
  clients.close();
  await backups;
  if (!broken) catchUp();
  log?.close();
  file.close();
  port?.close();
}
