// Rewrites a tool's schema for vendors that require an object with properties, or refuse `anyOf` and its kind at the top level.
import { defined, isRecord, type Json, listOf, stringOf } from "../../core/json.ts";

/** What a vendor requires: no alternatives at the top level, and `properties` even where they are empty. */
export interface SchemaRule {
  readonly isPlain: boolean;
  readonly hasProperties: boolean;
}

const REFUSED = ["anyOf", "oneOf", "allOf", "$ref", "not", "enum"];
/** A reference can point to itself. */
const DEPTH_MAX = 8;

function pointed(root: Json, ref: unknown): unknown {
  const path =
    stringOf(ref)
      ?.match(/^#\/(.+)$/)?.[1]
      ?.split("/") ?? [];
  return path.length === 0 ? null : path.reduce<unknown>((at, name) => (isRecord(at) ? at[name] : null), root);
}

/** Merges all alternatives: properties of any of them, required where each requires them. */
function fieldsOf(schema: Json, root: Json, depth = 0): { readonly properties: Json; readonly required: Set<unknown> } {
  const properties: Json = isRecord(schema.properties) ? { ...schema.properties } : {};
  const required = new Set(listOf(schema.required));
  const read = (...list: unknown[]) => {
    const some = depth > DEPTH_MAX ? [] : list.filter(isRecord).map((one) => fieldsOf(one, root, depth + 1));
    for (const [name, one] of some.flatMap((inner) => Object.entries(inner.properties)))
      properties[name] = Object.hasOwn(properties, name) ? { anyOf: [properties[name], one] } : one;
    return some.map((inner) => inner.required);
  };
  for (const names of read(pointed(root, schema.$ref), ...listOf(schema.allOf)))
    for (const name of names) required.add(name);
  for (const list of [schema.anyOf, schema.oneOf]) {
    const [first = new Set(), ...others] = read(...listOf(list));
    for (const name of first) if (others.every((names) => names.has(name))) required.add(name);
  }
  return { properties, required };
}

function withoutAlternatives(schema: Json): Json {
  const refused = Object.entries(schema).filter(([word]) => REFUSED.includes(word));
  if (refused.length === 0) return schema;
  const kept = Object.entries(schema).filter(([word]) => !REFUSED.includes(word));
  const { properties, required } = fieldsOf(schema, schema);
  // The merged schema accepts more than the original, so the description carries the rest.
  const told = `The object must also fit this JSON Schema: ${JSON.stringify(Object.fromEntries(refused))}`;
  const description = [stringOf(schema.description), told].filter(Boolean).join("\n");
  return { ...Object.fromEntries(kept), properties, required: [...required], description };
}

/** Returns the schema itself where nothing has to change. */
export function fittedSchema(schema: Json, { isPlain, hasProperties }: SchemaRule, isStrict: boolean): Json {
  const plain = isPlain ? withoutAlternatives(schema) : schema;
  if (!isPlain && (!hasProperties || REFUSED.some((word) => plain[word] !== undefined))) return plain;
  if (plain.type === "object" && (!hasProperties || isRecord(plain.properties))) return plain;
  const properties = isRecord(plain.properties) || !hasProperties ? plain.properties : {};
  const closed = isStrict && hasProperties ? { additionalProperties: false } : {};
  return defined({ ...closed, ...plain, type: "object", properties });
}
