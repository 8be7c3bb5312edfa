// The stored facts of files: one record each, and reminders to check some of them again.
import type { Clock } from "../../core/clock.ts";
import type { Records, StoredRecord } from "../../platform/records/records.ts";
import { walk } from "../../platform/records/walk.ts";

const KIND = "file";
/** Reminders share one owner, so that they can be listed without knowing the payers. */
const DUE_KIND = "file-due";
const DUE_OWNER = "files";

export interface FileFacts {
  readonly filename: string;
  /** As announced; the real size once stored. Counts against the quota. */
  readonly sizeBytes: number;
  readonly mime: string | null;
  readonly tags: readonly string[];
  readonly note: string | null;
  /** Its origin: `upload`, an address, or the action that produced it. */
  readonly source: string;
  /** `new`: no quota is taken yet. `pending`: quota is reserved for bytes that are still to come. */
  readonly state: "new" | "pending" | "stored";
  /** When a file that is not stored by then is forgotten. */
  readonly lapsesAtMs: number;
  /** When a stored file is deleted; absent: never. */
  readonly expiresAtMs?: number;
}

export interface FileRow extends FileFacts {
  readonly id: string;
  readonly payer: string;
  readonly version: number;
  readonly createdAtMs: number;
}

export type FileRows = ReturnType<typeof fileRows>;

function read({ id, payer, version, createdAtMs, value }: StoredRecord): FileRow {
  return { ...(JSON.parse(value) as FileFacts), id, payer: payer ?? "", version, createdAtMs };
}

export function fileRows(records: Records, clock: Clock) {
  return {
    async get(id: string): Promise<FileRow | null> {
      const record = await records.get(KIND, id);
      return record === null ? null : read(record);
    },

    /** Writes a new row, or replaces the version that was read; null where another request was faster. */
    async put(row: FileRow): Promise<FileRow | null> {
      const { id, payer, version: ifVersion, createdAtMs: _, ...facts } = row;
      const value = JSON.stringify(facts satisfies FileFacts);
      const version = await records.put({ kind: KIND, id, payer, value, ttlMs: null, ifVersion });
      if (version === null) return null;
      return { ...row, version, createdAtMs: ifVersion === 0 ? clock.epochMs() : row.createdAtMs };
    },

    /** Removes the version that was read; false where another request was faster. */
    async remove({ id, payer, version: ifVersion }: FileRow): Promise<boolean> {
      // A put with no time to live is a delete that fails where the row has changed.
      return (await records.put({ kind: KIND, id, payer, value: "", ttlMs: 0, ifVersion })) !== null;
    },

    /** A payer's rows, newest first. */
    async list(payer: string, limit: number, cursor: string | null) {
      const { rows, next } = await records.list(KIND, payer, limit, cursor);
      return { rows: rows.map(read), next };
    },

    async *all(payer: string): AsyncGenerator<FileRow> {
      for await (const record of walk(records, KIND, payer)) yield read(record);
    },

    /** Sets a reminder to check a file at that time; replaces the file's earlier reminder. */
    async remind(id: string, atMs: number): Promise<void> {
      await records.put({ kind: DUE_KIND, id, payer: DUE_OWNER, value: String(atMs), ttlMs: null, ifVersion: null });
    },

    async forget(id: string): Promise<void> {
      await records.delete(DUE_KIND, id);
    },

    /** The files whose reminder is due. */
    async *due(nowMs: number): AsyncGenerator<string> {
      for await (const { id, value } of walk(records, DUE_KIND, DUE_OWNER)) if (Number(value) <= nowMs) yield id;
    },
  };
}
