// Reads tables from test/fixtures in which long texts and lists are written short.
import { readFileSync } from "node:fs";

interface Folded {
  readonly $text?: readonly (string | readonly [text: string, times: number])[];
  readonly $list?: readonly [item: unknown, times: number];
  /** As base64. */
  readonly $bytes?: string;
}

function unfolded(_: string, value: unknown): unknown {
  const { $text, $list, $bytes } = (value ?? {}) as Folded;
  if ($text !== undefined)
    return $text.map((part) => (typeof part === "string" ? part : part[0].repeat(part[1]))).join("");
  if ($bytes !== undefined) return Buffer.from($bytes, "base64");
  return $list === undefined ? value : Array.from({ length: $list[1] }, () => $list[0]);
}

/** `{"$text": ["a", ["b", 400]]}` is an a and 400 b, `{"$list": ["item", 11]}` eleven items, `{"$bytes": "AA=="}` a buffer. */
export function foldedJson<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`../fixtures/${name}`, import.meta.url), "utf8"), unfolded) as T;
}
