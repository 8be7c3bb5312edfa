// Reads a value out of parsed JSON by pointer (RFC 6901), so that adapters can name places as data.

// Who looks into JSON by pointers mostly has to know what is an object as well.
import { isRecord } from "../core/json.ts";

export { isRecord };

/** Pointers come from adapters and from this code, so there are few, and each is taken apart once. */
const taken = new Map<string, readonly string[]>();

function partsOf(pointer: string): readonly string[] {
  const known = taken.get(pointer);
  if (known !== undefined) return known;
  const parts = pointer.split("/").slice(1);
  const plain = parts.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  taken.set(pointer, plain);
  return plain;
}

/** The value at `pointer`, or undefined where the path leads nowhere. */
export function atPointer(json: unknown, pointer: string): unknown {
  let value = json;
  for (const part of partsOf(pointer)) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}

/** The last of several pointers that leads to something other than null. */
export function lastAt(json: unknown, pointers: readonly string[]): unknown {
  let found: unknown;
  for (const pointer of pointers) found = atPointer(json, pointer) ?? found;
  return found;
}

/** No answer has more tokens than this; a vendor that says so is not believed. */
const COUNT_MAX = 1_000_000_000;

/** Whether there is a count above zero anywhere in a small object of them. */
export function holdsCount(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return countOf(value) > 0;
  return Object.values(value).some((inner) => (isRecord(inner) ? Object.values(inner).some(isCount) : isCount(inner)));
}

function isCount(value: unknown): boolean {
  return countOf(value) > 0;
}

/** A token count as vendors send it: anything but a finite number above zero counts as none. */
export function countOf(value: unknown): number {
  return typeof value === "number" && value > 0 ? Math.min(Math.ceil(value), COUNT_MAX) : 0;
}
