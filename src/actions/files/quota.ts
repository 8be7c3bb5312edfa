// Counts the storage that a payer uses: raised before a file is kept and lowered after it is gone, so that it is never too low.
import type { Records } from "../../platform/records/records.ts";
import type { FileRow, FileRows } from "./file-rows.ts";

const KIND = "file-quota";
/** Once `taking` has this many ids, drops those that are no longer needed. */
const TAKING_MAX = 16;

/** The count of one payer. Each change is a versioned write, so none is lost. */
interface Count {
  readonly bytes: number;
  /** Incremented by every recount. */
  readonly recounts: number;
  /** Files that took quota, but whose row may not say so yet. */
  readonly taking: readonly string[];
}

const NOTHING: Count = { bytes: 0, recounts: 0, taking: [] };

export type Quota = ReturnType<typeof createQuota>;

export function createQuota(records: Records, rows: FileRows, bytesMax: number) {
  async function read(payer: string): Promise<{ count: Count; version: number }> {
    const record = await records.get(KIND, payer);
    if (record === null) return { count: NOTHING, version: 0 };
    return { count: JSON.parse(record.value) as Count, version: record.version };
  }

  async function write(payer: string, count: Count, ifVersion: number): Promise<boolean> {
    const value = JSON.stringify(count);
    return (await records.put({ kind: KIND, id: payer, payer, value, ttlMs: null, ifVersion })) !== null;
  }

  async function stillNew(ids: readonly string[]): Promise<string[]> {
    if (ids.length < TAKING_MAX) return [...ids];
    const found = await Promise.all(ids.map((id) => rows.get(id)));
    return found.flatMap((row) => (row?.state === "new" ? [row.id] : []));
  }

  /** Recounts without this file. A new file that has not taken quota yet will do so on the result. */
  async function recount({ payer, id }: Pick<FileRow, "payer" | "id">, { recounts, taking }: Count): Promise<Count> {
    let bytes = 0;
    const unmarked: string[] = [];
    for await (const row of rows.all(payer)) {
      if (row.id === id || (row.state === "new" && !taking.includes(row.id))) continue;
      bytes += row.sizeBytes;
      if (row.state === "new") unmarked.push(row.id);
    }
    return { bytes, recounts: recounts + 1, taking: unmarked };
  }

  return {
    /** Reserves quota for a file whose row is written; else the free bytes, after a recount: dead processes may leave the count too high. */
    async take(row: FileRow): Promise<{ readonly freeBytes: number } | null> {
      const { payer, id, sizeBytes } = row;
      for (;;) {
        const { count: last, version } = await read(payer);
        const fits = last.bytes + sizeBytes <= bytesMax;
        const count = fits ? { ...last, taking: await stillNew(last.taking) } : await recount(row, last);
        const { bytes, taking } = count;
        const refused = bytes + sizeBytes > bytesMax;
        const next = refused ? count : { ...count, bytes: bytes + sizeBytes, taking: [...taking, id] };
        if (!(await write(payer, next, version))) continue;
        return refused ? { freeBytes: Math.max(0, bytesMax - bytes) } : null;
      }
    },

    /** Counts the files again before it says that the quota is full. */
    async isFull(payer: string): Promise<boolean> {
      for (;;) {
        const { count: last, version } = await read(payer);
        if (last.bytes < bytesMax) return false;
        const count = await recount({ payer, id: "" }, last);
        if (await write(payer, count, version)) return count.bytes >= bytesMax;
      }
    },

    /** Call before a row is removed or shrunk, and pass the result to `free`. */
    state: async (payer: string) => (await read(payer)).count.recounts,

    /** Returns quota, unless a recount came in between, which may have counted the change already. */
    async free(payer: string, bytes: number, state: number): Promise<void> {
      for (;;) {
        const { count, version } = await read(payer);
        if (count.recounts !== state) return;
        if (await write(payer, { ...count, bytes: Math.max(0, count.bytes - bytes) }, version)) return;
      }
    },
  };
}
