// Writes the write-ahead log into the database, from the reading thread: commits go on meanwhile, and what they add stays in the log.
import { DatabaseSync } from "node:sqlite";

/** It has a connection of its own, since the one for reports may not write. What cannot be written now is by the next that comes. */
export function openInquiry(reading: DatabaseSync): () => null {
  const database = new DatabaseSync(String(reading.location()));
  const write = database.prepare("PRAGMA wal_checkpoint(PASSIVE)");
  return () => {
    write.get();
    return null;
  };
}
