// Opens the one database file so that what is committed stays, and so that no second process can open it.
import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

/** Before this version a checkpoint could corrupt the file (the WAL-reset bug). */
const SQLITE_VERSION_MIN = [3, 51, 3];
/** Pages in the write-ahead log before they are written into the database: 16 MB. */
export const CHECKPOINT_PAGES = 4_000;
const BUSY_MS_MAX = 250;
const SQLITE_BUSY = 5;

/** SQLite's primary result code of an error, 0 where it is not SQLite's. */
export function sqliteCode(error: unknown): number {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code & 0xff : 0;
}

/** Opens `file`, made with mode 0600 where missing. Throws where another process has it open or SQLite is too old. */
export function openDatabase(file: string): DatabaseSync {
  closeSync(openSync(file, "a", 0o600));
  const database = new DatabaseSync(file, { timeout: BUSY_MS_MAX });
  try {
    requireVersion(database);
    // In this mode the lock is kept from the first transaction to the end of the process, and no shared memory is used.
    database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    database.exec("PRAGMA cache_size = -32768; PRAGMA journal_size_limit = 67108864");
    database.exec("BEGIN EXCLUSIVE; COMMIT");
    return database;
  } catch (error) {
    database.close();
    if (sqliteCode(error) === SQLITE_BUSY) {
      throw new Error(`${file} is in use by another process; stop it, or choose another DATA_DIR`, { cause: error });
    }
    throw error;
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
