// The archive in a file that the processes of one machine share: one writes, all read.
import type { Clock } from "../../../core/clock.ts";
import { DISK_BOUNDS, type DiskBounds } from "../../../platform/storage/disk-guard.ts";
import { openSqliteThread } from "../../../platform/storage/sqlite-thread.ts";
import type { Archive } from "./archive.ts";
import { archiveOn } from "./queries.ts";
import type { ArchiveOperations } from "./sqlite-unit.ts";

const UNIT = new URL("./sqlite-unit.ts", import.meta.url);

export interface SqliteArchiveOptions {
  readonly file: string;
  readonly clock: Clock;
  readonly disk?: DiskBounds;
  /** Called where the file can no longer be trusted: the process should exit. */
  readonly onFatal: (error: Error) => void;
}

/** Postings can wait in Redis, so the disk's last space and its ballast are left to running calls. */
const DISK: DiskBounds = { freeBytesMin: DISK_BOUNDS.freeBytesMin, ballastBytes: 0 };

export interface SqliteArchive extends Archive {
  /** Writes a consistent, durable copy to `path`. Rejects where it exists, and while other processes have the archive open. */
  backup(path: string): Promise<void>;
}

/** Opens the archive in `file`; creates a missing one. */
export async function openSqliteArchive(options: SqliteArchiveOptions): Promise<SqliteArchive> {
  const { file, clock, disk = DISK, onFatal } = options;
  const thread = await openSqliteThread({ file, units: { archive: UNIT }, clock, disk, onFatal, sharing: "processes" });
  const call = thread.unit<ArchiveOperations>("archive");
  const archive = archiveOn(await call("id", null), {
    query: (name, parameters) => call("query", { name, parameters }),
    append: (rows) => call("append", rows),
    dialect: "sqlite",
    ask: ({ text, values }) => thread.ask(text, values),
    close: () => thread.close(),
  });
  return { ...archive, backup: (path) => thread.backup(path) };
}
