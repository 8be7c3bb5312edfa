// The files of batches: uploads and outputs in a separate quota, and the segments of results that a running batch writes.
import { randomBytes } from "node:crypto";
import type { Records } from "../../platform/records/records.ts";
import { type FileRow, fileRows } from "./file-rows.ts";
import { keep } from "./intake.ts";
import { discard, type FileLimits, type LifecycleDeps, lookAgain } from "./lifecycle.ts";
import { createQuota } from "./quota.ts";

const MIB = 1024 * 1024;
export const BATCH_FILE_BYTES_MAX = 200 * MIB;
const QUOTA_BYTES_MAX = 1024 * MIB;
/** Segments that no running batch has deleted by then were left behind by a crash. */
const SEGMENT_MS_MAX = 7 * 24 * 3_600_000;

/** What a file is for, as its wire says it. The messages wire has no files, so its own are not listed. */
export type Purpose = "batch" | "batch_output" | "messages_input" | "messages_output";

export function isListed({ tags }: Pick<FileRow, "tags">): boolean {
  return tags[0]?.startsWith("messages_") !== true;
}

export interface NewBatchFile {
  readonly filename: string;
  readonly purpose: Purpose;
  readonly sizeBytes: number;
  /** When it is deleted; null: never. */
  readonly expiresAtMs: number | null;
}

/** Bytes that belong to a running batch and to no list of files. */
export interface Segment {
  readonly id: string;
  readonly bytes: number;
}

export type BatchFiles = ReturnType<typeof createBatchFiles>;

/** They are the account's, whichever key made them, and count apart from its other files. */
const ownerOf = (payer: string): string => `${payer}/batch`;

type Parts = Pick<LifecycleDeps, "store" | "clock"> & { readonly records: Records };

export function createBatchFiles({ records, store, clock }: Parts) {
  const rows = fileRows(records, clock);
  const depsFor = (limits: FileLimits): LifecycleDeps => {
    return { rows, store, clock, busy: new Set(), quota: createQuota(records, rows, limits.quotaBytesMax), limits };
  };
  const uploads = depsFor({ fileBytesMax: BATCH_FILE_BYTES_MAX, quotaBytesMax: QUOTA_BYTES_MAX });
  const outputs = depsFor({ fileBytesMax: Number.MAX_SAFE_INTEGER, quotaBytesMax: Number.MAX_SAFE_INTEGER });

  async function stored(row: FileRow | null): Promise<FileRow | null> {
    const now = row === null ? null : await lookAgain(uploads, row);
    return now?.state === "stored" ? now : null;
  }

  return {
    /** Stores a file whole, or not at all. Outputs are never refused for the quota: their lines are paid for. */
    keep(payer: string, { filename, purpose, sizeBytes, expiresAtMs }: NewBatchFile, bytes: AsyncIterable<Uint8Array>) {
      const facts = { filename, sizeBytes, mime: "application/jsonl", tags: [purpose], note: null, source: "batch" };
      const file = expiresAtMs === null ? facts : { ...facts, expiresAtMs };
      return keep(purpose.endsWith("_output") ? outputs : uploads, ownerOf(payer), file, bytes);
    },

    /** One of the payer's stored files; null where there is none. */
    async find(payer: string, id: string): Promise<FileRow | null> {
      const row = await rows.get(id);
      return stored(row?.payer === ownerOf(payer) ? row : null);
    },

    /** Newest first. */
    async *all(payer: string): AsyncGenerator<FileRow> {
      for await (const row of rows.all(ownerOf(payer))) {
        const now = await stored(row);
        if (now !== null) yield now;
      }
    },

    /** Keeps a file that expires earlier until then. False: another request deleted it first. */
    async keepUntil(row: FileRow, atMs: number): Promise<boolean> {
      for (let now: FileRow | null = row; now !== null; now = await rows.get(row.id)) {
        if (now.expiresAtMs === undefined || now.expiresAtMs >= atMs) return true;
        if ((await rows.put({ ...now, expiresAtMs: atMs })) !== null) return true;
      }
      return false;
    },

    isFull: (payer: string) => uploads.quota.isFull(ownerOf(payer)),

    /** False: another request deleted it first. */
    delete: (row: FileRow) => discard(uploads, row),
    read: store.read,

    async putSegment(bytes: AsyncIterable<Uint8Array>): Promise<Segment> {
      // The name is always new, so that a process that has lost the batch without knowing it changes nothing.
      const id = `file_${randomBytes(16).toString("hex")}`;
      await rows.remind(id, clock.epochMs() + SEGMENT_MS_MAX);
      return { id, bytes: await store.write(id, bytes, null) };
    },

    async dropSegment(id: string): Promise<void> {
      await store.delete(id);
      await rows.forget(id);
    },

    /** The bytes of segments one after another. Throws where one is gone. */
    async *readAll(segments: readonly Segment[]): AsyncGenerator<Uint8Array> {
      for (const { id } of segments) {
        const bytes = await store.read(id, null);
        if (bytes === null) throw new Error(`the segment ${id} of a batch is gone`);
        yield* bytes;
      }
    },
  };
}
