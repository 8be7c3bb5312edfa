// What is wrong with the fields of a body, as an error.
import { GatewayError } from "../../core/errors.ts";
import type { FieldIssue } from "../../core/field-issues.ts";

const ISSUES_SHOWN_MAX = 20;

/** The first thing wrong with a body, as an error that names the field. */
export function schemaError(issues: readonly FieldIssue[]): GatewayError {
  const fields = issues.slice(0, ISSUES_SHOWN_MAX).map(({ path, message }) => ({ field: path, message }));
  const { field, message } = fields[0] ?? { field: "", message: "is not valid" };
  return new GatewayError("bad_request", {
    ...(field === "" ? {} : { param: field }),
    detail: { detail: `${field || "body"}: ${message}` },
    data: { fields },
  });
}
