// The kinds of places that every wire's allow-list is made of.
import type { PlaceSpec } from "./allow-list.ts";

/** Steers the call; no model reads it. */
export const setting: PlaceSpec = {};

export const text: PlaceSpec = { read: true };

/** JSON of the caller's own making that the model reads. */
export const json: PlaceSpec = { read: true, free: true, quoted: true };

/** What a tool said becomes an object, or a string inside of JSON, in some wires. */
export const quoted: PlaceSpec = { read: true, quoted: true };

/** What changes the price, or cannot be had; `neutral` says which values ask for nothing of the kind. */
export function refused(why: string, neutral?: (value: unknown) => boolean): PlaceSpec {
  return { refused: neutral === undefined ? { why } : { why, neutral } };
}

export function oneOf(...values: readonly unknown[]): (value: unknown) => boolean {
  return (value) => values.includes(value);
}
