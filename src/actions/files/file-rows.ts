// What is kept of files beside their bytes: a row each, and a note of those that must be looked at again.
import type { Clock } from "../../core/clock.ts";
import type { Records, StoredRecord } from "../../platform/records/records.ts";

const KIND = "file";
/** What must be looked at later is listed under an owner of its own, so that it need not be known whose it is. */
const DUE_KIND = "file-due";
const DUE_OWNER = "files";
const PAGE_ROWS = 200;

/** What is known of a file. */
export interface FileFacts {
  readonly filename: string;
  /** As announced; once stored, what it really is. Counts against the quota. */
  readonly sizeBytes: number;
  readonly mime: string | null;
  readonly tags: readonly string[];
  readonly note: string | null;
  /** Where it came from: `upload`, an address, or the action whose answer it is. */
  readonly source: string;
  /** `new`: the quota has not been asked yet. `pending`: room is kept for bytes that are still to come. */
  readonly state: "new" | "pending" | "stored";
  /** When a file that has not been stored by then is forgotten. */
  readonly lapsesAtMs: number;
}

export interface FileRow extends FileFacts {
  readonly id: string;
  readonly payer: string;
  readonly version: number;
  readonly createdAtMs: number;
}

export interface FileRows {
  get(id: string): Promise<FileRow | null>;
  /** Writes a new row, or over the one that was read; null where another request was faster. */
  put(row: FileRow): Promise<FileRow | null>;
  /** Removes the row that was read; false where another request was faster. */
  remove(row: FileRow): Promise<boolean>;
  /** A payer's rows, newest first. */
  list(payer: string, limit: number, cursor: string | null): Promise<{ rows: FileRow[]; next: string | null }>;
  all(payer: string): AsyncIterable<FileRow>;
  /** Remembers to look at a file at that time; once for each file, the last time counts. */
  remind(id: string, atMs: number): Promise<void>;
  forget(id: string): Promise<void>;
  /** The files whose time has come. */
  due(nowMs: number): AsyncIterable<string>;
}

function read({ id, payer, version, createdAtMs, value }: StoredRecord): FileRow {
  return { ...(JSON.parse(value) as FileFacts), id, payer: payer ?? "", version, createdAtMs };
}

/** Pages through a payer's records of a kind. */
async function* walk(records: Records, kind: string, payer: string): AsyncGenerator<StoredRecord> {
  let cursor: string | null = null;
  do {
    const page = await records.list(kind, payer, PAGE_ROWS, cursor);
    yield* page.rows;
    cursor = page.next;
  } while (cursor !== null);
}

export function fileRows(records: Records, clock: Clock): FileRows {
  return {
    async get(id) {
      const record = await records.get(KIND, id);
      return record === null ? null : read(record);
    },

    async put(row) {
      const { id, payer, version: ifVersion, createdAtMs: _, ...facts } = row;
      const value = JSON.stringify(facts satisfies FileFacts);
      const version = await records.put({ kind: KIND, id, payer, value, ttlMs: null, ifVersion });
      if (version === null) return null;
      return { ...row, version, createdAtMs: ifVersion === 0 ? clock.epochMs() : row.createdAtMs };
    },

    async remove({ id, payer, version: ifVersion }) {
      // A row without time to live is gone: a delete that fails where the row has changed.
      return (await records.put({ kind: KIND, id, payer, value: "", ttlMs: 0, ifVersion })) !== null;
    },

    async list(payer, limit, cursor) {
      const { rows, next } = await records.list(KIND, payer, limit, cursor);
      return { rows: rows.map(read), next };
    },

    async *all(payer) {
      for await (const record of walk(records, KIND, payer)) yield read(record);
    },

    async remind(id, atMs) {
      await records.put({ kind: DUE_KIND, id, payer: DUE_OWNER, value: String(atMs), ttlMs: null, ifVersion: null });
    },

    async forget(id) {
      await records.delete(DUE_KIND, id);
    },

    async *due(nowMs) {
      for await (const { id, value } of walk(records, DUE_KIND, DUE_OWNER)) if (Number(value) <= nowMs) yield id;
    },
  };
}
