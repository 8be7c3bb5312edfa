// Rate limits for vendors: permits in order, evenly spaced by the vendor's rate, and the pauses that it asks for.
import type { Clock } from "../core/clock.ts";
import { getOrMake } from "../core/maps.ts";

/** The most requests that a vendor accepts per `perMs`. */
export interface VendorRate {
  readonly requests: number;
  readonly perMs: number;
}

export interface PermitRequest {
  /** The longest the caller can wait; beyond it no permit is given. */
  readonly waitMsMax: number;
  /** The earliest time to send, in milliseconds from now. Default: 0. */
  readonly afterMs?: number;
}

export interface Permit {
  /** How long to wait before sending. */
  readonly waitMs: number;
  /** False if the vendor was put to rest since: acquire another permit instead of sending. */
  valid(): boolean;
  /** Call if the call ended before sending: the next request may use its time. */
  cancel(): void;
}

/** No permit is available within `waitMsMax`; `waitMs` is the wait that one would need. */
export interface NoPermit {
  readonly waitMs: number;
  readonly valid: null;
}

export type VendorRateLimiter = ReturnType<typeof createVendorRateLimiter>;

interface Reservation {
  readonly atMs: number;
}

interface VendorState {
  /** Reservations that still delay others, in time order. */
  reservations: Reservation[];
  restUntilMs: number;
  /** The number of rests so far; the latest invalidates all earlier permits. */
  rests: number;
}

/** The first time from `fromMs` on that is at least `gapMs` from every reservation: a burst at a window's end can reach the next one. */
function firstFree(reservations: readonly Reservation[], fromMs: number, gapMs: number): number {
  let atMs = fromMs;
  for (const reserved of reservations) {
    if (reserved.atMs >= atMs + gapMs) break;
    atMs = Math.max(atMs, reserved.atMs + gapMs);
  }
  return atMs;
}

/** The rate limiter of this process, for all vendors. It never sleeps; it returns a delay. */
export function createVendorRateLimiter(clock: Clock) {
  const states = new Map<string, VendorState>();

  const fresh = (): VendorState => ({ reservations: [], restUntilMs: 0, rests: 0 });
  const stateOf = (vendor: string) => getOrMake(states, vendor, fresh);

  return {
    /** A permit, or how long it would take to get one. A vendor without a rate always has one, unless it rests. */
    acquire(
      vendor: string,
      rate: VendorRate | undefined,
      { waitMsMax, afterMs = 0 }: PermitRequest,
    ): Permit | NoPermit {
      const nowMs = clock.elapsedMs();
      const state = stateOf(vendor);
      const gapMs = rate === undefined ? 0 : rate.perMs / rate.requests;
      state.reservations = state.reservations.filter(({ atMs }) => atMs + gapMs > nowMs);
      const atMs = firstFree(state.reservations, Math.max(nowMs + afterMs, state.restUntilMs), gapMs);
      const waitMs = atMs - nowMs;
      if (waitMs > waitMsMax) return { waitMs, valid: null };
      const reservation: Reservation = { atMs };
      const { rests } = state;
      if (gapMs > 0) state.reservations = [...state.reservations, reservation].sort((a, b) => a.atMs - b.atMs);
      return {
        waitMs,
        valid: () => state.rests === rests,
        cancel() {
          // A request that has been sent still counts.
          if (reservation.atMs > clock.elapsedMs())
            state.reservations = state.reservations.filter((other) => other !== reservation);
        },
      };
    },
    /** Sends nothing to the vendor for `ms`, and invalidates earlier permits. Never shortens a rest. */
    rest(vendor: string, ms: number): void {
      const state = stateOf(vendor);
      state.rests++;
      state.restUntilMs = Math.max(state.restUntilMs, clock.elapsedMs() + ms);
      state.reservations = state.reservations.filter(({ atMs }) => atMs <= clock.elapsedMs());
    },
    /** Milliseconds until its rest ends; 0 if it does not rest. */
    resting: (vendor: string): number => Math.max(0, (states.get(vendor)?.restUntilMs ?? 0) - clock.elapsedMs()),
  };
}
