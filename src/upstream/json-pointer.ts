// Reads values from parsed JSON by pointer (RFC 6901), so that adapters can name places as data.

// Callers that use pointers usually need this check too.
import { isRecord } from "../core/json.ts";
import { getOrMake } from "../core/maps.ts";

export { isRecord };

/** Pointers come only from adapters and this code, so there are few: each is parsed once and cached. */
const taken = new Map<string, readonly string[]>();

function partsOf(pointer: string): readonly string[] {
  const parts = pointer.split("/").slice(1);
  return parts.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The value at `pointer`; undefined if the path does not exist. */
export function atPointer(json: unknown, pointer: string): unknown {
  let value = json;
  for (const part of getOrMake(taken, pointer, partsOf)) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}

/** The value of the last pointer that is neither null nor undefined. */
export function lastAt(json: unknown, pointers: readonly string[]): unknown {
  let found: unknown;
  for (const pointer of pointers) found = atPointer(json, pointer) ?? found;
  return found;
}

/** No answer has more tokens; larger counts are clamped. */
const COUNT_MAX = 1_000_000_000;

/** Whether a small object has a count above zero, at most two levels deep. */
export function holdsCount(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return countOf(value) > 0;
  return Object.values(value).some((inner) => (isRecord(inner) ? Object.values(inner).some(isCount) : isCount(inner)));
}

function isCount(value: unknown): boolean {
  return countOf(value) > 0;
}

/** A token count as vendors send it; 0 for anything but a number above zero. */
export function countOf(value: unknown): number {
  return typeof value === "number" && value > 0 ? Math.min(Math.ceil(value), COUNT_MAX) : 0;
}
