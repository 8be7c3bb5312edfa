// Validates the body or the query of a request against a schema. Throws an error that lists every invalid field.
import type { z } from "zod";
import { GatewayError } from "../../core/errors.ts";
import { type FieldIssue, readFields } from "../../core/field-issues.ts";
import { readJson } from "../../core/json-bytes.ts";

/** Parses a JSON body; empty is `{}`. Refuses broken characters: stores replace all by the same one, so ids could become equal. */
export function readBody<T>(schema: z.ZodType<T>, body: Buffer): T {
  const sent = body.length === 0 ? { json: {} } : readJson(body);
  if ("wrong" in sent) throw new GatewayError("bad_request", { detail: `body: ${sent.wrong}` });
  const read = check(schema, sent.json);
  const broken = brokenTexts(read, []);
  if (broken.length > 0) throw faultsError(broken);
  return read;
}

/** Texts with a lone surrogate, which JSON can write as `\ud800` and UTF-8 cannot. */
function brokenTexts(value: unknown, path: readonly string[]): FieldIssue[] {
  if (typeof value === "string" && !value.isWellFormed())
    return [{ path: path.join("."), message: "must be text without half characters" }];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => brokenTexts(inner, [...path, name]));
}

/** Parses the query; of repeated names the last counts. */
export function readQuery<T>(schema: z.ZodType<T>, query: URLSearchParams): T {
  return check(schema, Object.fromEntries(query));
}

function check<T>(schema: z.ZodType<T>, value: unknown): T {
  const read = readFields(schema, value);
  if ("data" in read) return read.data;
  const byPath = new Map(read.toReversed().map((issue) => [issue.path, issue]));
  throw faultsError([...byPath.values()].toReversed());
}

function faultsError(fields: readonly FieldIssue[]): GatewayError {
  const [first] = fields;
  const more = fields.length > 1 ? ` (and ${fields.length - 1} more, see data.fields)` : "";
  const where = first?.path ? `${first.path}: ` : "";
  return new GatewayError("bad_request", {
    detail: `${where}${first?.message ?? "The request cannot be read."}${more}`,
    data: { fields },
    ...(first?.path ? { param: first.path } : {}),
  });
}
