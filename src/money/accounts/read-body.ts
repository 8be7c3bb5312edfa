// Checks what came in a request against a schema, and says which fields are wrong and how.
import type { z } from "zod";
import { GatewayError } from "../../core/errors.ts";
import { type FieldIssue, readFields } from "../../core/field-issues.ts";
import { readJson } from "../../core/json-bytes.ts";

/**
 * Reads a JSON body; an empty one counts as `{}`. The error names every field at fault. Broken characters are refused, since stores
 * keep all of them as one and the same: two ids that differ in nothing else would be one.
 */
export function readBody<T>(schema: z.ZodType<T>, body: Buffer): T | GatewayError {
  const sent = body.length === 0 ? { json: {} } : readJson(body);
  if ("wrong" in sent) return new GatewayError("bad_request", { detail: { detail: `body: ${sent.wrong}` } });
  const read = check(schema, sent.json);
  if (read instanceof GatewayError) return read;
  const broken = brokenTexts(read, []);
  return broken.length === 0 ? read : faultsError(broken);
}

/** What `answer` says to a body of this form, or what is wrong with it. */
export async function ofBody<T, R>(
  schema: z.ZodType<T>,
  { body: bytes }: { readonly body: Buffer },
  answer: (body: T) => R | Promise<R>,
): Promise<R | GatewayError> {
  const body = readBody(schema, bytes);
  return body instanceof GatewayError ? body : answer(body);
}

/** Texts with half a character in them, which JSON can write down as `\ud800` and UTF-8 cannot. */
function brokenTexts(value: unknown, path: readonly string[]): FieldIssue[] {
  if (typeof value === "string" && !value.isWellFormed())
    return [{ path: path.join("."), message: "must be text without half characters" }];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => brokenTexts(inner, [...path, name]));
}

/** Reads the query; of a name given twice the last counts. */
export function readQuery<T>(schema: z.ZodType<T>, query: URLSearchParams): T | GatewayError {
  return check(schema, Object.fromEntries(query));
}

function check<T>(schema: z.ZodType<T>, value: unknown): T | GatewayError {
  const read = readFields(schema, value);
  if ("data" in read) return read.data;
  const byPath = new Map(read.toReversed().map((issue) => [issue.path, issue]));
  return faultsError([...byPath.values()].toReversed());
}

function faultsError(fields: readonly FieldIssue[]): GatewayError {
  const [first] = fields;
  const more = fields.length > 1 ? ` (and ${fields.length - 1} more, see data.fields)` : "";
  const where = first?.path ? `${first.path}: ` : "";
  return new GatewayError("bad_request", {
    detail: { detail: `${where}${first?.message ?? "The request cannot be read."}${more}` },
    data: { fields },
    ...(first?.path ? { param: first.path } : {}),
  });
}
