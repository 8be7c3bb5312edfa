// How much of its room a payer has taken: counted up before a file is kept and down after it is gone, never below the truth.
import type { Records } from "../records/records.ts";
import type { FileRows } from "./file-rows.ts";

const KIND = "file-quota";

/** The count of one payer. Each change is made on the version that was read, so none is lost. */
interface Count {
  readonly bytes: number;
  /** Grows with every recount. */
  readonly recounts: number;
}

export interface Quota {
  /**
   * Takes room for a file whose row is written. Null: it is taken; else how much is free. The count may be too high, when a process
   * died between two steps, so nobody is refused before all files have been counted anew.
   */
  take(payer: string, bytes: number): Promise<{ readonly freeBytes: number } | null>;
  /** To be asked before a row is removed or shrunk, and handed to `free` afterwards. */
  state(payer: string): Promise<number>;
  /** Gives room back, unless a recount has come between, which may have seen it already. */
  free(payer: string, bytes: number, state: number): Promise<void>;
}

export function createQuota(records: Records, rows: FileRows, bytesMax: number): Quota {
  async function read(payer: string): Promise<{ count: Count; version: number }> {
    const record = await records.get(KIND, payer);
    if (record === null) return { count: { bytes: 0, recounts: 0 }, version: 0 };
    return { count: JSON.parse(record.value) as Count, version: record.version };
  }

  async function write(payer: string, count: Count, ifVersion: number): Promise<boolean> {
    const value = JSON.stringify(count);
    return (await records.put({ kind: KIND, id: payer, payer, value, ttlMs: null, ifVersion })) !== null;
  }

  /** All that the payer has rows for, that of this call included; a row that was refused meanwhile may be among them. */
  async function sum(payer: string): Promise<number> {
    let bytes = 0;
    for await (const row of rows.all(payer)) bytes += row.sizeBytes;
    return bytes;
  }

  return {
    async take(payer, bytes) {
      for (;;) {
        const { count, version } = await read(payer);
        if (count.bytes + bytes <= bytesMax) {
          if (await write(payer, { ...count, bytes: count.bytes + bytes }, version)) return null;
          continue;
        }
        const all = await sum(payer);
        const fits = all <= bytesMax;
        const recounted = { bytes: fits ? all : all - bytes, recounts: count.recounts + 1 };
        if (!(await write(payer, recounted, version))) continue;
        if (fits) return null;
        return { freeBytes: Math.max(0, bytesMax - (all - bytes)) };
      }
    },

    state: async (payer) => (await read(payer)).count.recounts,

    async free(payer, bytes, state) {
      for (;;) {
        const { count, version } = await read(payer);
        if (count.recounts !== state) return;
        if (await write(payer, { ...count, bytes: Math.max(0, count.bytes - bytes) }, version)) return;
      }
    },
  };
}
