// Generates a JSON value that a JSON Schema accepts, for tool arguments and structured answers.
import { isRecord } from "../core/json.ts";
import type { Schema } from "./ask.ts";
import { phraseFrom, type Random, wordFrom } from "./vocabulary.ts";

const DEPTH_MAX = 6;
/** Callers write the schemas, and the sandbox may run in the gateway's own process. */
const VALUES_MAX = 10_000;
const VALUE_CHARS = 8;

/** One value in the making. `left`: how many more values it may contain; a long text or list counts as several. */
interface Making {
  readonly root: Schema;
  readonly random: Random;
  left: number;
}

/** Charges for characters or entries that are read or copied for a value. */
function charge(making: Making, length: number): void {
  making.left -= length / VALUE_CHARS;
}

const FORMATS: ReadonlyMap<unknown, string> = new Map(
  Object.entries({
    "date-time": "2026-01-02T03:04:05Z",
    date: "2026-01-02",
    time: "03:04:05Z",
    email: "someone@example.com",
    uri: "https://example.com/",
    uuid: "00000000-0000-4000-8000-000000000000",
    ipv4: "192.0.2.1",
  }),
);

function numberAt(schema: Schema, name: string): number | null {
  const value = schema[name];
  return typeof value === "number" ? value : null;
}

/** Follows a local reference such as `#/$defs/name`. */
function resolve(schema: Schema, making: Making): Schema {
  let at = schema;
  for (let hops = 0; typeof at.$ref === "string" && hops < 10 && making.left > 0; hops++) {
    charge(making, at.$ref.length);
    let target: unknown = making.root;
    for (const step of at.$ref.replace(/^#\/?/, "").split("/").filter(Boolean))
      target = isRecord(target) ? target[step.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined;
    at = isRecord(target) ? target : {};
  }
  return at;
}

/** No type has a longer name, and no list of them has more entries. */
const TYPE_CHARS_MAX = "boolean".length;
const TYPES_MAX = 7;

function typeOf(schema: Schema): string {
  const all: readonly unknown[] = Array.isArray(schema.type) ? schema.type.slice(0, TYPES_MAX) : [schema.type];
  const types = all.flatMap((type) =>
    typeof type === "string" && type.length <= TYPE_CHARS_MAX ? [type.toLowerCase()] : [],
  );
  const named = types.find((type) => type !== "null") ?? types[0];
  if (named !== undefined) return named;
  if (isRecord(schema.properties)) return "object";
  return isRecord(schema.items) ? "array" : "string";
}

function stringOf(schema: Schema, making: Making): string {
  const format = FORMATS.get(schema.format);
  if (format !== undefined) return format;
  const least = Math.min(numberAt(schema, "minLength") ?? 0, Math.max(0, making.left) * VALUE_CHARS);
  charge(making, least);
  const text = phraseFrom(making.random).padEnd(least, "-");
  return text.slice(0, numberAt(schema, "maxLength") ?? text.length);
}

/** Bounds farther apart are mere machine limits, so they are narrowed to `RANGE_USUAL`. */
const RANGE_MAX = 1e6;
const RANGE_USUAL = 100;

/** The inclusive range for a number. An exclusive bound moves by one step. */
function rangeOf(schema: Schema, step: number): { readonly from: number; readonly to: number } {
  const { exclusiveMinimum, exclusiveMaximum } = schema;
  // Older schemas use `true` to make the bound exclusive.
  const lows = [
    (numberAt(schema, "minimum") ?? Number.NEGATIVE_INFINITY) + (exclusiveMinimum === true ? step : 0),
    (numberAt(schema, "exclusiveMinimum") ?? Number.NEGATIVE_INFINITY) + step,
  ];
  const highs = [
    (numberAt(schema, "maximum") ?? Number.POSITIVE_INFINITY) - (exclusiveMaximum === true ? step : 0),
    (numberAt(schema, "exclusiveMaximum") ?? Number.POSITIVE_INFINITY) - step,
  ];
  const [low, high] = [Math.max(...lows), Math.min(...highs)];
  if (high - low <= RANGE_MAX) return { from: low, to: high };
  const from = Math.min(Math.max(low, 0), high);
  return { from, to: Math.min(high, from + RANGE_USUAL) };
}

/** The step for non-integers: made finer until some number fits between the bounds. */
function stepWithin(schema: Schema): number {
  let step = 0.01;
  for (let at = rangeOf(schema, step); at.to < at.from && step > 1e-12; at = rangeOf(schema, step)) step /= 10;
  return step;
}

function numberOf(schema: Schema, random: Random, whole: boolean): number {
  const multiple = numberAt(schema, "multipleOf");
  const step = whole ? 1 : stepWithin(schema);
  const { from, to } = rangeOf(schema, step);
  if (multiple !== null) return Math.ceil(from / multiple) * multiple;
  const value = from + random() * Math.max(0, to - from);
  if (whole) return Math.max(Math.ceil(from), Math.min(Math.floor(to), Math.ceil(value)));
  return Math.min(to, Math.max(from, Number(value.toFixed(2))));
}

function objectOf(schema: Schema, making: Making, depth: number): Record<string, unknown> {
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const listed = Array.isArray(schema.required) ? schema.required : [];
  const required = new Set(listed);
  const all = Object.keys(properties);
  const names = all.filter((name) => depth < DEPTH_MAX || required.has(name));
  charge(making, all.length + listed.length + names.join("").length);
  return Object.fromEntries(names.map((name) => [name, instanceAt(properties[name], making, depth + 1)]));
}

function arrayOf(schema: Schema, making: Making, depth: number): unknown[] {
  const usual = depth < DEPTH_MAX ? 2 : 0;
  const least = Math.max(usual, numberAt(schema, "minItems") ?? 0);
  const count = Math.min(least, numberAt(schema, "maxItems") ?? least, Math.max(0, making.left));
  return Array.from({ length: count }, () => instanceAt(schema.items, making, depth + 1));
}

/** A `const` or one of an `enum`. */
function copyOf(value: unknown, making: Making): unknown {
  charge(making, JSON.stringify(value ?? null).length);
  return value;
}

function mergedOf(allOf: readonly unknown[], making: Making): Schema {
  const merged: Record<string, unknown> = {};
  charge(making, allOf.length);
  for (const one of allOf.filter(isRecord)) {
    charge(making, Object.keys(one).length);
    Object.assign(merged, one);
  }
  return merged;
}

function instanceAt(value: unknown, making: Making, depth: number): unknown {
  const { random } = making;
  if (making.left-- <= 0) return null;
  if (!isRecord(value)) return wordFrom(random);
  const schema = resolve(value, making);
  if (schema.const !== undefined) return copyOf(schema.const, making);
  if (Array.isArray(schema.enum)) return copyOf(schema.enum[Math.floor(random() * schema.enum.length)], making);
  if (depth > 2 * DEPTH_MAX) return null;
  const options = [schema.anyOf, schema.oneOf].find(Array.isArray);
  if (options) return instanceAt(options[depth < DEPTH_MAX ? 0 : options.length - 1], making, depth + 1);
  if (Array.isArray(schema.allOf)) return instanceAt(mergedOf(schema.allOf, making), making, depth + 1);
  switch (typeOf(schema)) {
    case "object":
      return objectOf(schema, making, depth);
    case "array":
      return arrayOf(schema, making, depth);
    case "integer":
      return numberOf(schema, random, true);
    case "number":
      return numberOf(schema, random, false);
    case "boolean":
      return random() < 0.5;
    case "null":
      return null;
    default:
      return stringOf(schema, making);
  }
}

/**
 * A value that `schema` accepts: fills every property, puts two items in a list, and follows references and alternatives. Ignores
 * patterns. A recursive schema ends at optional properties, empty lists or the last alternative. After
 * `VALUES_MAX` values, the rest is null.
 */
export function instanceOf(schema: Schema, random: Random): unknown {
  return instanceAt(schema, { root: schema, random, left: VALUES_MAX }, 0);
}
