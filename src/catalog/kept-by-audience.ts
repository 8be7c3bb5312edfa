// Caches answers made from the whole catalog for the day: they are free, and take milliseconds to make.
import { inSlices, jsonOf, type Steps } from "../core/slices.ts";
import type { Audience, Catalog } from "./catalog.ts";

/**
 * Caches the value per catalog, day and audience, keyed by the list of models, which is one object for all three. It is built in slices on
 * first use; after a failure, the next use tries again.
 */
export function keptByAudience<T>(make: (catalog: Catalog, audience: Audience) => Steps<T>) {
  const kept = new WeakMap<ReturnType<Catalog["listed"]>, Promise<T>>();
  return (catalog: Catalog, { sandbox }: Audience): Promise<T> => {
    const listed = catalog.listed({ sandbox });
    const known = kept.get(listed);
    if (known !== undefined) return known;
    const value = inSlices(make(catalog, { sandbox }));
    kept.set(listed, value);
    value.catch(() => kept.delete(listed));
    return value;
  };
}

export function keptJson<T extends object>(shape: (value: T) => unknown): (value: T) => Promise<string> {
  const texts = new WeakMap<T, Promise<string>>();
  return (value) => {
    const known = texts.get(value);
    if (known !== undefined) return known;
    const text = inSlices(jsonOf(shape(value)));
    texts.set(value, text);
    text.catch(() => texts.delete(value));
    return text;
  };
}
