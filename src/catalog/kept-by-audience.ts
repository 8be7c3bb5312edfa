// Answers that are made of the whole catalog, kept for as long as it is in force: they are free, and take milliseconds to make.
import { inSlices, jsonOf, type Steps } from "../slices.ts";
import type { Audience, Catalog } from "./catalog.ts";

/** The same value for the same catalog and what an audience sees of it, made in slices when it is first asked for. */
export function keptByAudience<T>(make: (catalog: Catalog, audience: Audience) => Steps<T>) {
  const kept = new WeakMap<Catalog, Map<boolean, Promise<T>>>();
  return (catalog: Catalog, { sandbox }: Audience): Promise<T> => {
    const byAudience = kept.get(catalog) ?? new Map<boolean, Promise<T>>();
    kept.set(catalog, byAudience);
    const value = byAudience.get(sandbox) ?? inSlices(make(catalog, { sandbox }));
    byAudience.set(sandbox, value);
    return value;
  };
}

/** The JSON of what is kept so, written once. */
export function keptJson<T extends object>(shape: (value: T) => unknown): (value: T) => Promise<string> {
  const texts = new WeakMap<T, Promise<string>>();
  return (value) => {
    const text = texts.get(value) ?? inSlices(jsonOf(shape(value)));
    texts.set(value, text);
    return text;
  };
}
