// Caches what is built from the list of actions until the catalog is replaced or a new day begins.
import type { Audience } from "../catalog/catalog.ts";
import { isGone } from "../catalog/retirement.ts";
import type { Clock } from "../clock.ts";
import type { ActionCatalog, CatalogAction } from "./action-catalog.ts";

const DAY_MS = 86_400_000;

/** The list of actions, and the clock that says what day it is. */
export interface DailyCatalog {
  readonly actionCatalog: ActionCatalog;
  readonly clock: Clock;
}

/** Builds a value from the actions that can be called today. It is cached for one day (UTC), because prices and retirements change by the day. */
export function oncePerDay<T>(
  { actionCatalog, clock }: DailyCatalog,
  make: (actions: readonly CatalogAction[], audience: Audience) => T,
): (audience: Audience) => T {
  const kept = new Map<boolean, { all: readonly CatalogAction[]; day: number; made: T }>();
  return (audience) => {
    const all = actionCatalog.all(audience);
    const nowMs = clock.epochMs();
    const day = Math.floor(nowMs / DAY_MS);
    const last = kept.get(audience.sandbox);
    if (last !== undefined && last.all === all && last.day === day) return last.made;
    const left = all.filter(({ facts }) => !isGone(facts.retires, nowMs));
    const made = make(left, audience);
    kept.set(audience.sandbox, { all, day, made });
    return made;
  };
}
