// Generates calls that a published schema allows, and calls that it forbids, reproducibly by seed.
import fc from "fast-check";
import type { JsonSchema } from "../../../src/actions/run/params-schema.ts";
import { type Chance, chanceFrom } from "../../simulation/random.ts";
import { runs } from "../../support/runs.ts";

const ITEMS_MAX = 24;
const PAIRS_MAX = runs(5, 60);
const RANDOM_CALLS = runs(4, 40);
/** Values that are unlikely to be valid for any param. */
const STRANGERS: readonly unknown[] = [null, true, -1, 0, 1.5, 1_000_000, "", " ", "tea", [], [null], {}, { x: 1 }];
const DATES = ["2026-01-31", "2024-02-29", "2026-02-30", "2026-13-01", "20260131", "2026-01-31T12:00:00Z"];

type Call = Readonly<Record<string, unknown>>;

function listOf(value: unknown): readonly JsonSchema[] {
  return Array.isArray(value) ? value : [];
}

/** Strings that match a pattern, and strings that nearly match. */
function textsLike(pattern: string, seed: number): readonly string[] {
  let found: string[] = [];
  try {
    found = fc.sample(fc.stringMatching(new RegExp(pattern, "u")), { numRuns: 6, seed });
  } catch {
    // The generator does not support lookahead; the example has a matching text.
  }
  const urls = ["https://example.com/a", "HTTP://EXAMPLE.COM", " https://example.com", "https://", "ftp://example.com"];
  const all = [...found.map((text) => text.slice(0, 300)), ...(pattern.includes("[hH]") ? urls : [])];
  return all.flatMap((text) => [text, text.toUpperCase(), ` ${text}`, `${text}\n`, text.slice(0, -1), `${text}!`]);
}

function numbersOf(schema: JsonSchema): readonly unknown[] {
  const bounds = [schema.minimum, schema.maximum, schema.exclusiveMinimum, schema.exclusiveMaximum, schema.default];
  return bounds.flatMap((bound) => (typeof bound === "number" ? [bound - 1, bound, bound + 1, String(bound)] : []));
}

function textsOf(schema: JsonSchema, seed: number): readonly unknown[] {
  const lengths = [schema.minLength, schema.maxLength].flatMap((bound) =>
    typeof bound === "number" ? [bound - 1, bound, bound + 1].filter((length) => length >= 0) : [],
  );
  const patterns = [schema, ...listOf(schema.allOf)].flatMap(({ pattern }) => pattern ?? []);
  return [
    ...lengths.flatMap((length) => ["a".repeat(length), " ".repeat(length)]),
    ...patterns.flatMap((pattern) => textsLike(String(pattern), seed)),
    ...(schema.format === "date" ? DATES : []),
    "Señor 日本",
    "17",
  ];
}

function listsOf(schema: JsonSchema, seed: number): readonly unknown[] {
  const items = valuesOf((schema.items as JsonSchema | undefined) ?? {}, seed + 1);
  const [first = "a"] = items;
  const sizes = [schema.minItems, schema.maxItems].flatMap((bound) =>
    typeof bound === "number" ? [bound - 1, bound, bound + 1] : [],
  );
  const wanted = sizes.filter((size) => size >= 0 && size <= 1_001);
  return [...items.slice(0, ITEMS_MAX).map((item) => [item]), ...wanted.map((size) => Array(size).fill(first))];
}

function objectsOf(schema: JsonSchema, seed: number): readonly unknown[] {
  if (schema.properties === undefined) return [{ a: 1 }, { "no name": 1 }, { a: "b", c: true }, { a: { b: [null] } }];
  return [...callsOf(schema, {}, seed + 7)].slice(0, 80);
}

/** Values that a schema allows, and others close to them. */
export function valuesOf(schema: JsonSchema, seed: number): readonly unknown[] {
  const choices = [...listOf(schema.anyOf), ...listOf(schema.oneOf)].flatMap((one) => valuesOf(one, seed));
  const enumerated = (schema.enum ?? ("const" in schema ? [schema.const] : [])) as readonly unknown[];
  const types = [schema.type ?? []].flat().map(String);
  return [
    ...enumerated,
    ...enumerated.map((value) => `${String(value).toUpperCase()}_`),
    ...(types.includes("string") ? textsOf(schema, seed) : []),
    ...(types.includes("integer") || types.includes("number") ? [...numbersOf(schema), 1, 2] : []),
    ...(types.includes("boolean") ? [true, false, "true"] : []),
    ...(types.includes("array") ? listsOf(schema, seed) : []),
    ...(types.includes("object") ? objectsOf(schema, seed) : []),
    ...choices,
    ...STRANGERS,
  ];
}

function pick<T>(list: readonly T[], chance: Chance): T | undefined {
  return list[Math.floor(chance.next() * list.length)];
}

/**
 * Calls for a schema: the example with each value of each param in turn, without each param and with an extra one; each pair of params
 * with only the required ones; and random params.
 */
export function* callsOf(schema: JsonSchema, example: Call, seed: number): Generator<Call> {
  const chance = chanceFrom(seed);
  const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>);
  const values = new Map(properties.map(([name, one], at) => [name, valuesOf(one, seed + at)]));
  const required = new Set((schema.required ?? []) as readonly string[]);
  /** The first values are those that the schema names, or that come from its pattern. */
  const likely = (name: string) =>
    name in example ? example[name] : pick((values.get(name) ?? []).slice(0, 6), chance);
  yield example;
  yield {};
  yield { ...example, no_such_param: 1 };
  for (const [name, ofParam] of values) {
    const { [name]: _, ...rest } = example;
    yield rest;
    for (const value of ofParam) yield { ...example, [name]: value };
  }
  const must = Object.fromEntries([...required].map((name) => [name, likely(name)]));
  const optional = properties.map(([name]) => name).filter((name) => !required.has(name));
  const pairs = optional.flatMap((name, at) => optional.slice(at).map((other) => [name, other] as const));
  const every = Math.max(1, Math.floor(pairs.length / PAIRS_MAX));
  for (const [at, [name, other]] of pairs.entries()) {
    if (at % every !== 0) continue;
    for (let time = 0; time < 3; time++) {
      const pair = { [name]: pick(values.get(name) ?? [], chance), [other]: pick(values.get(other) ?? [], chance) };
      yield { ...must, [name]: likely(name), [other]: likely(other) };
      yield { ...must, ...pair };
    }
  }
  for (let call = 0; call < RANDOM_CALLS; call++) {
    const names = properties.map(([name]) => name).filter((name) => required.has(name) || chance.happens(0.4));
    const drawn = (name: string) => (chance.happens(0.7) ? likely(name) : pick(values.get(name) ?? [], chance));
    yield Object.fromEntries(names.map((name) => [name, drawn(name)]));
  }
}
