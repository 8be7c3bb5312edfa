// Caches answers made from the whole catalog for the day: they are free, and take milliseconds to make.
import { getOrLoad } from "../core/maps.ts";
import { inSlices, jsonOf, type Steps } from "../core/slices.ts";
import type { Audience, Catalog } from "./catalog.ts";

/** Caches what is made of an object: in slices on first use; after a failure, the next use tries again. */
function keptFor<Key extends object, T>() {
  const kept = new WeakMap<Key, Promise<T>>();
  return (key: Key, make: () => Steps<T>): Promise<T> => getOrLoad(kept, key, () => inSlices(make()));
}

/** Caches per catalog, day and audience: by the list of models, which is one object for all three. */
export function keptByAudience<T>(make: (catalog: Catalog, audience: Audience) => Steps<T>) {
  const kept = keptFor<ReturnType<Catalog["listed"]>, T>();
  return (catalog: Catalog, { sandbox }: Audience) =>
    kept(catalog.listed({ sandbox }), () => make(catalog, { sandbox }));
}

export function keptJson<T extends object>(shape: (value: T) => unknown) {
  const kept = keptFor<T, string>();
  return (value: T) => kept(value, () => jsonOf(shape(value)));
}
