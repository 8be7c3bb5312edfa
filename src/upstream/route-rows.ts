// Routes as shown to the operator: those at rest and those that failed recently, with what the provider said.
import type { Upstream } from "./upstream.ts";

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
