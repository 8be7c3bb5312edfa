// Names of tools that are too long for a vendor, or have characters that it does not take.
import { hash } from "node:crypto";

/** What all vendors take. */
const CHARS_MAX = 64;
const HASH_CHARS = 8;

/** The same name always becomes the same, and two names two: it ends in a hash of the whole. */
export function hashedName(name: string): string {
  const plain = name.replace(/[^a-zA-Z0-9_-]/g, "_").replace(/^(?![a-zA-Z])/, "f_");
  return `${plain.slice(0, CHARS_MAX - HASH_CHARS - 1)}_${hash("sha256", name).slice(0, HASH_CHARS)}`;
}

/** A name that is made of several, within the length that all vendors take. */
export function shortName(name: string): string {
  return name.length <= CHARS_MAX ? name : hashedName(name);
}
