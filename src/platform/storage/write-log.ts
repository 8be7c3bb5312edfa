// Checkpoints the write-ahead log from the reading thread: commits continue meanwhile, and stay in the log.
import { fdatasyncSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { isFatal } from "./open-database.ts";

/**
 * Opens a separate connection, because the one for reports is read-only. The inquiry takes the descriptor of the database's file, and
 * returns a fatal error or null. What cannot be written now is written by a later one.
 */
export function openInquiry(reading: DatabaseSync): (descriptor: number) => string | null {
  const database = new DatabaseSync(String(reading.location()));
  const write = database.prepare("PRAGMA wal_checkpoint(PASSIVE)");
  return (descriptor) => {
    try {
      write.get();
    } catch (error) {
      return isFatal(error) ? String(error) : null;
    }
    try {
      // SQLite syncs the file only if nothing was committed meanwhile. If the sync were left to the last of several checkpoints, the
      // committing thread would wait for all of them, and would learn of an error only once, when some of the affected pages are no longer
      // in the log.
      fdatasyncSync(descriptor);
      return null;
    } catch (error) {
      return `disk I/O error: ${error instanceof Error ? error.message : error}`;
    }
  };
}
