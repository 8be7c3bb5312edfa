// Opens the configured archive: a local file, or PostgreSQL for several machines.
import { fileURLToPath } from "node:url";
import type { Archive } from "./archive.ts";
import { openPostgresArchive } from "./postgres.ts";
import { openSqliteArchive, type SqliteArchiveOptions } from "./sqlite.ts";

/** An archive and its backup function; null where it has a backup of its own. */
export interface OpenArchive {
  readonly archive: Archive;
  readonly backup: ((path: string) => Promise<void>) | null;
}

/** `url` null: the given file; `file:` names another. Rejects with a sentence for the operator. */
export async function openArchive(url: string | null, given: SqliteArchiveOptions): Promise<OpenArchive> {
  const isFile = url?.startsWith("file:") ?? true;
  if (url !== null && !isFile) return { archive: await openPostgresArchive(url), backup: null };
  const archive = await openSqliteArchive(url === null ? given : { ...given, file: fileURLToPath(url) });
  return { archive, backup: archive.backup };
}
