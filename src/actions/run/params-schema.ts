// An action's params as JSON Schema, generated from the zod object that validates them.
import { z } from "zod";
import type { EndpointTable, TableEndpoint, TableParam } from "../../catalog/endpoint-table.ts";
import { publishedRule, type SchemaRule } from "../../catalog/params-rules.ts";
import type { Json } from "../../catalog/said.ts";
import { INNER_URL_WORDS, URL_WORDS } from "../../core/field-issues.ts";
import { getOrMake } from "../../core/maps.ts";
import type { CatalogAction } from "./action-catalog.ts";
import { INTEGER, NUMBER, perWords, ROW_URL } from "./table-params.ts";

export type JsonSchema = { readonly [keyword: string]: unknown };

/** zod bounds every integer by what a double can hold; no portable JSON exceeds that anyway. */
const NO_BOUNDS = [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];

/** The start of every http URL that a URL param accepts; `$comment` states the other rules in words. */
export const URL_PATTERN = "^\\s*[hH][tT][tT][pP][sS]?://";

export const MAIL_PATTERN = z.regexes.email.source;

/** States rules in words that JSON Schema cannot express, such as the order of two dates. Strict readers would reject a custom keyword. */
const RULES = "$comment";

/** zod's name for a check that is a function of ours. */
const OWN_CHECK = z.refine(() => true)._zod.def.check;

/** Stands for a check without words. */
export const UNSAID = "there are further rules";

const schemas = new WeakMap<z.ZodType, JsonSchema>();

type Draft = Record<string, unknown>;
type Check = z.core.$ZodCheck;

/** The rule of a custom check in words, for what JSON Schema cannot express; null where the check has no words. */
function wordsOf(check: Check): string | null {
  const { error, path = [] } = check._zod.def as {
    readonly error?: (issue: never) => unknown;
    readonly path?: string[];
  };
  const words = error?.({} as never);
  return typeof words === "string" ? [path.join("."), words].filter((part) => part !== "").join(" ") : null;
}

/** The formats and patterns of a text: its own, and those of its checks. */
function formatsOf({ def }: z.core.$ZodTypes["_zod"]) {
  const parts = [def, ...(def.checks ?? []).map((check) => check._zod.def)];
  return parts as readonly { readonly format?: unknown; readonly pattern?: unknown }[];
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Adds a rule to a schema unless it is there: zod visits a schema again for each check. */
function alsoSay(schema: Draft, says: SchemaRule | { readonly pattern: string }): void {
  const rules = Object.entries(says);
  const all = (schema.allOf as object[] | undefined) ?? [];
  if (rules.every(([keyword, rule]) => isSame(schema[keyword], rule)) || all.some((one) => isSame(one, says))) return;
  if (rules.every(([keyword]) => schema[keyword] === undefined)) Object.assign(schema, says);
  else schema.allOf = [...all, says];
}

/** Corrects zod's JSON Schema so that it describes exactly what zod accepts. */
function amend(schema: Draft, { _zod: type }: z.core.$ZodTypes): void {
  for (const bound of ["minimum", "maximum"] as const)
    if (NO_BOUNDS.includes(Number(schema[bound]))) delete schema[bound];
  // The format is enough; zod's pattern for it is longer than the rest of a descriptor.
  if (schema.format === "date") delete schema.pattern;
  // Readers interpret other formats differently, or not at all; the pattern is exact.
  else if (schema.pattern !== undefined) delete schema.format;
  const words: string[] = [];
  const formats = formatsOf(type);
  if (formats.some(({ format }) => format === "url")) {
    delete schema.format;
    if (schema.pattern === undefined) schema.pattern = URL_PATTERN;
    else alsoSay(schema, { pattern: URL_PATTERN });
    words.push(URL_WORDS, INNER_URL_WORDS);
  }
  for (const { pattern } of formats) {
    if (!(pattern instanceof RegExp) || pattern.flags === "" || pattern.flags === "u") continue;
    words.push(`must match ${pattern}`);
    if (schema.pattern === pattern.source) delete schema.pattern;
    if (Array.isArray(schema.allOf)) schema.allOf = schema.allOf.filter((one) => one.pattern !== pattern.source);
  }
  for (const check of (type.def.checks ?? []) as readonly Check[]) {
    const says = publishedRule(check);
    if (says !== undefined) alsoSay(schema, says);
    else if (check._zod.def.check === OWN_CHECK) words.push(wordsOf(check) ?? UNSAID);
  }
  if (words.length > 0) schema[RULES] = words.join("; ");
}

function convert(params: z.ZodType): JsonSchema {
  const {
    $schema: _,
    $defs: __,
    ...schema
  } = z.toJSONSchema(params, {
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => amend(jsonSchema, zodSchema),
  });
  return withoutRefs(schema) as JsonSchema;
}

/** A schema refers to itself only to say "any JSON", as an empty one does. A reference would break inside a larger document. */
function withoutRefs(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutRefs);
  if (typeof schema !== "object" || schema === null) return schema;
  const kept = Object.entries(schema).filter(([keyword, value]) => keyword !== "$ref" || typeof value !== "string");
  return Object.fromEntries(kept.map(([keyword, value]) => [keyword, withoutRefs(value)]));
}

/** What a call may send, before defaults are filled in. A `$comment` states in words what JSON Schema cannot express. */
export function paramsSchema({ facts }: CatalogAction): JsonSchema {
  return getOrMake(schemas, facts.params, convert);
}

function saysUrl(schema: unknown): boolean {
  const { [RULES]: says, items, anyOf = [] } = (schema ?? {}) as JsonSchema;
  if (String(says ?? "").includes(URL_WORDS)) return true;
  return [...(anyOf as readonly unknown[]), ...(items === undefined ? [] : [items])].some(saysUrl);
}

const urlParams = new WeakMap<z.ZodType, readonly string[]>();

/** The params that hold the URL of a page or file, or a list of them. */
export function urlParamsOf(action: CatalogAction): readonly string[] {
  return getOrMake(urlParams, action.facts.params, () => {
    const properties = Object.entries((paramsSchema(action).properties ?? {}) as Record<string, unknown>);
    return properties.flatMap(([name, schema]) => (saysUrl(schema) ? [name] : []));
  });
}

export function requiredParams(schema: JsonSchema): readonly string[] {
  return Array.isArray(schema.required) ? schema.required : [];
}

/** The names of all params, including those in a choice between objects. */
export function paramNames(schema: JsonSchema): readonly string[] {
  const branches = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((some) => (Array.isArray(some) ? some : []));
  const own = Object.keys((schema.properties as object | undefined) ?? {});
  return [...new Set([...own, ...branches.flatMap((one) => paramNames(one as JsonSchema))])];
}

/** The same without building the schema, which would take a hundred times as long. */
export function paramNamesOf(action: CatalogAction): readonly string[] {
  return namesIn(action.facts.params) ?? paramNames(paramsSchema(action));
}

/** Null where only the schema shows them. */
function namesIn(params: unknown): readonly string[] | null {
  if (params instanceof z.ZodObject) return Object.keys(params.shape);
  if (!(params instanceof z.ZodUnion)) return null;
  const options = params.options.map(namesIn);
  const known = options.filter((names) => names !== null);
  return known.length === options.length ? [...new Set(known.flat())] : null;
}

/** For an action whose params depend on a table row: the param that names the row, and the rows that the action accepts. */
export interface TableOf {
  readonly param: string;
  readonly rows: EndpointTable;
  readonly count: number;
}

const tables = new WeakMap<CatalogAction, TableOf | null>();

function findTable({ table }: CatalogAction): TableOf | null {
  if (table === undefined) return null;
  const { by } = table;
  const all = Object.entries(table.rows).filter(([, { ended }]) => ended === undefined);
  const rows = by.method === undefined ? all : all.filter(([, { method }]) => method === by.method);
  return { param: by.param, rows: Object.fromEntries(rows), count: rows.length };
}

export function tableOf(action: CatalogAction): TableOf | null {
  return getOrMake(tables, action, findTable);
}

/** The JSON types of a row's param, including its alternative spelling: see `FITS`. */
const ALSO: Readonly<Record<TableParam["type"], JsonSchema>> = {
  string: { type: ["string", "number"] },
  integer: { type: ["integer", "string"], pattern: INTEGER.source },
  number: { type: ["number", "string"], pattern: NUMBER.source },
  boolean: { type: ["boolean", "string"], enum: [true, false, "true", "false"] },
  array: { type: ["array"] },
  object: { type: ["object"] },
};

/** Allowed words or numbers, each as a text and, where possible, as a number. */
function writtenBothWays(values: readonly Json[]): readonly Json[] {
  const texts = values.map(String);
  return [...new Set([...values, ...texts, ...texts.filter((text) => String(Number(text)) === text).map(Number)])];
}

const ROW_ADDRESS: JsonSchema = { type: ["string"], pattern: ROW_URL.source, [RULES]: INNER_URL_WORDS };

function paramSchema({ required, type, enum: values, format, ...rest }: TableParam): JsonSchema {
  const also = format === "uri" && type === "string" ? ROW_ADDRESS : ALSO[type];
  const items = format === "uri" && type === "array" ? { items: { ...ROW_ADDRESS, type: "string" } } : {};
  const types = also.type as readonly string[];
  const some = values === undefined ? also.enum : writtenBothWays(values);
  const known = Array.isArray(some) ? { enum: required ? some : [...some, null] } : {};
  return { ...rest, ...also, ...items, type: required ? types : [...types, "null"], ...known };
}

export function rowSchema({ param }: TableOf, name: string, row: TableEndpoint): JsonSchema {
  const own = Object.entries(row.params).map(([key, one]) => [key, paramSchema(one)] as const);
  const required = Object.entries(row.params).filter(([, one]) => one.required === true);
  const { per } = row;
  const rules = per === undefined ? [] : [`${per.param} ${perWords(per)}`];
  return {
    type: "object",
    properties: { [param]: { const: name satisfies Json }, ...Object.fromEntries(own) },
    required: [param, ...required.map(([key]) => key)],
    additionalProperties: false,
    ...(rules.length === 0 ? {} : { [RULES]: rules.join("; ") }),
  };
}
