// Errors in the messages format: its own coarse type, our stable code and the request id.
import type { ErrorCodec } from "../../../core/endpoint.ts";
import type { ErrorCode, GatewayError } from "../../../core/errors.ts";

export const WIRE = "messages";

const INVALID = "invalid_request_error";

/** Types that do not follow from the status. */
const TYPES: Readonly<Partial<Record<ErrorCode, string>>> = {
  insufficient_balance: "billing_error",
  credits_required: "billing_error",
  over_budget: "billing_error",
  api_key_limit_exceeded: "billing_error",
  budget_exceeded: "billing_error",
  max_cost_exceeded: "billing_error",
  inference_cap: "billing_error",
};

const BY_STATUS: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  410: "not_found_error",
  408: "timeout_error",
  413: "request_too_large",
  429: "rate_limit_error",
  503: "overloaded_error",
  504: "timeout_error",
  529: "overloaded_error",
};

function typeOf({ code, status }: GatewayError): string {
  return TYPES[code] ?? BY_STATUS[status] ?? (status < 500 ? INVALID : "api_error");
}

/** With these details in the refusal, clients of the format retry without the fields. */
const DETAILS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  thread: { error_code: "thread_unsupported_request", unsupported: ["thread"] },
};

function detailsOf({ code, options: { param = "" } }: GatewayError): Record<string, unknown> {
  return code === "unsupported_field" && Object.hasOwn(DETAILS, param) ? { details: DETAILS[param] } : {};
}

/** Clients of the format shorten the conversation only on this exact phrase. */
const TOO_LONG = "prompt is too long";
/** A token count; smaller numbers are parts of names and dates. */
const COUNT = /\b\d{4,9}\b/g;

/** The prompt's length and its limit, extracted from any vendor's message. */
function tooLong(text: string): string {
  const counts = (text.match(COUNT) ?? []).map(Number);
  const [most, tokens] = [Math.min(...counts), Math.max(...counts)];
  return tokens > most ? `${TOO_LONG}: ${tokens} tokens > ${most} maximum` : `${TOO_LONG}: ${text}`;
}

/** Clients react to the vendor's exact message, so it gets no prefix. */
function messageOf({ code, message, options }: GatewayError): string {
  const text = typeof options.detail === "string" ? options.detail : message;
  if (code === "context_length_exceeded") return tooLong(text);
  return code === "upstream_rejected" ? text : message;
}

/** The error object, for an answer or for the last event of a broken stream. */
export function errorJson(error: GatewayError, requestId: string): Record<string, unknown> {
  const { param, data } = error.options;
  return {
    type: "error",
    error: {
      type: typeOf(error),
      message: messageOf(error),
      code: error.code,
      hint: error.hint,
      ...(param === undefined ? {} : { param }),
      ...(data === undefined ? {} : { metadata: data }),
      ...detailsOf(error),
    },
    request_id: requestId,
  };
}

export const messagesErrors: ErrorCodec = {
  wire: WIRE,
  requestIdHeader: "request-id",
  body: (error, _balance, requestId = "") => errorJson(error, requestId),
};
