// What did not fit into an answer, kept for an hour for its payer alone: any process may give it.
import { randomUUID } from "node:crypto";
import type { Records } from "../records/records.ts";

const KIND = "mcp-leftover";
const TTL_MS = 60 * 60 * 1000;
/** One rest, and all of a payer's: the oldest leave first. */
const CHARS_MAX = 2 * 1024 * 1024;
const SHARE = { bytesMax: 16 * 1024 * 1024, full: "oldest_leave" } as const;

export interface Leftovers {
  /** The id by which the rest may be had; null: it is too long, or the store is away. */
  keep(rest: string): Promise<string | null>;
  /** Null: there is none of that id, or it is another payer's. */
  take(id: string): Promise<string | null>;
}

export function leftoversOf(payer: string | null, records: Records): Leftovers {
  return {
    async keep(value) {
      if (payer === null || value.length > CHARS_MAX) return null;
      const id = `rest_${randomUUID()}`;
      const put = { kind: KIND, id, payer, value, ttlMs: TTL_MS, ifVersion: 0, share: SHARE };
      return records.put(put).then(
        (version) => (version === null ? null : id),
        () => null,
      );
    },
    async take(id) {
      const record = await records.get(KIND, id);
      return record === null || payer === null || record.payer !== payer ? null : record.value;
    },
  };
}
