// Our keys at one vendor: taken in turn, rested when the vendor refuses one of them.
import type { Clock } from "../clock.ts";

export interface KeyRing {
  /** The next key in turn that is not resting; the one that rests shortest where all do. */
  take(): string;
  /** Leaves a key out for a while. True where another is fit. */
  rest(key: string, ms: number): boolean;
  /** Whether it is left out. */
  rests(key: string): boolean;
}

/** A ring of one or more keys. A vendor that needs none has the one empty key. */
export function createKeyRing(keys: readonly string[], clock: Clock): KeyRing {
  const slots = keys.map((key) => ({ key, untilMs: 0 }));
  let next = 0;
  return {
    take() {
      const nowMs = clock.elapsedMs();
      for (let tried = 0; tried < slots.length; tried++) {
        const slot = slots[next++ % slots.length];
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
