// Shortens tool names that vendors refuse for their length or characters.
import { hash } from "node:crypto";

/** Every vendor accepts names of this length. */
const CHARS_MAX = 64;
const HASH_CHARS = 8;

/** Ends in a hash of the whole name, so that different names stay different. */
export function hashedName(name: string): string {
  const plain = name.replace(/[^a-zA-Z0-9_-]/g, "_").replace(/^(?![a-zA-Z])/, "f_");
  return `${plain.slice(0, CHARS_MAX - HASH_CHARS - 1)}_${hash("sha256", name).slice(0, HASH_CHARS)}`;
}

export function shortName(name: string): string {
  return name.length <= CHARS_MAX ? name : hashedName(name);
}
