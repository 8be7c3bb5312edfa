// Conversations served by a route other than their first: they stay there, because that vendor has their prompt cached.
import type { Clock } from "../core/clock.ts";
import { putLast } from "../core/maps.ts";

const MOVED_MS = 600_000;
const CONVERSATIONS_MAX = 100_000;
/** The limit on news per message. What is left out stays unknown to other processes, and costs them only a cache hit. */
const NEWS_MAX = 1_000;

interface Moved {
  readonly healthKey: string;
  readonly untilMs: number;
}

/**
 * How the route that served relates to the conversation's preferred one: the same, another one with the same model, whose answers are as
 * good, or one with another model. A conversation stays on a same-model route until ten minutes after its last call, on another model for
 * ten minutes from the move.
 */
export type ServingRoute = "first" | "same-model" | "other-model";

export type MovedConversations = ReturnType<typeof createMovedConversations>;

export type MovedNews = readonly [conversation: string, healthKey: string | null];

/** Keeps at most `CONVERSATIONS_MAX`; the one served longest ago leaves first. */
export function createMovedConversations(clock: Clock) {
  const moved = new Map<string, Moved>();
  let changed = new Map<string, string | null>();

  const note = (conversation: string, healthKey: string | null) => putLast(changed, conversation, healthKey, NEWS_MAX);
  const put = (conversation: string, healthKey: string) =>
    putLast(moved, conversation, { healthKey, untilMs: clock.elapsedMs() + MOVED_MS }, CONVERSATIONS_MAX);

  return {
    /** While it is zero, callers need not identify a call's conversation. */
    get size(): number {
      return moved.size;
    },
    /** The health key of the route that served it last; null if it has not moved recently. */
    routeOf(conversation: string): string | null {
      const known = moved.get(conversation);
      if (known === undefined) return null;
      if (known.untilMs > clock.elapsedMs()) return known.healthKey;
      moved.delete(conversation);
      return null;
    },
    /** Records that a route of this kind served it. */
    served(conversation: string, healthKey: string, route: ServingRoute): void {
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
    /** The moves here since the last call of this method, newest last; a `null` health key: back to the preferred route. */
    news(): readonly MovedNews[] {
      const told = [...changed];
      changed = new Map();
      return told;
    },
    /** The latest moves, for a process that knows none. */
    known: (): readonly MovedNews[] =>
      [...moved].slice(-NEWS_MAX).map(([conversation, { healthKey }]) => [conversation, healthKey] as const),
    /** Records a move in another process, without reporting it as news. */
    hear([conversation, healthKey]: MovedNews): void {
      if (healthKey === null) moved.delete(conversation);
      else put(conversation, healthKey);
    },
  };
}
