// An action's params as JSON Schema, from the very zod object that validates them.
import { z } from "zod";
import type { EndpointTable, Json, TableEndpoint } from "../catalog/action.ts";
import type { CatalogAction } from "./action-catalog.ts";

export type JsonSchema = { readonly [keyword: string]: unknown };

/** zod says of every integer without bounds that it is one a double can hold; nobody asks for that. */
const NO_BOUNDS = [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];

const schemas = new WeakMap<z.ZodType, JsonSchema>();

function convert(params: z.ZodType): JsonSchema {
  const {
    $schema: _,
    $defs: __,
    ...schema
  } = z.toJSONSchema(params, {
    io: "input",
    unrepresentable: "any",
    override({ jsonSchema }) {
      for (const bound of ["minimum", "maximum"] as const) {
        if (NO_BOUNDS.includes(Number(jsonSchema[bound]))) delete jsonSchema[bound];
      }
      // The format says it all; the pattern that zod adds is longer than the rest of a descriptor.
      if (jsonSchema.format === "date" || jsonSchema.format === "date-time") delete jsonSchema.pattern;
    },
  });
  return withoutRefs(schema) as JsonSchema;
}

/**
 * A schema refers to itself only where it says "any JSON", and that is what an empty schema says too. A reference would lead nowhere
 * once the schema stands inside a larger document.
 */
function withoutRefs(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutRefs);
  if (typeof schema !== "object" || schema === null) return schema;
  const kept = Object.entries(schema).filter(([keyword, value]) => keyword !== "$ref" || typeof value !== "string");
  return Object.fromEntries(kept.map(([keyword, value]) => [keyword, withoutRefs(value)]));
}

/** What a call of the action may send, before defaults are filled in. Rules across fields are not in it. */
export function paramsSchema({ facts }: CatalogAction): JsonSchema {
  const known = schemas.get(facts.params);
  if (known !== undefined) return known;
  const schema = convert(facts.params);
  schemas.set(facts.params, schema);
  return schema;
}

/** The params that every call must have. */
export function requiredParams(schema: JsonSchema): readonly string[] {
  return Array.isArray(schema.required) ? schema.required : [];
}

/** The names of all params, those of a choice between several objects too. */
export function paramNames(schema: JsonSchema): readonly string[] {
  const branches = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((some) => (Array.isArray(some) ? some : []));
  const own = Object.keys((schema.properties as object | undefined) ?? {});
  return [...new Set([...own, ...branches.flatMap((one) => paramNames(one as JsonSchema))])];
}

/** Where the params of an action depend on a row of its table: the param that names it, and the rows that this action takes. */
export interface TableOf {
  readonly param: string;
  readonly rows: EndpointTable;
  readonly count: number;
}

const tables = new WeakMap<CatalogAction, TableOf | null>();

function findTable({ sold }: CatalogAction): TableOf | null {
  const by = sold?.offers[0]?.spec.table;
  if (sold === null || sold.table === null || by === undefined) return null;
  const all = Object.entries(sold.table);
  const rows = by.method === undefined ? all : all.filter(([, { method }]) => method === by.method);
  return { param: by.param, rows: Object.fromEntries(rows), count: rows.length };
}

/** The table of an action, or null where its params stand for themselves. */
export function tableOf(action: CatalogAction): TableOf | null {
  const known = tables.get(action);
  if (known !== undefined) return known;
  const found = findTable(action);
  tables.set(action, found);
  return found;
}

/** What a call of one row of a table may send. */
export function rowSchema({ param }: TableOf, name: string, row: TableEndpoint): JsonSchema {
  const own = Object.entries(row.params).map(([key, { required: _, ...one }]) => [key, one] as const);
  const required = Object.entries(row.params).filter(([, one]) => one.required === true);
  return {
    type: "object",
    properties: { [param]: { const: name satisfies Json }, ...Object.fromEntries(own) },
    required: [param, ...required.map(([key]) => key)],
    additionalProperties: false,
  };
}
