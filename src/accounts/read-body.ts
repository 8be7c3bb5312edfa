// Checks what came in a request against a schema, and says which fields are wrong and how.
import type { z } from "zod";
import { GatewayError } from "../errors.ts";

export interface FieldFault {
  readonly path: string;
  readonly message: string;
}

/** Reads a JSON body; an empty one counts as `{}`. The error names every field at fault. */
export function readBody<T>(schema: z.ZodType<T>, body: Buffer): T | GatewayError {
  let json: unknown;
  try {
    json = body.length === 0 ? {} : JSON.parse(body.toString("utf8"));
  } catch {
    return new GatewayError("bad_request", { detail: { detail: "The body is not valid JSON." } });
  }
  return check(schema, json);
}

/** Reads the query; of a name given twice the last counts. */
export function readQuery<T>(schema: z.ZodType<T>, query: URLSearchParams): T | GatewayError {
  return check(schema, Object.fromEntries(query));
}

function check<T>(schema: z.ZodType<T>, value: unknown): T | GatewayError {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const byPath = new Map(
    result.error.issues
      .flatMap(faults)
      .toReversed()
      .map((fault) => [fault.path, fault]),
  );
  const fields = [...byPath.values()].toReversed();
  const [first] = fields;
  const more = fields.length > 1 ? ` (and ${fields.length - 1} more, see data.fields)` : "";
  const where = first?.path ? `${first.path}: ` : "";
  return new GatewayError("bad_request", {
    detail: { detail: `${where}${first?.message ?? "The request cannot be read."}${more}` },
    data: { fields },
    ...(first?.path ? { param: first.path } : {}),
  });
}

function faults(issue: z.core.$ZodIssue): FieldFault[] {
  const path = issue.path.map(String);
  if (issue.code !== "unrecognized_keys") return [{ path: path.join("."), message: issue.message }];
  return issue.keys.map((key) => ({ path: [...path, key].join("."), message: "There is no such field here." }));
}
