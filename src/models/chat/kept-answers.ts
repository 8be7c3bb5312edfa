// Stored answers of the Responses wire: those that callers asked to store, to continue from by id; and, for a day, the items of all answers
// without `store: false`, because clients assume storage by default.
import { GatewayError } from "../../core/errors.ts";
import { isRecord, type Json } from "../../core/json.ts";
import { tooMuchIn } from "../../core/json-bytes.ts";
import { type ThoughtSeal, thought } from "../../core/neutral.ts";
import type { Records } from "../../platform/records/records.ts";
import type { Earlier, KeptAnswer, KeptAnswers } from "../formats/wire.ts";

const KIND = "response";
const TTL_MS = 24 * 60 * 60 * 1000;
/** A conversation that is longer, or has more names than a body may, is not stored, and its answer says so. */
const BYTES_MAX = 1024 * 1024;
const SHARE = { bytesMax: 64 * 1024 * 1024, full: "oldest_leave" } as const;

/** The items of an answer are stored one by one, sealed for their payer, for clients that refer to them by id. */
const ITEM = "sealed_item";
/** Not bound to a vendor: any model may read an item. */
const MAKER = "item";
const ITEMS_SHARE = { bytesMax: 16 * 1024 * 1024, full: "oldest_leave" } as const;
/** Per answer and per request. */
const ITEMS_MAX = 256;
/** The size of a batch of lookups; if a whole batch finds nothing, lookups stop. */
const ITEMS_AT_ONCE = 16;

function itemsOf({ output }: Json): (Json & { readonly id: string })[] {
  const items: readonly unknown[] = Array.isArray(output) ? output.slice(0, ITEMS_MAX) : [];
  return items.filter((item): item is Json & { id: string } => isRecord(item) && typeof item.id === "string");
}

/** Reasoning without its encrypted content is useless to the model that made it. */
function isOfUse({ type, encrypted_content }: Json): boolean {
  return type !== "reasoning" || typeof encrypted_content === "string";
}

/** An item for use in a later request. Drops its id, because some vendors require the reasoning item that preceded that id. */
function sealedItem({ id: _id, ...item }: Json, seal: ThoughtSeal): string | null {
  const text = JSON.stringify(item);
  return seal.seal(thought({ text }), MAKER);
}

function openedItem(sealed: string, seal: ThoughtSeal): Json | null {
  const opened = seal.open(sealed, MAKER);
  const item: unknown = opened === null ? null : JSON.parse(opened.text);
  return isRecord(item) ? item : null;
}

function itemKey(payer: string, id: string): string {
  return `${payer}:${id}`;
}

function conversationUpTo(found: KeptAnswer | null): Earlier {
  if (found === null) throw new GatewayError("previous_response_not_found", { param: "previous_response_id" });
  const output = Array.isArray(found.response.output) ? found.response.output : [];
  return { items: [...found.input, ...output], bytes: found.bytes };
}

export function createKeptAnswers(records: Records): KeptAnswers {
  async function find(payer: string | null, id: string): Promise<KeptAnswer | null> {
    const record = payer === null ? null : await records.get(KIND, id);
    if (record === null || record.payer !== payer) return null;
    const kept: unknown = JSON.parse(record.value);
    if (!isRecord(kept) || !Array.isArray(kept.input) || !isRecord(kept.response)) return null;
    return { input: kept.input, response: kept.response, bytes: Buffer.byteLength(record.value) };
  }

  async function findItem(payer: string, id: string, seal: ThoughtSeal): Promise<{ item: Json; bytes: number } | null> {
    const record = await records.get(ITEM, itemKey(payer, id));
    if (record === null || record.payer !== payer) return null;
    const item = openedItem(record.value, seal);
    return item === null ? null : { item, bytes: Buffer.byteLength(record.value) };
  }

  /** If an item is not stored, a later request that refers to it gets an error. */
  async function keepItems(payer: string, response: Json, seal: ThoughtSeal): Promise<void> {
    const puts = itemsOf(response)
      .filter(isOfUse)
      .map(async (item) => {
        const value = sealedItem(item, seal);
        if (value === null) return;
        const own = { kind: ITEM, id: itemKey(payer, item.id), payer, value };
        await records.put({ ...own, ttlMs: TTL_MS, ifVersion: 0, share: ITEMS_SHARE });
      });
    await Promise.allSettled(puts);
  }

  return {
    find,
    earlier: async (payer, id) => conversationUpTo(await find(payer, id)),
    keepItems,
    async findItems(payer, ids, seal) {
      const byId = new Map<string, Json>();
      let bytes = 0;
      if (payer === null) return { byId, bytes };
      for (let from = 0; from < Math.min(ids.length, ITEMS_MAX); from += ITEMS_AT_ONCE) {
        const some = ids.slice(from, Math.min(from + ITEMS_AT_ONCE, ITEMS_MAX));
        const found = await Promise.all(some.map((id) => findItem(payer, id, seal)));
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
    async keep(payer, input, response, seal) {
      const value = JSON.stringify({ input, response });
      const bytes = Buffer.from(value);
      if (bytes.length > BYTES_MAX || tooMuchIn(bytes) !== null) return false;
      const id = String(response.id);
      const put = { kind: KIND, id, payer, value, ttlMs: TTL_MS, ifVersion: 0, share: SHARE };
      // A missing copy must not fail the answer itself.
      const isKept = await records.put(put).then(
        (version) => version !== null,
        () => false,
      );
      if (isKept) await keepItems(payer, response, seal);
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
