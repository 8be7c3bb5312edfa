// Answers of the responses wire that their callers asked to be kept, so that a later request can go on from one by its id.
import { isRecord, type Json } from "../json.ts";
import { tooMuchIn } from "../json-bytes.ts";
import type { Records } from "../records/records.ts";

const KIND = "response";
const TTL_MS = 24 * 60 * 60 * 1000;
/** A longer conversation, or one of more names than a body may hold, is not kept, and its answer says so. */
const BYTES_MAX = 1024 * 1024;
const SHARE = { bytesMax: 64 * 1024 * 1024, full: "oldest_leave" } as const;

/** What an answer holds is kept by itself as well, for those who name its items instead of the answer. */
const ITEM = "response_item";
const ITEMS_SHARE = { bytesMax: 16 * 1024 * 1024, full: "oldest_leave" } as const;
/** Of one answer, and of one request. */
const ITEMS_MAX = 256;
/** Asked for at once; where none of them is there, no more are. */
const ITEMS_AT_ONCE = 16;

/** A kept answer with the whole conversation before it, so that no chain of ids has to be walked. */
export interface KeptResponse {
  readonly input: readonly unknown[];
  readonly response: Json;
  readonly bytes: number;
}

export interface KeptItems {
  readonly byId: ReadonlyMap<string, Json>;
  readonly bytes: number;
}

function itemsOf({ output }: Json): (Json & { readonly id: string })[] {
  const items: readonly unknown[] = Array.isArray(output) ? output.slice(0, ITEMS_MAX) : [];
  return items.filter((item): item is Json & { id: string } => isRecord(item) && typeof item.id === "string");
}

function itemKey(payer: string, id: string): string {
  return `${payer}:${id}`;
}

/** What is kept is its payer's alone: another's id finds nothing, and neither does a call whose payer is not known. */
export interface KeptResponses {
  find(payer: string | null, id: string): Promise<KeptResponse | null>;
  /** The output items with these ids, as far as they are kept; together they are no longer than one answer may be. */
  findItems(payer: string | null, ids: readonly string[]): Promise<KeptItems>;
  /** False: it is too long, or the store is away. */
  keep(payer: string, input: readonly unknown[], response: Json): Promise<boolean>;
  /** False: there was none. */
  forget(payer: string, id: string): Promise<boolean>;
}

export function createKeptResponses(records: Records): KeptResponses {
  async function find(payer: string | null, id: string): Promise<KeptResponse | null> {
    const record = payer === null ? null : await records.get(KIND, id);
    if (record === null || record.payer !== payer) return null;
    const kept: unknown = JSON.parse(record.value);
    if (!isRecord(kept) || !Array.isArray(kept.input) || !isRecord(kept.response)) return null;
    return { input: kept.input, response: kept.response, bytes: Buffer.byteLength(record.value) };
  }

  async function findItem(payer: string, id: string): Promise<{ item: Json; bytes: number } | null> {
    const record = await records.get(ITEM, itemKey(payer, id));
    if (record === null || record.payer !== payer) return null;
    const item: unknown = JSON.parse(record.value);
    return isRecord(item) ? { item, bytes: Buffer.byteLength(record.value) } : null;
  }

  /** One that is not kept is told as such when it is named. */
  async function keepItems(payer: string, response: Json): Promise<void> {
    const puts = itemsOf(response).map((item) => {
      const own = { kind: ITEM, id: itemKey(payer, item.id), payer, value: JSON.stringify(item) };
      return records.put({ ...own, ttlMs: TTL_MS, ifVersion: 0, share: ITEMS_SHARE });
    });
    await Promise.allSettled(puts);
  }

  return {
    find,
    async findItems(payer, ids) {
      const byId = new Map<string, Json>();
      let bytes = 0;
      if (payer === null) return { byId, bytes };
      for (let from = 0; from < Math.min(ids.length, ITEMS_MAX); from += ITEMS_AT_ONCE) {
        const some = ids.slice(from, Math.min(from + ITEMS_AT_ONCE, ITEMS_MAX));
        const found = await Promise.all(some.map((id) => findItem(payer, id)));
        if (found.every((kept) => kept === null)) break;
        for (const [at, id] of some.entries()) {
          const kept = found[at] ?? null;
          if (kept === null || bytes + kept.bytes > BYTES_MAX) continue;
          byId.set(id, kept.item);
          bytes += kept.bytes;
        }
      }
      return { byId, bytes };
    },
    async keep(payer, input, response) {
      const value = JSON.stringify({ input, response });
      const bytes = Buffer.from(value);
      if (bytes.length > BYTES_MAX || tooMuchIn(bytes) !== null) return false;
      const id = String(response.id);
      const put = { kind: KIND, id, payer, value, ttlMs: TTL_MS, ifVersion: 0, share: SHARE };
      // An answer that is there is worth more than the promise that it can be asked for again.
      const isKept = await records.put(put).then(
        (version) => version !== null,
        () => false,
      );
      if (isKept) await keepItems(payer, response);
      return isKept;
    },
    async forget(payer, id) {
      const kept = await find(payer, id);
      if (kept === null) return false;
      await Promise.all(itemsOf(kept.response).map((item) => records.delete(ITEM, itemKey(payer, item.id))));
      return records.delete(KIND, id);
    },
  };
}
