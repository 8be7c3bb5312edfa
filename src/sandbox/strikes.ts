// Remembers conversations, for faults that strike only their first attempt or their first seconds.
import type { Clock } from "../clock.ts";
import type { Conduct } from "./faults.ts";

export interface Strikes {
  /** Whether the fault strikes this attempt. A conversation whose second attempt has passed starts anew. */
  strike(conversation: string, when: Conduct["strikes"]): boolean;
  reset(): void;
}

const CONVERSATIONS_MAX = 10_000;

export function createStrikes(clock: Clock): Strikes {
  const firstAtMs = new Map<string, number>();
  const remember = (conversation: string) => {
    const oldest = firstAtMs.keys().next();
    if (firstAtMs.size >= CONVERSATIONS_MAX && !oldest.done) firstAtMs.delete(oldest.value);
    firstAtMs.set(conversation, clock.elapsedMs());
    return true;
  };
  return {
    strike(conversation, when) {
      if (when === "always") return true;
      const seenAtMs = firstAtMs.get(conversation);
      if (seenAtMs === undefined) return remember(conversation);
      if (when === "once") return !firstAtMs.delete(conversation);
      return clock.elapsedMs() < seenAtMs + when.forMs;
    },
    reset: () => firstAtMs.clear(),
  };
}
