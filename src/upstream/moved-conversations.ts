// Conversations that a route other than the first in their order has served: they go on there, where the vendor's cache has their prompt.
import type { Clock } from "../core/clock.ts";

const MOVED_MS = 600_000;
const CONVERSATIONS_MAX = 100_000;
/** The most that is told to others at once. What is left out is not known there, and costs them no more than a cache. */
const NEWS_MAX = 1_000;

interface Moved {
  readonly healthKey: string;
  readonly untilMs: number;
}

/**
 * What a route is beside the one that the conversation would have been sent to: that one itself, another to the same model, whose answers are
 * as good, or one to another model. At another it stays for ten minutes after its last call, with another model for ten minutes from the move.
 */
export type ServingRoute = "first" | "same-model" | "other-model";

export interface MovedConversations {
  /** While it is zero it need not be known which conversation a call is of. */
  readonly size: number;
  /** The health key of the route that has served it last; null: it has not moved, or not lately. */
  routeOf(conversation: string): string | null;
  /** It was served there, by a route of this kind. */
  served(conversation: string, healthKey: string, route: ServingRoute): void;
  /** Which have moved here since this was last asked, the newest last; `null`: back to where any call goes. */
  news(): readonly MovedNews[];
  /** Those that moved last, for one who knows of none. */
  known(): readonly MovedNews[];
  /** Another process has served it there; it is not told on. */
  hear(news: MovedNews): void;
}

export type MovedNews = readonly [conversation: string, healthKey: string | null];

/** Keeps at most so many; the one that was served the longest ago leaves first. */
export function createMovedConversations(clock: Clock): MovedConversations {
  const moved = new Map<string, Moved>();
  let changed = new Map<string, string | null>();

  function note(conversation: string, healthKey: string | null): void {
    changed.delete(conversation);
    const [oldest] = changed.size >= NEWS_MAX ? changed.keys() : [];
    if (oldest !== undefined) changed.delete(oldest);
    changed.set(conversation, healthKey);
  }

  function put(conversation: string, healthKey: string): void {
    moved.delete(conversation);
    const [oldest] = moved.size >= CONVERSATIONS_MAX ? moved.keys() : [];
    if (oldest !== undefined) moved.delete(oldest);
    moved.set(conversation, { healthKey, untilMs: clock.elapsedMs() + MOVED_MS });
  }

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
    served(conversation, healthKey, route) {
      if (route === "first") {
        if (moved.delete(conversation)) note(conversation, null);
        return;
      }
      const known = moved.get(conversation);
      const isThere = known !== undefined && known.healthKey === healthKey && known.untilMs > clock.elapsedMs();
      if (route === "other-model" && isThere) return;
      put(conversation, healthKey);
      note(conversation, healthKey);
    },
    news() {
      const told = [...changed];
      changed = new Map();
      return told;
    },
    known: () => [...moved].slice(-NEWS_MAX).map(([conversation, { healthKey }]) => [conversation, healthKey] as const),
    hear([conversation, healthKey]) {
      if (healthKey === null) moved.delete(conversation);
      else put(conversation, healthKey);
    },
  };
}
