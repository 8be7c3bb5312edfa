// Our keys at one vendor: used in turn; a refused key rests.
import { hash } from "node:crypto";
import type { Clock } from "../core/clock.ts";

export type KeyRing = ReturnType<typeof createKeyRing>;

/** A stable position of a conversation among any number of keys. */
function placeOf(conversation: string): number {
  return Number.parseInt(hash("sha1", conversation).slice(0, 8), 16);
}

/** Makes a ring of one or more keys. A vendor without keys has a single empty one. */
export function createKeyRing(keys: readonly string[], clock: Clock) {
  const slots = keys.map((key) => ({ key, untilMs: 0 }));
  let next = 0;
  return {
    /**
     * A key that is not resting; if all are, the one that rests shortest. A conversation keeps its key while that is usable, because
     * vendors cache prompts per account. Otherwise keys take turns. `conversation` is called only if there are several keys.
     */
    take(conversation?: () => string): string {
      const nowMs = clock.elapsedMs();
      const own = conversation === undefined || slots.length < 2 ? null : placeOf(conversation());
      for (let tried = 0; tried < slots.length; tried++) {
        const slot = slots[(own === null ? next++ : own + tried) % slots.length];
        if (slot !== undefined && slot.untilMs <= nowMs) return slot.key;
      }
      return slots.reduce((best, slot) => (slot.untilMs < best.untilMs ? slot : best)).key;
    },
    /** Excludes a key for a while, or longer if it rests longer already. Returns true if another is usable. */
    rest(key: string, ms: number): boolean {
      const nowMs = clock.elapsedMs();
      for (const slot of slots) if (slot.key === key) slot.untilMs = Math.max(slot.untilMs, nowMs + ms);
      return slots.some((slot) => slot.untilMs <= nowMs);
    },
    rests: (key: string): boolean => slots.some((slot) => slot.key === key && slot.untilMs > clock.elapsedMs()),
  };
}
