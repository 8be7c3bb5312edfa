// What adapters say, as schemas: the small ones that several share, and the type that a schema's value has where it is only read.
import { z } from "zod";
import { parseUsdPerMillion } from "../money.ts";
import type { Json } from "./action.ts";
import { SLUG } from "./slug.ts";

/** A schema's value as an adapter writes it: read only, and a field that is left out has no value. */
export type Said<T> = T extends RegExp
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Said<Item>[]
    : T extends object
      ? { readonly [Name in keyof T]: Said<Exclude<T[Name], undefined>> }
      : T;

export const count = z.int().positive();
export const words = z.string().min(1);
/** A place in an answer's body: `""` is the whole of it. */
export const pointer = z.string().regex(/^(\/[^/]*)*$/, "is no JSON pointer");
export const json: z.ZodType<Json> = z.json();
export const cents = z.number().min(0);
export const day = z.iso.date("is no day as YYYY-MM-DD");
export const price = z.string().refine((text) => parseUsdPerMillion(text) !== null, {
  error: (issue) => `is no decimal in USD per million tokens with at most six places: ${JSON.stringify(issue.input)}`,
});
/** When a list brought a price: `20261126T002503`. */
export const taken = z.string().regex(/^\d{8}T\d{6}$/, "is no time as YYYYMMDDTHHMMSS");
export const slug = z.string().regex(SLUG, "is no slug as <maker>/<model>");

export function ascending(values: readonly (string | number)[]): boolean {
  return values.every((value, at) => at === 0 || value > (values[at - 1] ?? ""));
}
