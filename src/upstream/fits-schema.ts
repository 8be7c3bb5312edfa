// Checks a value against a JSON Schema. Both are untrusted (a caller writes the schema, a model the value), so the check limits its steps,
// follows no reference out of the schema, and runs no pattern.
import { isRecord } from "../core/json.ts";

const STEPS_MAX = 200_000;
const DEPTH_MAX = 256;

/** The check has used up its steps; the value then counts as fitting. */
class Undecided extends Error {}

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isRecord,
  array: Array.isArray,
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
};

/** Checks a number against a lower and an upper bound; a bound that is not a number is ignored. */
function isWithin(size: number, min: unknown, max: unknown): boolean {
  return !(typeof min === "number" && size < min) && !(typeof max === "number" && size > max);
}

class Check {
  readonly #root: unknown;
  #steps = 0;

  constructor(root: unknown) {
    this.#root = root;
  }

  fits(value: unknown, schema: unknown, depth: number): boolean {
    this.#spend(1);
    if (depth > DEPTH_MAX) throw new Undecided();
    if (typeof schema === "boolean") return schema;
    if (!isRecord(schema)) return true;
    const every = (inner: unknown) => this.fits(value, inner, depth + 1);
    if (typeof schema.$ref === "string" && !every(this.#named(schema.$ref))) return false;
    if (!this.#isOfType(value, schema.type) || !this.#isOne(value, schema)) return false;
    if (Array.isArray(schema.allOf) && !schema.allOf.every(every)) return false;
    if (Array.isArray(schema.anyOf) && !schema.anyOf.some(every)) return false;
    if (Array.isArray(schema.oneOf) && schema.oneOf.filter(every).length !== 1) return false;
    if (typeof value === "string") return isWithin(value.length, undefined, schema.maxLength);
    if (typeof value === "number") return isWithin(value, schema.minimum, schema.maximum);
    if (Array.isArray(value)) return this.#itemsFit(value, schema, depth);
    return !isRecord(value) || this.#membersFit(value, schema, depth);
  }

  #spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > STEPS_MAX) throw new Undecided();
  }

  /** The subschema that a `$ref` names; `true`, which fits everything, if there is none. */
  #named(ref: string): unknown {
    this.#spend(ref.length);
    if (ref === "#") return this.#root;
    if (!ref.startsWith("#/")) return true;
    let found = this.#root;
    for (const part of decoded(ref).split("/").slice(1)) {
      const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
      if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return true;
      found = (found as Readonly<Record<string, unknown>>)[name];
    }
    return found;
  }

  #isOfType(value: unknown, type: unknown): boolean {
    if (type === undefined) return true;
    const names = Array.isArray(type) ? type : [type];
    this.#spend(names.length);
    return names.some((name) => {
      const is = typeof name === "string" && Object.hasOwn(TYPES, name) ? TYPES[name] : undefined;
      return is === undefined || is(value);
    });
  }

  #isOne(value: unknown, schema: Readonly<Record<string, unknown>>): boolean {
    const choices = Array.isArray(schema.enum) ? schema.enum : Object.hasOwn(schema, "const") ? [schema.const] : null;
    if (choices === null) return true;
    const text = typeof value === "object" ? JSON.stringify(value) : null;
    this.#spend(choices.length + (text?.length ?? 0));
    return choices.some((one) => {
      if (one === value) return true;
      if (text === null || typeof one !== "object") return false;
      const other = JSON.stringify(one);
      this.#spend(other.length);
      return other === text;
    });
  }

  #itemsFit(value: readonly unknown[], schema: Readonly<Record<string, unknown>>, depth: number): boolean {
    if (!isWithin(value.length, schema.minItems, schema.maxItems)) return false;
    const first = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
    const { items = true } = schema;
    if (items === true && first.length === 0) return true;
    return value.every((one, at) => this.fits(one, at < first.length ? first[at] : items, depth + 1));
  }

  #membersFit(
    value: Readonly<Record<string, unknown>>,
    schema: Readonly<Record<string, unknown>>,
    depth: number,
  ): boolean {
    const { properties, required, additionalProperties = true } = schema;
    if (Array.isArray(required)) {
      this.#spend(required.length);
      if (!required.every((name) => typeof name !== "string" || Object.hasOwn(value, name))) return false;
    }
    const known = isRecord(properties) ? properties : {};
    // Property patterns are not evaluated, so if there are any, every name may match one.
    const others = schema.patternProperties === undefined ? additionalProperties : true;
    const names = Object.keys(value);
    this.#spend(names.length);
    return names.every((name) => this.fits(value[name], Object.hasOwn(known, name) ? known[name] : others, depth + 1));
  }
}

function decoded(pointer: string): string {
  try {
    return decodeURIComponent(pointer);
  } catch {
    return pointer;
  }
}

/** Ignores formats, patterns, `not` and conditionals. A value whose check takes too long counts as fitting. */
export function fitsSchema(value: unknown, schema: unknown): boolean {
  try {
    return new Check(schema).fits(value, schema, 0);
  } catch (error) {
    // A RangeError can only mean that the value is nested deeper than the stack.
    if (error instanceof Undecided || error instanceof RangeError) return true;
    throw error;
  }
}
