// What is made of the whole list of actions and kept until the list, or the day, is another.
import type { Audience } from "../catalog/catalog.ts";
import { isGone } from "../catalog/retirement.ts";
import type { Clock } from "../clock.ts";
import type { Shop, ShopAction } from "./shop.ts";

const DAY_MS = 86_400_000;

/** Where the list comes from, and what day it is. */
export interface Shelves {
  readonly shop: Shop;
  readonly clock: Clock;
}

/** Makes something of the actions that can be called today, once for each list and day: prices and sunsets are those of a day. */
export function onShelf<T>(
  { shop, clock }: Shelves,
  make: (actions: readonly ShopAction[], audience: Audience) => T,
): (audience: Audience) => T {
  const kept = new Map<boolean, { all: readonly ShopAction[]; day: number; made: T }>();
  return (audience) => {
    const all = shop.all(audience);
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
