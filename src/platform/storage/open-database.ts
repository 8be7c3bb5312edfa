// Opens a database file durably: for a single connection, for one process, or for several processes of one machine.
import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

/** Before this version, a checkpoint could corrupt the file (the WAL-reset bug). */
const SQLITE_VERSION_MIN = [3, 51, 3];
/** Pages in the write-ahead log before a checkpoint: 16 MB. */
export const CHECKPOINT_PAGES = 4_000;
const BUSY_MS_MAX = 250;
/** The longest wait for another process's commit, where processes share a file. */
const SHARED_BUSY_MS_MAX = 10_000;
const SHARE_TRIES = 100;
const SHARE_PAUSE_MS = 20;
const SQLITE_BUSY = 5;
const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
export const SQLITE_FULL = 13;
const SQLITE_NOTADB = 26;
/** After these, neither file nor memory can be trusted; a failed fsync is never retried. */
const FATAL = new Set([SQLITE_IOERR, SQLITE_CORRUPT, SQLITE_NOTADB]);
/** The shared memory of the connections could not grow: the disk is full, but nothing is lost. */
const SQLITE_IOERR_SHMSIZE = 4_874;

/** Who else may have the file open: `none`; `readers`, read-only connections of this process; `processes`, those of one machine. */
export type Sharing = "none" | "readers" | "processes";

/** SQLite's primary result code of an error; 0 for other errors. */
export function sqliteCode(error: unknown): number {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  if (code === SQLITE_IOERR_SHMSIZE) return SQLITE_FULL;
  return typeof code === "number" ? code & 0xff : 0;
}

/** True if the file cannot be trusted after this error. */
export function isFatal(error: unknown): boolean {
  return FATAL.has(sqliteCode(error));
}

/** An open database, and how to close it. */
export type OpenDatabase = ReturnType<typeof openShared>;

/**
 * Opens `file`, created with mode 0600 if missing. Throws if SQLite is too old or, unless processes share it, if another process has it
 * open.
 */
export function openShared(file: string, sharing: Sharing) {
  const lock = sharing === "readers" ? takeLock(file) : null;
  try {
    const database = openFile(file, sharing);
    const descriptor = openSync(file, "r");
    return {
      database,
      /**
       * A descriptor of the same file, to read and sync it. POSIX releases all locks of a process on a file when it closes any descriptor of
       * it, and others would then take the database for abandoned: so this is the only other descriptor, as long as the database is open.
       */
      descriptor,
      close() {
        database.close();
        closeSync(descriptor);
        lock?.close();
      },
    };
  } catch (error) {
    lock?.close();
    throw error;
  }
}

/** Opens `file` for this connection only. */
export function openDatabase(file: string): DatabaseSync {
  return openFile(file, "none");
}

/** Opens a file that another thread of this process writes, to read committed data. */
export function openReading(file: string): DatabaseSync {
  const database = new DatabaseSync(file, { readOnly: true, timeout: SHARED_BUSY_MS_MAX });
  database.exec("PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY");
  return database;
}

function inUse(file: string, cause: unknown): unknown {
  if (sqliteCode(cause) !== SQLITE_BUSY) return cause;
  return new Error(`${file} is in use by another process; stop it, or choose another DATA_DIR`, { cause });
}

/**
 * A file shared with readers could also be opened by a second process. To prevent that, takes a lock on an empty database next to it; the
 * lock ends with the process.
 */
function takeLock(file: string): DatabaseSync {
  const path = `${file}-lock`;
  closeSync(openSync(path, "a", 0o600));
  const lock = new DatabaseSync(path, { timeout: BUSY_MS_MAX });
  try {
    lock.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE; COMMIT");
    return lock;
  } catch (error) {
    lock.close();
    throw inUse(file, error);
  }
}

function openFile(file: string, sharing: Sharing): DatabaseSync {
  closeSync(openSync(file, "a", 0o600));
  const database = new DatabaseSync(file, { timeout: sharing === "processes" ? SHARED_BUSY_MS_MAX : BUSY_MS_MAX });
  try {
    requireVersion(database);
    if (sharing === "processes") shareLog(database);
    else if (sharing === "readers") database.exec("PRAGMA journal_mode = WAL");
    // This mode holds the lock from the first transaction until the process ends, and uses no shared memory.
    else database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL");
    database.exec("PRAGMA synchronous = FULL");
    database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    database.exec("PRAGMA cache_size = -32768; PRAGMA journal_size_limit = 67108864");
    if (sharing !== "processes") database.exec("BEGIN EXCLUSIVE; COMMIT");
    return database;
  } catch (error) {
    database.close();
    throw inUse(file, error);
  }
}

/**
 * Of several processes that open a new file at once, one turns on its log; SQLite does not make the others wait for that, so they retry.
 */
function shareLog(database: DatabaseSync): void {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let tries = 1; ; tries++) {
    try {
      database.exec("PRAGMA journal_mode = WAL");
      return;
    } catch (error) {
      if (sqliteCode(error) !== SQLITE_BUSY || tries === SHARE_TRIES) throw error;
      Atomics.wait(pause, 0, 0, SHARE_PAUSE_MS);
    }
  }
}

function requireVersion(database: DatabaseSync): void {
  const text = String(database.prepare("SELECT sqlite_version() AS version").get()?.version);
  const parts = text.split(".").map(Number);
  for (const [place, least] of SQLITE_VERSION_MIN.entries()) {
    const part = parts[place] ?? 0;
    if (part > least) return;
    if (part < least) {
      throw new Error(`SQLite ${text} is too old: ${SQLITE_VERSION_MIN.join(".")} is needed (Node 22.23.3 has it)`);
    }
  }
}
