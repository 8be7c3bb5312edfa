// Actions that sell many endpoints: finds the row that a call names, checks its params against it, and prices it.
import type { EndpointTable, TableEndpoint, TableParam } from "../../catalog/endpoint-table.ts";
import type { Params } from "../../catalog/said.ts";
import { type FieldIssue, URL_WORDS } from "../../core/field-issues.ts";

export interface NamedRow {
  readonly row: TableEndpoint;
  /** Without the param that names the row. */
  readonly params: Params;
}

/** The full name of a row, for a full name or an unambiguous ending. */
export function nameIn(table: EndpointTable, asked: string): string | null {
  if (Object.hasOwn(table, asked)) return asked;
  const end = `/${asked.replace(/^\/+/, "")}`;
  const found = Object.keys(table).filter((name) => name.endsWith(end));
  return found.length === 1 ? (found[0] ?? null) : null;
}

/** Numbers that are written as text. */
export const INTEGER = /^-?\d{1,15}$/;
export const NUMBER = /^-?\d+(\.\d+)?$/;

const FITS: Readonly<Record<TableParam["type"], (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string" || typeof value === "number",
  integer: (value) => Number.isSafeInteger(value) || (typeof value === "string" && INTEGER.test(value)),
  number: (value) =>
    Number.isFinite(value) || (typeof value === "string" && NUMBER.test(value) && Number.isFinite(+value)),
  boolean: (value) => typeof value === "boolean" || value === "true" || value === "false",
  array: Array.isArray,
  object: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
};

/** A URL in a row's param: the vendor fetches it, or decodes a data: URL. */
export const ROW_URL = /^([hH][tT][tT][pP][sS]?:\/\/|data:)\S+$/;
const ROW_URL_WORDS = `${URL_WORDS}, or a data: URL`;

function urlIssue(path: string, value: unknown): FieldIssue | null {
  if (Array.isArray(value)) {
    const issues = value.map((one, at) => urlIssue(`${path}.${at}`, one));
    return issues.find((issue) => issue !== null) ?? null;
  }
  return typeof value === "string" && ROW_URL.test(value) ? null : { path, message: ROW_URL_WORDS, code: "bad_url" };
}

function issueOf(name: string, param: TableParam | undefined, value: unknown, known: string): FieldIssue | null {
  if (param === undefined) return { path: name, message: `is not a param of this endpoint; it takes ${known}` };
  if (value === undefined || value === null)
    return param.required ? { path: name, message: `is missing, must be of type ${param.type}` } : null;
  const isText = param.format !== "uri" || typeof value !== "number";
  if (!isText || !FITS[param.type](value)) return { path: name, message: `must be of type ${param.type}` };
  if (param.format === "uri") return urlIssue(name, value);
  if (param.enum !== undefined && !param.enum.some((one) => String(one) === String(value)))
    return { path: name, message: `must be one of ${param.enum.map(String).join(", ")}` };
  return null;
}

/** Converts a valid value to the vendor's type: callers may send a number as text, or digits as a number. */
function inType({ type }: TableParam, value: unknown): unknown {
  if (type === "string" && typeof value === "number") return String(value);
  if (typeof value !== "string") return value;
  if (type === "boolean") return value === "true";
  return type === "integer" || type === "number" ? Number(value) : value;
}

/** How many units of the row's price the params ask for. */
function countOf(per: NonNullable<TableEndpoint["per"]>, params: Params): number {
  const value = params[per.param];
  if (value === undefined || value === null) return per.default;
  if (per.unit === "1000 characters") return [...String(value)].length / 1_000;
  if (per.unit !== "megapixel") return Number.parseFloat(String(value)) || per.default;
  const { width, height } = value as { width?: unknown; height?: unknown };
  const pixels = Number(width) * Number(height);
  return Number.isFinite(pixels) && pixels > 0 ? pixels / 1_000_000 : per.default;
}

export function perWords({ max, unit }: NonNullable<TableEndpoint["per"]>): string {
  return `must come to more than 0 and at most ${max} (${unit})`;
}

function perIssue({ per }: TableEndpoint, params: Params): FieldIssue | null {
  if (per === undefined) return null;
  const count = countOf(per, params);
  if (count > 0 && count <= per.max) return null;
  return { path: per.param, message: perWords(per) };
}

function endedWords({ on, successor }: NonNullable<TableEndpoint["ended"]>): string {
  return `its vendor ended it on ${on}${successor === undefined ? "" : `; ask for ${successor}`}`;
}

export function namedRow(
  table: EndpointTable,
  { param, method }: { readonly param: string; readonly method?: string },
  params: Params,
): NamedRow | readonly FieldIssue[] {
  const asked = String(params[param] ?? "");
  const name = nameIn(table, asked);
  const row = name === null ? undefined : table[name];
  if (row === undefined) return [{ path: param, message: `there is none called ${asked.slice(0, 100)}` }];
  if (row.ended !== undefined) return [{ path: param, message: endedWords(row.ended) }];
  if (method !== undefined && row.method !== method)
    return [{ path: param, message: `goes by ${row.method}, this action takes those that go by ${method}` }];
  const { [param]: _, ...rest } = params;
  const known = Object.keys(row.params).join(", ") || "none";
  const names = new Set([...Object.keys(row.params), ...Object.keys(rest)]);
  const paramOf = (one: string) => (Object.hasOwn(row.params, one) ? row.params[one] : undefined);
  const issues = [...names].map((one) => issueOf(one, paramOf(one), rest[one], known));
  const found = [...issues, perIssue(row, rest)].filter((issue) => issue !== null);
  if (found.length > 0) return found;
  const given = Object.entries(rest).filter(([, value]) => value !== undefined && value !== null);
  const typed = given.map(([one, value]) => [one, inType(row.params[one] as TableParam, value)]);
  return { row, params: Object.fromEntries(typed) };
}

function unitsOf({ per }: TableEndpoint, params: Params): number {
  return per === undefined ? 1 : Math.ceil(countOf(per, params));
}

/** The most that a call of a row can cost, in cents. A started unit counts as a whole one. */
export function rowCents(row: TableEndpoint, params: Params, actionCents: number): number {
  return (row.cents ?? actionCents) * unitsOf(row, params);
}

/** What a call of a row costs us, in cents; null where the row does not say. */
export function rowUpstreamCents(row: TableEndpoint | null, params: Params): number | null {
  return row?.upstreamCents === undefined ? null : row.upstreamCents * unitsOf(row, params);
}
