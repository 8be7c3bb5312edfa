// How prices, params and calls are written for people.

import type { PriceShown } from "../../actions/run/descriptor.ts";
import { type JsonSchema, MAIL_PATTERN, URL_PATTERN } from "../../actions/run/params-schema.ts";
import { nanoFromCents, usdText } from "../../core/money.ts";

/** Cents as decimal dollars: `0.01`. */
export function dollars(cents: number): string {
  return usdText(nanoFromCents(cents));
}

/** Cents in short form: `1¢`, `0.3¢`, `$1.50`. */
function spoken(cents: number): string {
  return cents < 100 ? `${Number(cents.toFixed(4))}¢` : `$${(cents / 100).toFixed(2).replace(".00", "")}`;
}

/** `1¢`, `Free`, `1¢ to 30¢`, `up to 25¢`. */
export function priceWords({ cents, min_cents = 0, max_cents = 0 }: PriceShown): string {
  const most = cents ?? max_cents;
  if (most === 0) return "Free";
  if (cents !== undefined || min_cents === most) return spoken(most);
  return min_cents === 0 ? `up to ${spoken(most)}` : `${spoken(min_cents)} to ${spoken(most)}`;
}

/** The price with what it depends on: `1¢ to 25¢, by the profile, free if nothing is found`. */
export function fullPriceWords(price: PriceShown): string {
  const by = price.unit === undefined ? "" : `${price.mode === "fixed" ? " per" : ", by the"} ${price.unit}`;
  return `${priceWords(price)}${by}${price.free_on_miss ? ", free if nothing is found" : ""}`;
}

export interface ParamShown {
  readonly name: string;
  readonly required: boolean;
  readonly type: string;
  readonly notes: string;
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

const FORMATS: Readonly<Record<string, string>> = {
  date: "date (YYYY-MM-DD)",
  "date-time": "date and time (ISO 8601)",
};

function typeWords(schema: JsonSchema): string {
  // Beside a type, anyOf and oneOf only refine it.
  const choice = (schema.type === undefined ? [...list(schema.anyOf), ...list(schema.oneOf)] : []) as JsonSchema[];
  if (choice.length > 0) return [...new Set(choice.map(typeWords))].join(" or ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return list(schema.enum).map(String).join(" | ");
  if (schema.type === "array") return `list of ${typeWords((schema.items as JsonSchema | undefined) ?? {})}`;
  if (schema.pattern === URL_PATTERN) return "URL";
  if (schema.pattern === MAIL_PATTERN) return "mail address";
  if (schema.type === "string") return FORMATS[String(schema.format)] ?? "string";
  return list(schema.type).length > 0 ? list(schema.type).join(" or ") : String(schema.type ?? "any");
}

/** `1 to 20`, `at least 2 items`, `at most 1 item`. */
function span(least: unknown, most: unknown, one?: string): string | null {
  const of = (count: unknown) => (one === undefined ? "" : ` ${one}${count === 1 ? "" : "s"}`);
  if (least !== undefined && most !== undefined) return `${least === most ? "" : `${least} to `}${most}${of(most)}`;
  if (most !== undefined) return `at most ${most}${of(most)}`;
  return least === undefined ? null : `at least ${least}${of(least)}`;
}

/** Omits the trivial limit that a text or list is not empty. */
function lengthWords(least: unknown, most: unknown, one: string): string | null {
  return span(Number(least ?? 0) <= 1 ? undefined : least, most, one);
}

function defaultWords(value: unknown): string {
  if (Array.isArray(value) && value.length > 0) return value.map(defaultWords).join(", ");
  return typeof value === "string" && value !== "" ? value : JSON.stringify(value);
}

function noteWords(schema: JsonSchema): string {
  return [
    schema.description,
    span(schema.minimum, schema.maximum),
    lengthWords(schema.minLength, schema.maxLength, "character"),
    lengthWords(schema.minItems, schema.maxItems, "item"),
    schema.default === undefined ? null : `default ${defaultWords(schema.default)}`,
  ]
    .filter((note) => note !== null && note !== undefined && note !== "")
    .join("; ");
}

/** The params of a schema, required ones first; of a union of objects, those of all. */
export function paramsShown(schema: JsonSchema): readonly ParamShown[] {
  const branches = [schema.anyOf, schema.oneOf, schema.allOf].flatMap(list) as JsonSchema[];
  const required = list(schema.required);
  const own = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>).map(([name, one]) => ({
    name,
    required: required.includes(name),
    type: typeWords(one),
    notes: noteWords(one),
  }));
  const byName = new Map([...branches.flatMap(paramsShown), ...own].map((one) => [one.name, one]));
  return [...byName.values()].sort((a, b) => Number(b.required) - Number(a.required));
}

/** The call as a shell command. */
export function curl(url: string, body: unknown): string {
  const json = JSON.stringify(body).replaceAll("'", "'\\''");
  return [
    `curl ${url} \\`,
    `  -H "Authorization: Bearer $TOLLGATE_API_KEY" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '${json}'`,
  ].join("\n");
}
