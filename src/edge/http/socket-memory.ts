// The memory of sockets' conversations: one per socket, with a common limit, so that idle ones give way to active ones.
import type { SocketMemory } from "../../core/endpoint.ts";
import { tally } from "../../core/tally.ts";

/** The same as the longest message, which is what a client would have to send again. */
const BYTES_MAX = 4 * 1024 * 1024;
const ALL_BYTES_MAX = 64 * 1024 * 1024;
/** The share of one account's sockets, while others need the room. */
const SHARE_BYTES = 8 * 1024 * 1024;

interface Kept {
  readonly id: string;
  readonly bytes: Buffer;
  readonly accountId: string;
}

export interface OpenMemory extends SocketMemory {
  /** Sets the socket's account: its memory counts against that account. */
  belongTo(accountId: string): void;
  close(): void;
}

/**
 * For all sockets of a listener. The oldest conversation is forgotten first, of accounts above their share before all others; its client
 * gets an error when it refers to it.
 */
export function socketMemories(allBytesMax = ALL_BYTES_MAX, shareBytes = SHARE_BYTES): () => OpenMemory {
  const all = new Map<OpenMemory, Kept>();
  const byAccount = new Map<string, number>();
  let total = 0;

  function count(accountId: string, bytes: number): void {
    total += bytes;
    tally(byAccount, accountId, bytes);
  }

  function forget(one: OpenMemory): void {
    const kept = all.get(one);
    if (kept === undefined) return;
    all.delete(one);
    count(kept.accountId, -kept.bytes.length);
  }

  function makeRoom(): void {
    for (const isFor of [(id: string) => (byAccount.get(id) ?? 0) > shareBytes, () => true]) {
      for (const [one, { accountId }] of all) {
        if (total <= allBytesMax) return;
        if (isFor(accountId)) forget(one);
      }
    }
  }

  return () => {
    let accountId = "";
    const own: OpenMemory = {
      belongTo(id) {
        accountId = id;
      },
      get bytes() {
        return all.get(own)?.bytes.length ?? 0;
      },
      take(id) {
        const kept = all.get(own);
        if (kept?.id !== id) return null;
        forget(own);
        return kept.bytes.toString();
      },
      keep(id, text) {
        forget(own);
        const bytes = Buffer.from(text);
        if (bytes.length > Math.min(BYTES_MAX, allBytesMax)) return;
        all.set(own, { id, bytes, accountId });
        count(accountId, bytes.length);
        makeRoom();
      },
      close: () => forget(own),
    };
    return own;
  };
}
