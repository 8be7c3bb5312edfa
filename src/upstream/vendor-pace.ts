// How often a vendor may be asked: its rate as turns, spaced evenly and given in order, and the rests that it asks for.
import type { Clock } from "../clock.ts";

/** The most requests that a vendor takes in so many milliseconds. */
export interface VendorRate {
  readonly requests: number;
  readonly perMs: number;
}

export interface Wish {
  /** The most that the caller can wait; for longer no turn is given. */
  readonly waitMsMax: number;
  /** The caller does not want to send before so many milliseconds have passed. Default 0. */
  readonly afterMs?: number;
}

export interface Turn {
  /** How long to wait before sending. */
  readonly waitMs: number;
  /** False once the vendor has been rested since: ask for another turn instead of sending. */
  holds(): boolean;
  /** The call has ended before its turn: whoever asks next may have it. */
  giveBack(): void;
}

/** Why there is no turn: how long one would have to wait, in milliseconds. */
export interface NoTurn {
  readonly waitMs: number;
  readonly holds: null;
}

export interface VendorPace {
  /** A turn, or how long it would be until there is one. A vendor without a rate always has one, unless it rests. */
  take(vendor: string, rate: VendorRate | undefined, wish: Wish): Turn | NoTurn;
  /** Nobody asks the vendor for so long; turns that were given no longer hold. Never shortens a rest. */
  rest(vendor: string, ms: number): void;
  /** Milliseconds that the vendor still rests; 0: it does not. */
  resting(vendor: string): number;
}

/** What one turn keeps in the line of its vendor. */
interface Slot {
  readonly atMs: number;
}

interface Line {
  /** Turns given that still keep others away, by time. */
  slots: Slot[];
  restUntilMs: number;
  /** How often it has been rested. */
  rests: number;
}

/**
 * The first time from `fromMs` on that keeps `gapMs` away from every turn given. Even spacing, not a burst and then a pause: what
 * leaves here as a burst at the end of one window can reach the vendor in the next.
 */
function firstFree(slots: readonly Slot[], fromMs: number, gapMs: number): number {
  let atMs = fromMs;
  for (const slot of slots) {
    if (slot.atMs >= atMs + gapMs) break;
    atMs = Math.max(atMs, slot.atMs + gapMs);
  }
  return atMs;
}

/** Keeps the pace of all vendors of this process, by name. It waits for nobody: who has a turn waits by itself. */
export function createVendorPace(clock: Clock): VendorPace {
  const lines = new Map<string, Line>();

  function lineOf(vendor: string): Line {
    const known = lines.get(vendor);
    if (known !== undefined) return known;
    const line = { slots: [], restUntilMs: 0, rests: 0 };
    lines.set(vendor, line);
    return line;
  }

  return {
    take(vendor, rate, { waitMsMax, afterMs = 0 }) {
      const nowMs = clock.elapsedMs();
      const line = lineOf(vendor);
      const gapMs = rate === undefined ? 0 : rate.perMs / rate.requests;
      line.slots = line.slots.filter((slot) => slot.atMs + gapMs > nowMs);
      const atMs = firstFree(line.slots, Math.max(nowMs + afterMs, line.restUntilMs), gapMs);
      const waitMs = atMs - nowMs;
      if (waitMs > waitMsMax) return { waitMs, holds: null };
      const slot: Slot = { atMs };
      const { rests } = line;
      if (gapMs > 0) line.slots = [...line.slots, slot].sort((a, b) => a.atMs - b.atMs);
      return {
        waitMs,
        holds: () => line.rests === rests,
        giveBack() {
          // What has been sent keeps others away.
          if (slot.atMs > clock.elapsedMs()) line.slots = line.slots.filter((other) => other !== slot);
        },
      };
    },
    rest(vendor, ms) {
      const line = lineOf(vendor);
      line.rests++;
      line.restUntilMs = Math.max(line.restUntilMs, clock.elapsedMs() + ms);
      line.slots = line.slots.filter((slot) => slot.atMs <= clock.elapsedMs());
    },
    resting: (vendor) => Math.max(0, (lines.get(vendor)?.restUntilMs ?? 0) - clock.elapsedMs()),
  };
}
