// Validates a body's types and bounds against its field table. A valid body allocates nothing.

import type { FieldIssue } from "../../core/field-issues.ts";
import { isRecord, type Json } from "../../core/json.ts";
import { type Field, type FieldType, fieldFor } from "./field-table.ts";
import { type KnownBody, keepKnown } from "./known-fields.ts";
import { schemaError } from "./parse-json.ts";

const NONE: readonly FieldIssue[] = [];
/** A long list of bad items has as many issues; more than this are useless. */
const ISSUES_MAX = 100;

const KIND_WORDS = {
  string: "a string",
  number: "a number",
  boolean: "true or false",
  list: "a list",
  object: "an object",
} as const;

function isOfKind(value: unknown, kind: keyof typeof KIND_WORDS | undefined): boolean {
  if (kind === "list") return Array.isArray(value);
  if (kind === "object") return isRecord(value);
  return kind === "number" ? Number.isFinite(value) : typeof value === kind;
}

function isAllowed(value: unknown, { kinds, oneOf }: FieldType): boolean {
  if (oneOf !== undefined) return oneOf.includes(value as string);
  for (let at = 0; at < kinds.length; at++) if (isOfKind(value, kinds[at])) return true;
  return kinds.length === 0;
}

/** The error for a value of the wrong kind, such as `must be a string`. */
function wrongKind(value: unknown, { kinds: [kind = "string"], oneOf, message }: FieldType): string {
  if (message !== undefined) return message;
  const right = oneOf === undefined ? KIND_WORDS[kind] : `${oneOf.length > 1 ? "one of " : ""}${oneOf.join(", ")}`;
  return `${value === undefined ? "is missing, " : ""}must be ${right}`;
}

function wrongSize(size: number, unit: string, { min = 0, max = Number.POSITIVE_INFINITY }: FieldType): string | null {
  if (size < min && min === 1) return "must not be empty";
  if (size >= min && size <= max) return null;
  const [side, bound] = size < min ? ["least", min] : ["most", max];
  return `must have at ${side} ${bound} ${unit}${bound === 1 ? "" : "s"}`;
}

function wrongNumber(value: number, type: FieldType): string | null {
  if (type.isWhole && !Number.isInteger(value)) return "must be a whole number";
  const most = type.isWhole ? Number.MAX_SAFE_INTEGER : Number.POSITIVE_INFINITY;
  const max = Math.abs(value) > most ? most : (type.max ?? most);
  const min = Math.abs(value) > most ? -most : (type.min ?? -most);
  return value < min ? `must be at least ${min}` : value > max ? `must be at most ${max}` : null;
}

/** The size error for a value of the right kind; null if none. */
function wrongBound(value: unknown, type: FieldType): string | null {
  if (typeof value === "number") return wrongNumber(value, type);
  if (Array.isArray(value)) return wrongSize(value.length, "item", type);
  // Where a list is allowed too, the bounds apply to the list.
  return typeof value === "string" && type.kinds.length === 1 ? wrongSize(value.length, "character", type) : null;
}

function under(name: string | number, issues: readonly FieldIssue[]): readonly FieldIssue[] {
  return issues.map((issue) => ({ ...issue, path: issue.path === "" ? String(name) : `${name}.${issue.path}` }));
}

function joined(found: readonly FieldIssue[], more: readonly FieldIssue[]): readonly FieldIssue[] {
  if (more.length === 0) return found;
  return found.length === 0 ? more : [...found, ...more];
}

function issuesInList(values: readonly unknown[], items: Field): readonly FieldIssue[] {
  let found = NONE;
  for (let at = 0; at < values.length && found.length < ISSUES_MAX; at++) {
    const issues = issuesIn(values[at], items);
    if (issues.length > 0) found = joined(found, under(at, issues));
  }
  return found;
}

/** The error for an unknown discriminator value of an object; null if it is known. */
function wrongWord(object: Record<string, unknown>, { by, type }: Field, field: Field | "unknown"): string | null {
  if (by === null || by.missing !== null || type === null || typeof object[by.field] === "string") return null;
  if (field !== "unknown" && field.fields?.get(by.field)?.type) return null;
  return wrongKind(object[by.field], { kinds: ["string"] });
}

function issuesInObject(object: Record<string, unknown>, general: Field): readonly FieldIssue[] {
  const field = fieldFor(object, general);
  const message = wrongWord(object, general, field);
  let found = message === null ? NONE : [{ path: general.by?.field ?? "", message }];
  if (field === "unknown") return found;
  const { typed } = field;
  for (let at = 0; at < typed.length; at++) {
    const inner = typed[at];
    if (inner === undefined) continue;
    const issues = issuesIn(object[inner.name], inner.field);
    if (issues.length > 0) found = joined(found, under(inner.name, issues));
  }
  return found;
}

/** The issues of a value, by field; each says what would be valid. */
export function issuesIn(value: unknown, field: Field): readonly FieldIssue[] {
  const { type, items } = field;
  if (value === undefined || value === null)
    return type?.required ? [{ path: "", message: wrongKind(value, type) }] : NONE;
  const message = type === null ? null : isAllowed(value, type) ? wrongBound(value, type) : wrongKind(value, type);
  if (message !== null) return [{ path: "", message }];
  let found = NONE;
  if (Array.isArray(value)) {
    if (items?.hasTypes) found = issuesInList(value, items);
  } else if (typeof value === "object" && field.hasTypes) {
    found = issuesInObject(value as Record<string, unknown>, field);
  }
  if (type?.check !== undefined) found = joined(found, type.check(value));
  // Where several kinds are allowed, only the first issue is reported.
  return type !== null && type.kinds.length > 1 && found.length > 1 ? found.slice(0, 1) : found;
}

/** The known fields of a body. Throws for the first wrong or refused field. */
export function readBody<Body extends Json>(sent: unknown, table: Field, isClosed = false): KnownBody<Body> {
  if (!isRecord(sent)) throw schemaError([{ path: "", message: "must be an object" }]);
  const known = keepKnown(sent, table, isClosed);
  const issues = issuesIn(known.body, table);
  if (issues.length > 0) throw schemaError(issues);
  if (known.refused !== null) throw known.refused;
  return known as KnownBody<Body>;
}
