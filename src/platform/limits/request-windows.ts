// Counts requests in fixed windows, in memory, per account or address.
import type { Clock } from "../../core/clock.ts";

export interface WindowState {
  readonly allowed: boolean;
  readonly limit: number;
  /** Requests left in this window, after the one just counted. */
  readonly remaining: number;
  /** Whole seconds until the window ends, at least 1; also the Retry-After of a refusal. */
  readonly resetSeconds: number;
  readonly windowSeconds: number;
}

export type RequestWindows = ReturnType<typeof createRequestWindows>;

export interface RequestWindowsOptions {
  readonly clock: Clock;
  /** Default 60. */
  readonly windowSeconds?: number;
  /** The most keys with their own count in one window. Default 100,000, about 10 MB. */
  readonly keysMax?: number;
}

/**
 * Windows of `windowSeconds` start at multiples of it, for all keys at once: when one ends, all counts are dropped, so there is no timer
 * and no sweep. Keys beyond `keysMax` in one window share counts in a fixed-size table, by hash: a flood of addresses costs no memory and
 * is still limited, but a caller that shares a count with it may be refused early.
 *
 * Count an address only for requests with no credential or a wrong one; counting all would apply the address limit to a busy customer
 * instead of the account limit.
 */
export function createRequestWindows(options: RequestWindowsOptions) {
  const { clock, windowSeconds = 60, keysMax = 100_000 } = options;
  const windowMs = windowSeconds * 1_000;
  let counts = new Map<string, number>();
  let shared: Uint32Array | null = null;
  let current = Number.NEGATIVE_INFINITY;

  /** Moves to the current window. If the clock is set back, the counts stay, so that no caller gains from it. */
  const enter = (nowMs: number): void => {
    const index = Math.floor(nowMs / windowMs);
    if (index <= current) return;
    current = index;
    if (counts.size > 0) counts = new Map();
    shared = null;
  };

  const count = (key: string): number => counts.get(key) ?? (counts.size < keysMax ? 0 : (shared?.[slot(key)] ?? 0));

  const add = (key: string, used: number): void => {
    if (counts.has(key) || counts.size < keysMax) counts.set(key, used);
    else {
      shared ??= new Uint32Array(SHARED_COUNTS);
      shared[slot(key)] = used;
    }
  };

  const state = (allowed: boolean, limit: number, used: number, nowMs: number): WindowState => ({
    allowed,
    limit,
    remaining: Math.max(0, limit - used),
    resetSeconds: Math.min(windowSeconds, Math.max(1, Math.ceil(((current + 1) * windowMs - nowMs) / 1_000))),
    windowSeconds,
  });

  return {
    /** Counts a request of `key` against `limit` and returns whether it may pass. Refused requests do not count. */
    take(key: string, limit: number): WindowState {
      const nowMs = clock.epochMs();
      enter(nowMs);
      const used = count(key);
      if (used >= limit) return state(false, limit, used, nowMs);
      add(key, used + 1);
      return state(true, limit, used + 1, nowMs);
    },
    /** What `take` would return, without counting. */
    peek(key: string, limit: number): WindowState {
      const nowMs = clock.epochMs();
      enter(nowMs);
      const used = count(key);
      return state(used < limit, limit, used, nowMs);
    },
    /** Uncounts a request that `take` counted, unless its window has ended. */
    giveBack(key: string) {
      enter(clock.epochMs());
      const used = count(key);
      if (used > 0) add(key, used - 1);
    },
  };
}

const SHARED_COUNTS = 16_384;

/** FNV-1a, which spreads keys well enough over the shared counts. */
function slot(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % SHARED_COUNTS;
}

/**
 * The window key of an address: the whole IPv4 address, or the first 64 bits of an IPv6 address, because one host controls all 2^64
 * addresses below them.
 */
export function addressWindowKey(address: string): string {
  return address.includes(":") ? `${address.split(":", 4).join(":")}::/64` : address;
}

/** Sets the four RateLimit headers of draft-ietf-httpapi-ratelimit-headers-06; Reset is in seconds from now. */
export function rateLimitHeaders(state: WindowState, header: (name: string, value: string) => void): void {
  header("RateLimit-Limit", String(state.limit));
  header("RateLimit-Remaining", String(state.remaining));
  header("RateLimit-Reset", String(state.resetSeconds));
  header("RateLimit-Policy", `${state.limit};w=${state.windowSeconds}`);
}
