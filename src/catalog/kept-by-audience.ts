// Answers that are made of the whole catalog, kept for as long as it is in force: they are free, and take milliseconds to make.
import type { Audience, Catalog } from "./catalog.ts";

/** The same value for the same catalog and what an audience sees of it. */
export function keptByAudience<T>(make: (catalog: Catalog, audience: Audience) => T) {
  const kept = new WeakMap<Catalog, Map<boolean, T>>();
  return (catalog: Catalog, { sandbox }: Audience): T => {
    const byAudience = kept.get(catalog) ?? new Map<boolean, T>();
    kept.set(catalog, byAudience);
    const value = byAudience.get(sandbox) ?? make(catalog, { sandbox });
    byAudience.set(sandbox, value);
    return value;
  };
}

/** The JSON of what is kept so, written once. */
export function keptJson<T extends object>(shape: (value: T) => unknown): (value: T) => string {
  const texts = new WeakMap<T, string>();
  return (value) => {
    const text = texts.get(value) ?? JSON.stringify(shape(value));
    texts.set(value, text);
    return text;
  };
}
