// The recent speed of routes, as moving averages: time to first content, and tokens per second after it. The rows that show it.
import { getOrMake, makeRoom } from "../core/maps.ts";
import type { AttemptFigures, Candidate } from "../core/route.ts";
import type { Upstream } from "./upstream.ts";

/** The weight of the newest call, out of 1. */
const NEWEST = 0.2;
/** A server that serves any model has unlimited routes; beyond this limit the route measured first is forgotten. */
const ROUTES_MAX = 2_000;
/** With fewer tokens, the time reflects the wait for the first token rather than the rate. */
const TOKENS_MIN = 10;

export interface RouteSpeed {
  readonly firstTokenMs: number | null;
  readonly tokensPerSecond: number | null;
}

export type RouteFigures = ReturnType<typeof createRouteFigures>;

function mean(before: number | null, now: number): number {
  return before === null ? now : before + NEWEST * (now - before);
}

export function createRouteFigures() {
  const speeds = new Map<string, { firstTokenMs: number | null; tokensPerSecond: number | null }>();
  const fresh = () => {
    makeRoom(speeds, ROUTES_MAX);
    return { firstTokenMs: null, tokensPerSecond: null };
  };

  return {
    add({ healthKey }: Candidate, { ms, firstTokenMs, outputTokens }: AttemptFigures): void {
      const speed = getOrMake(speeds, healthKey, fresh);
      // A whole answer arrives at once, so it says nothing about the first token.
      if (firstTokenMs !== null) speed.firstTokenMs = mean(speed.firstTokenMs, firstTokenMs);
      const writingMs = Math.max(1, ms - (firstTokenMs ?? 0));
      if (outputTokens < TOKENS_MIN) return;
      speed.tokensPerSecond = mean(speed.tokensPerSecond, (outputTokens * 1_000) / writingMs);
    },
    /** Null if the route has not served since the start. */
    of: (healthKey: string): RouteSpeed | null => speeds.get(healthKey) ?? null,
  };
}

export interface RouteRow {
  readonly provider: string;
  readonly model: string;
  readonly rests: boolean;
  /** Newest first; kept in memory, so only since the process started. */
  readonly failures: readonly {
    readonly reason: string;
    readonly status: number;
    /** The provider's latest message. */
    readonly words: string;
    readonly count: number;
    readonly first_at: string;
    readonly last_at: string;
  }[];
}

const isoTime = (ms: number) => new Date(ms).toISOString();

/** Routes at rest come first, then by latest failure. Routes with nothing to report are left out. */
export function routeRows({ health, failures }: Pick<Upstream, "health" | "failures">): readonly RouteRow[] {
  const rows = new Map<string, RouteRow>();
  const nameOf = (route: { readonly provider: string; readonly model: string }) => `${route.provider} ${route.model}`;
  for (const { provider, model } of health.resting())
    rows.set(nameOf({ provider, model }), { provider, model, rests: true, failures: [] });
  for (const failure of failures.all()) {
    const { provider, model, reason, status, words, count } = failure;
    const row = rows.get(nameOf(failure)) ?? { provider, model, rests: false, failures: [] };
    const at = { first_at: isoTime(failure.firstAtMs), last_at: isoTime(failure.lastAtMs) };
    rows.set(nameOf(failure), { ...row, failures: [...row.failures, { reason, status, words, count, ...at }] });
  }
  return [...rows.values()];
}
