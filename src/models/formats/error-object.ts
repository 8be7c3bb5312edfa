// An error in the form of OpenAI's formats: one object, whose `code` is the contract's stable code.
import { ERRORS, type ErrorCode, type GatewayError } from "../../core/errors.ts";

/** OpenAI's coarse `type` by status. */
const BY_STATUS: Readonly<Record<number, string>> = {
  402: "insufficient_quota",
  403: "permission_denied",
  429: "rate_limit_error",
  502: "upstream_error",
};

/** Types that do not follow from the status. */
const BY_CODE: Readonly<Partial<Record<ErrorCode, string>>> = {
  upstream_busy: "rate_limit_error",
  bodies_in_flight: "rate_limit_error",
  answers_in_flight: "rate_limit_error",
  inference_cap: "insufficient_quota",
  no_summary: "upstream_error",
  upstream_error: "upstream_error",
  upstream_not_configured: "upstream_error",
};

/** OpenAI's coarse `type` of an error. */
export function errorType(code: ErrorCode): string {
  const { status } = ERRORS[code];
  return BY_CODE[code] ?? BY_STATUS[status] ?? (status < 500 ? "invalid_request_error" : "server_error");
}

/** The error object alone, as in the last chunk of a broken stream. */
export function errorObject(error: GatewayError): Record<string, unknown> {
  const { param, data } = error.options;
  return {
    message: error.message,
    type: errorType(error.code),
    param: param ?? null,
    code: error.code,
    hint: error.hint,
    ...(data === undefined ? {} : { metadata: data }),
  };
}
