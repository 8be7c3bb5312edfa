// Small schemas that adapter schemas share, and the read-only type of a schema's value.
import { z } from "zod";
import { parseUsdPerMillion } from "../core/money.ts";
import { SLUG } from "./slug.ts";

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
export type JsonObject = { readonly [name: string]: Json };
export type Params = Readonly<Record<string, unknown>>;

/** A schema's value as an adapter writes it: read-only, and optional fields may be absent but not undefined. */
export type Said<T> = Json extends T ? T : SaidMember<T>;
type SaidMember<T> = T extends RegExp | z.ZodType | ((...given: never[]) => unknown)
  ? T
  : T extends object
    ? { readonly [Name in keyof T]: Said<Exclude<T[Name], undefined>> }
    : T;

/** A function in an adapter's own file: only TypeScript checks its parameters and result. */
export function fn<F extends (...given: never[]) => unknown>() {
  return z.custom<F>((value) => typeof value === "function", "is not a function");
}

/** A zod schema, from whichever copy of zod. */
export const schema = z.custom<z.ZodType>(
  (value) => typeof (value as { safeParse?: unknown } | null)?.safeParse === "function",
  "is not a zod schema",
);

/** Names of environment variables; the first that is set counts. */
export const envNames = z.array(z.string().regex(/^[A-Z][A-Z0-9_]*$/)).min(1);
export const count = z.int().positive();
export const words = z.string().min(1);
/** A location in an answer's body: `""` is the whole body. */
export const pointer = z.string().regex(/^(\/[^/]*)*$/, "is not a JSON pointer");
/** A location in an answer other than the whole body. */
export const place = z.string().regex(/^(\/[^/]+)+$/, "is not a JSON pointer");
export const actionId = z.string().regex(/^[a-z0-9-]+\/[a-z0-9_-]+$/, "must be <adapter>/<action>");
/** Connection headers, which adapters may not set: over HTTP/2, some of them end all other calls on the connection too. */
const OF_THE_CONNECTION = [
  "connection",
  "http2-settings",
  "keep-alive",
  "proxy-connection",
  "te",
  "transfer-encoding",
  "upgrade",
];
/** By lower-case name. */
export const headers = z
  .record(z.string().regex(/^[a-z0-9-]+$/), z.string())
  .refine(
    (all) => !OF_THE_CONNECTION.some((name) => Object.hasOwn(all, name)),
    `may have none of ${OF_THE_CONNECTION.join(", ")}`,
  );
export const tag = z.string().regex(/^[a-z0-9-]+$/);
export const domain = z.string().regex(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/, "is not a domain in lower case");
export const json: z.ZodType<Json> = z.json();
export const jsonObject = z.record(z.string(), json);
export const cents = z.number().min(0);
export const day = z.iso.date("is not a day as YYYY-MM-DD");
export const price = z
  .string()
  .refine((text) => parseUsdPerMillion(text) !== null, {
    error: (issue) =>
      `is not a decimal in USD per million tokens with at most six places: ${JSON.stringify(issue.input)}`,
  });
/** When a list supplied a price: `20261126T002503`. */
export const taken = z.string().regex(/^\d{8}T\d{6}$/, "is not a time as YYYYMMDDTHHMMSS");
export const slug = z.string().regex(SLUG, "is not a slug as <maker>/<model>");

/** A non-empty list; `empty` is the error for an empty one. */
export function some<T extends z.ZodType>(item: T, empty?: string) {
  return z.array(item).min(1, empty).pipe(z.custom<[z.infer<T>, ...z.infer<T>[]]>());
}

export function ascending(values: readonly (string | number)[]): boolean {
  return values.every((value, at) => at === 0 || value > (values[at - 1] ?? ""));
}

export const modelEnd = z.strictObject({
  /** The first day (`YYYY-MM-DD`, UTC) on which it is no longer served. */
  on: day,
  /** The slug to use instead. */
  successor: slug.optional(),
});

/** A model's end at a vendor. Lists stop showing it a month before; later calls are refused with the successor. */
export type ModelEnd = Said<z.infer<typeof modelEnd>>;
