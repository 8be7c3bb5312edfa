// Fresh ids for the sandbox's answers: they resemble the example's, and replace them everywhere.
import { randomInt, randomUUID } from "node:crypto";
import type { Json } from "../catalog/said.ts";
import { valueAt, withValueAt } from "./action-body.ts";

export type Swaps = ReadonlyMap<string, string>;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const CHANGED = 8;
/** A shorter text or number that equals an id may well be something else. */
const TELLING_CHARS = 4;
/** A shorter id inside a longer text may well be a coincidence. */
const INSIDE_CHARS = 6;

const ALPHABETS = ["0123456789", "0123456789abcdef", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"];

function pick(alphabet: string): string {
  return alphabet[randomInt(alphabet.length)] ?? "0";
}

/** A random number with as many digits; six if the example has fewer than four. */
function freshNumber(example: number): number {
  const digits = Math.min(15, String(Math.abs(Math.trunc(example))).length);
  const count = digits < TELLING_CHARS ? INSIDE_CHARS : digits;
  return randomInt(10 ** (Math.min(count, 14) - 1), 10 ** Math.min(count, 14));
}

/** A fresh id with the example's alphabet and length; a short one grows. */
export function freshId(example: string): string {
  if (UUID.test(example)) return example === example.toUpperCase() ? randomUUID().toUpperCase() : randomUUID();
  const letters = example.replace(/[^0-9a-zA-Z]/g, "");
  const hex = /^[0-9a-f]+$/.test(letters) ? ALPHABETS[1] : null;
  const like = (char: string) => {
    const alphabet = ALPHABETS.find((one) => one.includes(char)) ?? "";
    return pick(/\d/.test(char) ? "0123456789" : (hex ?? alphabet));
  };
  const grown = letters.length < CHANGED ? `${example}${(letters.at(-1) ?? "0").repeat(CHANGED)}` : example;
  let left = CHANGED;
  const changed = [...grown].reverse().map((char) => (/[0-9a-zA-Z]/.test(char) && left-- > 0 ? like(char) : char));
  return changed.reverse().join("");
}

export function idsAt(body: Json, pointer: string): readonly (string | number)[] {
  const found: readonly unknown[] = [valueAt(body, pointer)].flat();
  return found.filter((id): id is string | number => (typeof id === "string" && id !== "") || typeof id === "number");
}

/** Makes a fresh id for each one that the answers have at the pointers. */
export function swapsFor(answers: readonly Json[], pointers: readonly string[]): Map<string, string> {
  const ids = answers.flatMap((answer) => pointers.flatMap((pointer) => idsAt(answer, pointer)));
  return new Map(ids.map((id) => [String(id), typeof id === "number" ? String(freshNumber(id)) : freshId(id)]));
}

function swapText(text: string, swaps: Swaps): string {
  const whole = text.length >= TELLING_CHARS ? swaps.get(text) : undefined;
  if (whole !== undefined) return whole;
  let swapped = text;
  for (const [from, to] of swaps) if (from.length >= INSIDE_CHARS) swapped = swapped.replaceAll(from, to);
  return swapped;
}

function swapNumber(value: number, swaps: Swaps): number {
  const to = Number(swaps.get(String(value)) ?? Number.NaN);
  return Number.isFinite(to) ? to : value;
}

function swapAll(body: Json, swaps: Swaps): Json {
  if (typeof body === "string") return swapText(body, swaps);
  if (typeof body === "number") return String(body).length >= TELLING_CHARS ? swapNumber(body, swaps) : body;
  if (Array.isArray(body)) return body.map((item: Json) => swapAll(item, swaps));
  if (typeof body !== "object" || body === null) return body;
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, swapAll(value, swaps)]));
}

function swapOne(id: Json, swaps: Swaps): Json {
  if (typeof id === "number") return swapNumber(id, swaps);
  return typeof id === "string" ? (swaps.get(id) ?? id) : id;
}

/** Replaces all ids in a body: short ones only at the pointers, longer ones everywhere. */
export function withSwaps(body: Json, swaps: Swaps, pointers: readonly string[]): Json {
  if (swaps.size === 0) return body;
  let swapped = swapAll(body, swaps);
  for (const pointer of pointers) {
    const short = valueAt(body, pointer);
    if (short === undefined) continue;
    const put: Json = Array.isArray(short) ? short.map((id: Json) => swapOne(id, swaps)) : swapOne(short, swaps);
    swapped = withValueAt(swapped, pointer, put);
  }
  return swapped;
}
