// Our keys at one vendor: taken in turn, rested when the vendor refuses one of them.
import { hash } from "node:crypto";
import type { Clock } from "../core/clock.ts";

export interface KeyRing {
  /**
   * A key that is not resting; the one that rests shortest where all do. A conversation keeps to its own while that is fit, because a
   * vendor's cache is its account's; without one, keys are taken in turn. It is asked for only where there are several keys.
   */
  take(conversation?: () => string): string;
  /** Leaves a key out for a while. True where another is fit. */
  rest(key: string, ms: number): boolean;
  /** Whether it is left out. */
  rests(key: string): boolean;
}

/** Where a conversation stands among any number of keys. */
function placeOf(conversation: string): number {
  return Number.parseInt(hash("sha1", conversation).slice(0, 8), 16);
}

/** A ring of one or more keys. A vendor that needs none has the one empty key. */
export function createKeyRing(keys: readonly string[], clock: Clock): KeyRing {
  const slots = keys.map((key) => ({ key, untilMs: 0 }));
  let next = 0;
  return {
    take(conversation) {
      const nowMs = clock.elapsedMs();
      const own = conversation === undefined || slots.length < 2 ? null : placeOf(conversation());
      for (let tried = 0; tried < slots.length; tried++) {
        const slot = slots[(own === null ? next++ : own + tried) % slots.length];
        if (slot !== undefined && slot.untilMs <= nowMs) return slot.key;
      }
      return slots.reduce((best, slot) => (slot.untilMs < best.untilMs ? slot : best)).key;
    },
    rest(key, ms) {
      const nowMs = clock.elapsedMs();
      for (const slot of slots) if (slot.key === key) slot.untilMs = nowMs + ms;
      return slots.some((slot) => slot.untilMs <= nowMs);
    },
    rests: (key) => slots.some((slot) => slot.key === key && slot.untilMs > clock.elapsedMs()),
  };
}
