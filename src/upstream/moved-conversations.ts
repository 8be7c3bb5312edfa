// Conversations that a route other than the first in their order has served: they go on there, where the vendor's cache has their prompt.
import type { Clock } from "../clock.ts";

const MOVED_MS = 600_000;
const CONVERSATIONS_MAX = 100_000;

interface Moved {
  readonly healthKey: string;
  readonly untilMs: number;
}

export interface MovedConversations {
  /** While it is zero nobody needs to know which conversation a call is of. */
  readonly size: number;
  /** The health key of the route that has served it last; null: it has not moved, or not lately. */
  routeOf(conversation: string): string | null;
  /** It was served there, for ten minutes from now on; `isFirst`: by the route that it would have been sent to anyway. */
  served(conversation: string, healthKey: string, isFirst: boolean): void;
}

/** Keeps at most so many; the one that was served the longest ago leaves first. */
export function createMovedConversations(clock: Clock): MovedConversations {
  const moved = new Map<string, Moved>();
  return {
    get size() {
      return moved.size;
    },
    routeOf(conversation) {
      const known = moved.get(conversation);
      if (known === undefined) return null;
      if (known.untilMs > clock.elapsedMs()) return known.healthKey;
      moved.delete(conversation);
      return null;
    },
    served(conversation, healthKey, isFirst) {
      moved.delete(conversation);
      if (isFirst) return;
      const [oldest] = moved.size >= CONVERSATIONS_MAX ? moved.keys() : [];
      if (oldest !== undefined) moved.delete(oldest);
      moved.set(conversation, { healthKey, untilMs: clock.elapsedMs() + MOVED_MS });
    },
  };
}
