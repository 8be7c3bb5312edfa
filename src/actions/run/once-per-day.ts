// Caches what is derived from the list of actions until the catalog is replaced or a new day begins.
import type { Audience } from "../../catalog/catalog.ts";
import { isGone } from "../../catalog/retirement.ts";
import type { Clock } from "../../core/clock.ts";
import { inSlices, type Steps } from "../../core/slices.ts";
import type { ActionCatalog, CatalogAction } from "./action-catalog.ts";

const DAY_MS = 86_400_000;

export interface DailyCatalog {
  readonly actionCatalog: ActionCatalog;
  readonly clock: Clock;
}

interface Kept<T> {
  readonly all: readonly CatalogAction[];
  readonly day: number;
  readonly made: T;
}

/** For quick work: made at once from today's actions. Prices and retirements change at midnight UTC. */
export function keptToday<T>(
  { actionCatalog, clock }: DailyCatalog,
  make: (actions: readonly CatalogAction[], audience: Audience) => T,
): (audience: Audience) => T {
  const kept = new Map<boolean, Kept<T>>();
  return (audience) => {
    const all = actionCatalog.all(audience);
    const nowMs = clock.epochMs();
    const day = Math.floor(nowMs / DAY_MS);
    const last = kept.get(audience.sandbox);
    if (last !== undefined && last.all === all && last.day === day) return last.made;
    const made = make(
      all.filter(({ facts }) => !isGone(facts.retires, nowMs)),
      audience,
    );
    kept.set(audience.sandbox, { all, day, made });
    return made;
  };
}

/** For longer work: made in slices on first use. Concurrent callers share it; a failure is retried by the next caller. */
export function oncePerDay<T>(
  daily: DailyCatalog,
  make: (actions: readonly CatalogAction[], audience: Audience) => Steps<T>,
): (audience: Audience) => Promise<T> {
  const ofToday = keptToday(daily, (actions, audience) => {
    let making: Promise<T> | null = null;
    return () => {
      making ??= inSlices(make(actions, audience)).catch((error: unknown) => {
        making = null;
        throw error;
      });
      return making;
    };
  });
  return (audience) => ofToday(audience)();
}
