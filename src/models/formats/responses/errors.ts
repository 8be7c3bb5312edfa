// Errors in the responses format: an object before an answer starts, two events afterwards.
import type { ErrorCodec } from "../../../core/endpoint.ts";
import type { ErrorCode, GatewayError } from "../../../core/errors.ts";
import { errorObject } from "../error-object.ts";
import { WIRE } from "./request.ts";

export const responsesErrors: ErrorCodec = { wire: WIRE, body: (error) => ({ error: errorObject(error) }) };

/** Codes that agents react to; any other error inside a stream becomes a server error. */
const STREAM_CODES: Readonly<Partial<Record<ErrorCode, string>>> = {
  context_length_exceeded: "context_length_exceeded",
  content_policy_violation: "invalid_prompt",
  upstream_rejected: "invalid_prompt",
  rate_limited: "rate_limit_exceeded",
  upstream_busy: "server_is_overloaded",
};

export function streamCode(error: GatewayError): string {
  return STREAM_CODES[error.code] ?? "server_error";
}
