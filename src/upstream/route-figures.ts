// How fast routes have been lately: the time to their first content, and the tokens a second after it, as moving averages.
import type { AttemptFigures, Candidate } from "../core/route.ts";

/** What the newest call counts for, of 1. */
const NEWEST = 0.2;
/** Servers that serve any model have any number of routes; past this the one that was first to be measured is forgotten. */
const ROUTES_MAX = 2_000;
/** Fewer tokens say more of the time to the first than of those after it. */
const TOKENS_MIN = 10;

/** Null: not measured yet. */
export interface RouteSpeed {
  readonly firstTokenMs: number | null;
  readonly tokensPerSecond: number | null;
}

export interface RouteFigures {
  add(route: Candidate, told: AttemptFigures): void;
  /** Null: the route has not served since the start. */
  of(healthKey: string): RouteSpeed | null;
}

function mean(before: number | null, now: number): number {
  return before === null ? now : before + NEWEST * (now - before);
}

export function createRouteFigures(): RouteFigures {
  const speeds = new Map<string, { firstTokenMs: number | null; tokensPerSecond: number | null }>();

  function speedOf(healthKey: string) {
    const known = speeds.get(healthKey);
    if (known !== undefined) return known;
    const fresh = { firstTokenMs: null, tokensPerSecond: null };
    const [oldest] = speeds.size >= ROUTES_MAX ? speeds.keys() : [];
    if (oldest !== undefined) speeds.delete(oldest);
    speeds.set(healthKey, fresh);
    return fresh;
  }

  return {
    add({ healthKey }, { ms, firstTokenMs, outputTokens }) {
      const speed = speedOf(healthKey);
      // A whole answer says nothing of its first token: all of it is waited for.
      if (firstTokenMs !== null) speed.firstTokenMs = mean(speed.firstTokenMs, firstTokenMs);
      const writingMs = Math.max(1, ms - (firstTokenMs ?? 0));
      if (outputTokens < TOKENS_MIN) return;
      speed.tokensPerSecond = mean(speed.tokensPerSecond, (outputTokens * 1_000) / writingMs);
    },
    of: (healthKey) => speeds.get(healthKey) ?? null,
  };
}
