// Errors in the generate-content format (google.rpc.Status): a number, its name, and details with our stable code.
import type { ErrorCodec } from "../../../core/endpoint.ts";
import type { GatewayError } from "../../../core/errors.ts";

export const WIRE = "generate-content";

/** The name for each status (google.rpc.Code, as HTTP maps it). */
const WORDS: Readonly<Record<number, string>> = {
  401: "UNAUTHENTICATED",
  402: "FAILED_PRECONDITION",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  408: "DEADLINE_EXCEEDED",
  409: "ABORTED",
  410: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  504: "DEADLINE_EXCEEDED",
};

function wordOf(status: number): string {
  return WORDS[status] ?? (status < 500 ? "INVALID_ARGUMENT" : "UNAVAILABLE");
}

/** The error object, for an answer or for the last event of a broken stream. */
export function errorJson(error: GatewayError): Record<string, unknown> {
  const { code, status, message, hint, options } = error;
  const { param, data, retryAfterSeconds } = options;
  const metadata = { code, hint, param, ...data };
  const info = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: code, domain: "tollgate", metadata };
  const retry = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${retryAfterSeconds}s` };
  const details = retryAfterSeconds === undefined ? [info] : [info, retry];
  return { error: { code: status, message, status: wordOf(status), details } };
}

export const generateContentErrors: ErrorCodec = { wire: WIRE, body: errorJson };
