// What is kept of answers in the responses wire: those that their callers asked to be kept, to go on from by their ids, and for a day the
// items of all but those that say `store: false`, because clients take what they do not speak of for stored.
import { GatewayError } from "../../core/errors.ts";
import { isRecord, type Json } from "../../core/json.ts";
import { tooMuchIn } from "../../core/json-bytes.ts";
import type { ThoughtSeal } from "../../core/neutral.ts";
import type { Records } from "../../platform/records/records.ts";
import type { Earlier, KeptAnswer, KeptAnswers } from "../formats/wire.ts";

const KIND = "response";
const TTL_MS = 24 * 60 * 60 * 1000;
/** A longer conversation, or one of more names than a body may hold, is not kept, and its answer says so. */
const BYTES_MAX = 1024 * 1024;
const SHARE = { bytesMax: 64 * 1024 * 1024, full: "oldest_leave" } as const;

/** The items of an answer are kept one by one, sealed for their payer, for clients that name them instead of sending them. */
const ITEM = "sealed_item";
/** An item is no vendor's thought: any model may read it. */
const MAKER = "item";
const ITEMS_SHARE = { bytesMax: 16 * 1024 * 1024, full: "oldest_leave" } as const;
/** Of one answer, and of one request. */
const ITEMS_MAX = 256;
/** Asked for at once; where none of them is there, no more are. */
const ITEMS_AT_ONCE = 16;

function itemsOf({ output }: Json): (Json & { readonly id: string })[] {
  const items: readonly unknown[] = Array.isArray(output) ? output.slice(0, ITEMS_MAX) : [];
  return items.filter((item): item is Json & { id: string } => isRecord(item) && typeof item.id === "string");
}

/** A thought without its seal is of no use to the model that had it. */
function isOfUse({ type, encrypted_content }: Json): boolean {
  return type !== "reasoning" || typeof encrypted_content === "string";
}

/** An item as it goes into a later request: without its id, because some vendors ask for the thought that came before the id. */
function sealedItem({ id: _id, ...item }: Json, seal: ThoughtSeal): string | null {
  const text = JSON.stringify(item);
  return seal.seal({ kind: "reasoning", text, format: null, signature: null, sealed: null, callId: null }, MAKER);
}

function openedItem(sealed: string, seal: ThoughtSeal): Json | null {
  const opened = seal.open(sealed, MAKER);
  const item: unknown = opened === null ? null : JSON.parse(opened.text);
  return isRecord(item) ? item : null;
}

function itemKey(payer: string, id: string): string {
  return `${payer}:${id}`;
}

function conversationUpTo(found: KeptAnswer | null): Earlier | GatewayError {
  if (found === null) return new GatewayError("previous_response_not_found", { param: "previous_response_id" });
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

  /** One that is not kept is told as such when it is named. */
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
      // An answer that is there is worth more than the promise that it can be asked for again.
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
