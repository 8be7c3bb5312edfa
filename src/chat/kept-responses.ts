// Answers of the responses wire that their callers asked to be kept, so that a later request can go on from one by its id.
import { isRecord, type Json } from "../json.ts";
import type { Records } from "../records/records.ts";

const KIND = "response";
const TTL_MS = 24 * 60 * 60 * 1000;
/** A longer conversation is not kept, and its answer says so. */
const BYTES_MAX = 1024 * 1024;
const SHARE = { bytesMax: 64 * 1024 * 1024, full: "oldest_leave" } as const;

/** A kept answer with the whole conversation before it, so that no chain of ids has to be walked. */
export interface KeptResponse {
  readonly input: readonly unknown[];
  readonly response: Json;
  readonly bytes: number;
}

/** What is kept is its payer's alone: another's id finds nothing. */
export interface KeptResponses {
  find(payer: string, id: string): Promise<KeptResponse | null>;
  /** False: it is too long, or the store is away. */
  keep(payer: string, input: readonly unknown[], response: Json): Promise<boolean>;
  /** False: there was none. */
  forget(payer: string, id: string): Promise<boolean>;
}

export function createKeptResponses(records: Records): KeptResponses {
  async function find(payer: string, id: string): Promise<KeptResponse | null> {
    const record = await records.get(KIND, id);
    if (record === null || record.payer !== payer) return null;
    const kept: unknown = JSON.parse(record.value);
    if (!isRecord(kept) || !Array.isArray(kept.input) || !isRecord(kept.response)) return null;
    return { input: kept.input, response: kept.response, bytes: Buffer.byteLength(record.value) };
  }

  return {
    find,
    async keep(payer, input, response) {
      const value = JSON.stringify({ input, response });
      if (Buffer.byteLength(value) > BYTES_MAX) return false;
      const id = String(response.id);
      const put = { kind: KIND, id, payer, value, ttlMs: TTL_MS, ifVersion: 0, share: SHARE };
      // An answer that is there is worth more than the promise that it can be asked for again.
      return records.put(put).then(
        (version) => version !== null,
        () => false,
      );
    },
    async forget(payer, id) {
      return (await find(payer, id)) !== null && (await records.delete(KIND, id));
    },
  };
}
