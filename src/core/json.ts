// Reads values that came from outside as what they should be: parsed JSON has no types.

export type Json = Record<string, unknown>;

export function isRecord(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The list that a value is; what is no list has nothing in it. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The fields whose value is not undefined. */
export function defined(fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

export function stringOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** A value as a word for a person or an id; only what is a word or a number has one. */
export function wordOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** The texts that stand under this name, at any depth, each once; of a list under it, each of its texts. */
export function textsNamed(value: unknown, name: string): ReadonlySet<string> {
  const found = new Set<string>();
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const one = waiting.pop();
    if (typeof one !== "object" || one === null) continue;
    for (const [key, inner] of Object.entries(one)) {
      if (key === name) for (const text of [inner].flat()) if (typeof text === "string") found.add(text);
      waiting.push(inner);
    }
  }
  return found;
}
