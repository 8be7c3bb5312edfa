// Rewrites a tool's schema for vendors that require an object with properties, or refuse `anyOf` and similar keywords at the top level.
import { defined, isRecord, type Json, listOf, stringOf } from "../../core/json.ts";

/** What a vendor requires: no alternatives at the top level, and `properties` even if it is empty. */
export interface SchemaRule {
  readonly isPlain: boolean;
  readonly hasProperties: boolean;
}

const REFUSED = ["anyOf", "oneOf", "allOf", "$ref", "not", "enum"];
/** References can nest endlessly. */
const DEPTH_MAX = 64;
/** The limit on schemas and required names read. Whatever is left out only makes the merged schema accept more. */
const READS_MAX = 10_000;

function pointed(root: Json, ref: unknown): unknown {
  const path =
    stringOf(ref)
      ?.match(/^#\/(.+)$/)?.[1]
      ?.split("/") ?? [];
  return path.length === 0 ? null : path.reduce<unknown>((at, name) => (isRecord(at) ? at[name] : null), root);
}

/** The merged parts of a schema. References can repeat and multiply, so each object is read once. */
interface Merged {
  readonly root: Json;
  readonly properties: Map<string, Set<unknown>>;
  readonly required: Map<Json, Set<unknown>>;
  readsLeft: number;
}

/** Collects the properties of all alternatives. Returns the names that are required whichever alternative applies. */
function requiredBy(schema: Json, merged: Merged, depth = 0): ReadonlySet<unknown> {
  const known = merged.required.get(schema);
  const required = known ?? new Set(listOf(schema.required));
  merged.readsLeft -= 1 + required.size;
  if (merged.readsLeft < 0 || depth > DEPTH_MAX) return new Set();
  if (known !== undefined) return known;
  merged.required.set(schema, required);
  for (const [name, one] of Object.entries(isRecord(schema.properties) ? schema.properties : {}))
    merged.properties.set(name, (merged.properties.get(name) ?? new Set()).add(one));
  const read = (...list: unknown[]) => list.filter(isRecord).map((one) => requiredBy(one, merged, depth + 1));
  for (const names of read(pointed(merged.root, schema.$ref), ...listOf(schema.allOf)))
    for (const name of names) required.add(name);
  for (const list of [schema.anyOf, schema.oneOf]) {
    const [first = new Set(), ...others] = read(...listOf(list));
    for (const name of first) if (others.every((names) => names.has(name))) required.add(name);
  }
  return required;
}

function withoutAlternatives(schema: Json): Json {
  const refused = Object.entries(schema).filter(([word]) => REFUSED.includes(word));
  if (refused.length === 0) return schema;
  const kept = Object.entries(schema).filter(([word]) => !REFUSED.includes(word));
  const merged: Merged = { root: schema, properties: new Map(), required: new Map(), readsLeft: READS_MAX };
  const required = requiredBy(schema, merged);
  const either = ([one, ...more]: readonly unknown[]) => (more.length === 0 ? one : { anyOf: [one, ...more] });
  const properties = Object.fromEntries([...merged.properties].map(([name, some]) => [name, either([...some])]));
  // The merged schema is looser than the original, so the description carries the rest.
  const told = `The object must also fit this JSON Schema: ${JSON.stringify(Object.fromEntries(refused))}`;
  const description = [stringOf(schema.description), told].filter(Boolean).join("\n");
  return { ...Object.fromEntries(kept), properties, required: [...required], description };
}

/** Returns the same schema if nothing has to change. */
export function fittedSchema(schema: Json, { isPlain, hasProperties }: SchemaRule, isStrict: boolean): Json {
  const plain = isPlain ? withoutAlternatives(schema) : schema;
  if (!isPlain && (!hasProperties || REFUSED.some((word) => plain[word] !== undefined))) return plain;
  if (plain.type === "object" && (!hasProperties || isRecord(plain.properties))) return plain;
  const properties = isRecord(plain.properties) || !hasProperties ? plain.properties : {};
  const closed = isStrict && hasProperties ? { additionalProperties: false } : {};
  return defined({ ...closed, ...plain, type: "object", properties });
}
