// Converts schemas of the format (OpenAPI's subset, with types in capitals) to JSON Schema, which all other formats use.
import { isRecord, type Json, numberOf } from "../../../core/json.ts";

/** Integer keywords, which protobuf writes as strings. */
const COUNTS = ["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"];
/** Keywords that JSON Schema lacks or defines differently. */
const DROPPED: ReadonlySet<string> = new Set(["nullable", "propertyOrdering", "property_ordering", "example"]);

function typeOf(type: unknown, nullable: boolean): unknown {
  if (typeof type !== "string") return type;
  const word = type.toLowerCase();
  return nullable ? [word, "null"] : word;
}

function schemasOf(value: unknown): unknown {
  return isRecord(value)
    ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, jsonSchema(one)]))
    : value;
}

/** Converts to JSON Schema. A JSON Schema passes unchanged, except for the keywords above. */
export function jsonSchema(schema: unknown): unknown {
  if (!isRecord(schema)) return schema;
  const out: Json = {};
  for (const [key, value] of Object.entries(schema)) {
    if (DROPPED.has(key) || key === "__proto__") continue;
    if (key === "type") out.type = typeOf(value, schema.nullable === true);
    else if (key === "properties") out.properties = schemasOf(value);
    else if (key === "items") out.items = jsonSchema(value);
    else if (key === "anyOf" || key === "any_of") out.anyOf = Array.isArray(value) ? value.map(jsonSchema) : value;
    else out[key] = COUNTS.includes(key) ? (numberOf(Number(value)) ?? value) : value;
  }
  return out;
}
