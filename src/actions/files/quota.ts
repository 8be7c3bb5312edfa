// Counts the storage that a payer uses: raised before a file is kept and lowered after it is gone, so that it is never too low.
import type { Records } from "../../platform/records/records.ts";
import { revise } from "../../platform/records/revise.ts";
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
  const change = (payer: string, to: (count: Count) => Count | null | Promise<Count | null>) =>
    revise(records, { kind: KIND, id: payer, payer, ttlMs: null }, async (value) => {
      const next = await to(value === null ? NOTHING : JSON.parse(value));
      return next && JSON.stringify(next);
    });

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
      let refusal: { readonly freeBytes: number } | null = null;
      await change(payer, async (last) => {
        const fits = last.bytes + sizeBytes <= bytesMax;
        const count = fits ? { ...last, taking: await stillNew(last.taking) } : await recount(row, last);
        const { bytes, taking } = count;
        refusal = bytes + sizeBytes > bytesMax ? { freeBytes: Math.max(0, bytesMax - bytes) } : null;
        return refusal === null ? { ...count, bytes: bytes + sizeBytes, taking: [...taking, id] } : count;
      });
      return refusal;
    },

    /** Counts the files again before it says that the quota is full. */
    async isFull(payer: string): Promise<boolean> {
      let isFull = false;
      await change(payer, async (last) => {
        const count = last.bytes < bytesMax ? null : await recount({ payer, id: "" }, last);
        isFull = count !== null && count.bytes >= bytesMax;
        return count;
      });
      return isFull;
    },

    /** Call before a row is removed or shrunk, and pass the result to `free`. */
    async state(payer: string): Promise<number> {
      const record = await records.get(KIND, payer);
      return record === null ? NOTHING.recounts : (JSON.parse(record.value) as Count).recounts;
    },

    /** Returns quota, unless a recount came in between, which may have counted the change already. */
    free: (payer: string, bytes: number, state: number): Promise<void> =>
      change(payer, (count) =>
        count.recounts === state ? { ...count, bytes: Math.max(0, count.bytes - bytes) } : null,
      ),
  };
}
