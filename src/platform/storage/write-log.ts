// Writes the write-ahead log into the database, from the reading thread: commits go on meanwhile, and what they add stays in the log.
import { fdatasyncSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { isFatal } from "./open-database.ts";

/**
 * It has a connection of its own, since the one for reports may not write. Asked with the descriptor of the database's file; answers what is fatal, or
 * null. What cannot be written now is by the next that comes.
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
      // SQLite syncs the file only where nothing was committed meanwhile. Left to the last of several writes, the thread that commits would wait for
      // all of them, and would hear of an error once, when a part of what it concerns is no longer in the log.
      fdatasyncSync(descriptor);
      return null;
    } catch (error) {
      return `disk I/O error: ${error instanceof Error ? error.message : error}`;
    }
  };
}
