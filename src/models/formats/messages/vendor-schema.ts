// Narrows a JSON schema to the subset that the messages wire can guarantee (structured outputs, strict tools).
import { isRecord, type Json, wordOf } from "../../../core/json.ts";

/** No real schema is deeper; the bound keeps the recursion safe. */
const DEPTH_MAX = 64;

const FORMATS = ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];
/** Copied unchanged. */
const PLAIN = ["type", "enum", "const", "title", "default", "required", "$ref"];
/** The subset lacks `oneOf`; `anyOf` admits the same values. */
const LISTS: ReadonlyMap<string, string> = new Map([
  ["anyOf", "anyOf"],
  ["oneOf", "anyOf"],
  ["allOf", "allOf"],
]);
const MAPS = ["properties", "$defs", "definitions"];

function isObjectSchema(schema: Json): boolean {
  const types: unknown[] = Array.isArray(schema.type) ? schema.type : [schema.type];
  return types.includes("object") || isRecord(schema.properties);
}

function isKept(keyword: string, value: unknown): boolean {
  if (PLAIN.includes(keyword)) return true;
  if (keyword === "format") return typeof value === "string" && FORMATS.includes(value);
  return keyword === "minItems" && (value === 0 || value === 1);
}

class Narrowing {
  /** The subset would change the meaning: the schema has arbitrary keys, or is too deep. */
  lost = false;

  schema(schema: unknown, depth: number): unknown {
    if (!isRecord(schema)) return schema;
    if (depth > DEPTH_MAX) this.lost = true;
    if (this.lost) return {};
    const kept: [string, unknown][] = [];
    const said: string[] = [];
    for (const [keyword, value] of Object.entries(schema)) {
      const list = LISTS.get(keyword);
      if (list !== undefined) kept.push([list, this.#list(value, depth + 1)]);
      else if (MAPS.includes(keyword)) kept.push([keyword, this.#map(value, depth + 1)]);
      else if (keyword === "items") kept.push([keyword, this.schema(value, depth + 1)]);
      else if (isKept(keyword, value)) kept.push([keyword, value]);
      else if (keyword === "patternProperties") this.lost = true;
      else if (typeof value === "number" || keyword === "pattern") said.push(`${keyword}: ${wordOf(value)}`);
    }
    if (isObjectSchema(schema)) {
      const open = schema.additionalProperties;
      // An object without declared properties allows any; closed, it could only be empty.
      const unsaid = open === undefined && !isRecord(schema.properties);
      if (open === true || isRecord(open) || unsaid) this.lost = true;
      kept.push(["additionalProperties", false]);
    }
    const described = typeof schema.description === "string" ? [schema.description, ...said] : said;
    if (described.length > 0) kept.push(["description", described.join("\n")]);
    return Object.fromEntries(kept);
  }

  #list(list: unknown, depth: number): unknown[] {
    return (Array.isArray(list) ? list : []).map((schema) => this.schema(schema, depth));
  }

  #map(map: unknown, depth: number): Json {
    const entries = Object.entries(isRecord(map) ? map : {});
    return Object.fromEntries(entries.map(([name, schema]) => [name, this.schema(schema, depth)]));
  }
}

/**
 * The schema in the wire's subset. Bounds that it cannot enforce, such as `minimum` or `maxLength`, move to the descriptions, where the
 * model reads them. Null where the subset would change the meaning (maps with arbitrary keys).
 */
export function guaranteedSchema(schema: Json): Json | null {
  const narrowing = new Narrowing();
  const narrowed = narrowing.schema(schema, 0);
  return narrowing.lost || !isRecord(narrowed) ? null : narrowed;
}
