// Decides to which attempts of a conversation a scripted fault applies: all, only the first, or those in the first seconds.
import type { Clock } from "../core/clock.ts";
import type { Conduct } from "./faults.ts";

export interface ScriptedFaults {
  /** Whether the fault applies to this attempt. Once a second attempt has passed, the conversation starts over. */
  applies(conversation: string, when: Conduct["when"]): boolean;
  reset(): void;
}

const CONVERSATIONS_MAX = 10_000;

export function createScriptedFaults(clock: Clock): ScriptedFaults {
  const firstAtMs = new Map<string, number>();
  const remember = (conversation: string) => {
    const oldest = firstAtMs.keys().next();
    if (firstAtMs.size >= CONVERSATIONS_MAX && !oldest.done) firstAtMs.delete(oldest.value);
    firstAtMs.set(conversation, clock.elapsedMs());
    return true;
  };
  return {
    applies(conversation, when) {
      if (when === "always") return true;
      const seenAtMs = firstAtMs.get(conversation);
      if (seenAtMs === undefined) return remember(conversation);
      if (when === "once") return !firstAtMs.delete(conversation);
      return clock.elapsedMs() < seenAtMs + when.forMs;
    },
    reset: () => firstAtMs.clear(),
  };
}
