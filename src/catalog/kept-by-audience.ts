// Answers that are made of the whole catalog, kept for the day on which it is in force: they are free, and take milliseconds to make.
import { inSlices, jsonOf, type Steps } from "../core/slices.ts";
import type { Audience, Catalog } from "./catalog.ts";

/**
 * The same value for the same catalog, day and audience, made in slices when it is first asked for: what is listed is one list for all
 * three. What could not be made is made anew for the next who asks.
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

/** The JSON of what is kept so, written once. */
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
