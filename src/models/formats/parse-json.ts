// Parses the bytes of a body as JSON, and builds the errors for invalid bodies.
import { GatewayError } from "../../core/errors.ts";
import type { FieldIssue } from "../../core/field-issues.ts";
import { readJson } from "../../core/json-bytes.ts";
import { parseRaw } from "../../core/raw-json.ts";

const ISSUES_SHOWN_MAX = 20;

/** An error for the field `param`; empty: for the body itself. */
export function invalid(param: string, detail: string): GatewayError {
  const named = param === "" ? {} : { param };
  return new GatewayError("bad_request", { ...named, detail: `${param || "body"}: ${detail}` });
}

/** An error that names the first wrong field and has the others in its data. */
export function schemaError(issues: readonly FieldIssue[]): GatewayError {
  const fields = issues.slice(0, ISSUES_SHOWN_MAX).map(({ path, message }) => ({ field: path, message }));
  const { field, message } = fields[0] ?? { field: "", message: "is not valid" };
  return new GatewayError("bad_request", {
    ...(field === "" ? {} : { param: field }),
    detail: `${field || "body"}: ${message}`,
    data: { fields },
  });
}

/** The body as JSON. Tool-call arguments keep their source text. */
export function parseJson(bytes: Buffer): unknown {
  const read = readJson(bytes, parseRaw);
  if ("json" in read) return read.json;
  throw invalid("", read.wrong);
}
