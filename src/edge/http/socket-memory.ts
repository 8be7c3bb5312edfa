// What sockets keep of their conversations: one each, bounded together, so that those that rest give way to those that are used.
import type { SocketMemory } from "../../core/endpoint.ts";

/** As long as the longest message may be, since that is what a client would have to send again. */
const BYTES_MAX = 4 * 1024 * 1024;
const ALL_BYTES_MAX = 64 * 1024 * 1024;
/** Of one account's sockets, while others need the room. */
const SHARE_BYTES = 8 * 1024 * 1024;

interface Kept {
  readonly id: string;
  readonly bytes: Buffer;
  readonly accountId: string;
}

export interface OpenMemory extends SocketMemory {
  /** Whose socket it is: what it keeps counts as theirs. */
  belongTo(accountId: string): void;
  /** The socket has closed. */
  close(): void;
}

/**
 * Of all sockets of a listener. What was kept longest ago is forgotten first, of accounts that have more than a share before all others,
 * and its client told that when it names it.
 */
export function socketMemories(allBytesMax = ALL_BYTES_MAX, shareBytes = SHARE_BYTES): () => OpenMemory {
  const all = new Map<OpenMemory, Kept>();
  const byAccount = new Map<string, number>();
  let total = 0;

  function count(accountId: string, bytes: number): void {
    total += bytes;
    const after = (byAccount.get(accountId) ?? 0) + bytes;
    if (after === 0) byAccount.delete(accountId);
    else byAccount.set(accountId, after);
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
