// What maps lack: values that are made at their first use, and a bound on the number of entries.

interface Mapping<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

/** The value of `key`, made at its first use. */
export function getOrMake<Key, Value>(map: Mapping<Key, Value>, key: Key, make: (key: Key) => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make(key);
  map.set(key, made);
  return made;
}

/** The same for what is loaded: a load that fails is forgotten, and the next use tries again. */
export function getOrLoad<Key, Value>(
  map: Mapping<Key, Promise<Value>> & { delete(key: Key): boolean },
  key: Key,
  load: (key: Key) => Promise<Value>,
): Promise<Value> {
  return getOrMake(map, key, () => {
    const loading = load(key);
    loading.catch(() => {
      if (map.get(key) === loading) map.delete(key);
    });
    return loading;
  });
}

/** Drops the oldest entry of a full map or set. */
export function makeRoom<Key>(
  kept: { readonly size: number; keys(): Iterator<Key>; delete(key: Key): boolean },
  countMax: number,
): void {
  const oldest = kept.size >= countMax ? kept.keys().next() : null;
  if (oldest?.done === false) kept.delete(oldest.value);
}

/** Sets an entry as the newest; drops the oldest of a full map. */
export function putLast<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, countMax: number): void {
  map.delete(key);
  makeRoom(map, countMax);
  map.set(key, value);
}
