// What sockets keep of their conversations: one each, bounded together, so that those that rest give way to those that are used.
import type { SocketMemory } from "../endpoint.ts";

/** As long as the longest message may be, since that is what a client would have to send again. */
const BYTES_MAX = 4 * 1024 * 1024;
const ALL_BYTES_MAX = 64 * 1024 * 1024;

interface Kept {
  readonly id: string;
  readonly bytes: Buffer;
}

export interface OpenMemory extends SocketMemory {
  /** The socket has closed. */
  close(): void;
}

/** Of all sockets of a listener. What was kept longest ago is forgotten first, and its client told that when it names it. */
export function socketMemories(allBytesMax = ALL_BYTES_MAX): () => OpenMemory {
  const all = new Map<OpenMemory, Kept>();
  let total = 0;

  function forget(one: OpenMemory): void {
    total -= all.get(one)?.bytes.length ?? 0;
    all.delete(one);
  }

  return () => {
    const own: OpenMemory = {
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
        total += bytes.length;
        all.set(own, { id, bytes });
        for (const oldest of all.keys()) {
          if (total <= allBytesMax) break;
          forget(oldest);
        }
      },
      close: () => forget(own),
    };
    return own;
  };
}
