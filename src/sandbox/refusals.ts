// The sandbox's refusals: one row per reason, with the wording of each dialect.

interface RefusalRow {
  readonly status: number;
  readonly message: string;
  readonly chatCompletions: { readonly type: string; readonly code: string | null; readonly message?: string };
  readonly messages: { readonly type: string; readonly message?: string };
  readonly generateContent: { readonly status: string; readonly message?: string };
}

const INVALID = "invalid_request_error";

export const REFUSALS = {
  rate_limited: {
    status: 429,
    message: "Rate limit reached for requests.",
    chatCompletions: { type: "requests", code: "rate_limit_exceeded" },
    messages: { type: "rate_limit_error" },
    generateContent: { status: "RESOURCE_EXHAUSTED" },
  },
  server_error: {
    status: 500,
    message: "The server had an error while processing the request.",
    chatCompletions: { type: "server_error", code: null },
    messages: { type: "api_error" },
    generateContent: { status: "INTERNAL" },
  },
  overloaded: {
    status: 503,
    message: "The model is overloaded. Please try again later.",
    chatCompletions: { type: "server_error", code: "overloaded" },
    messages: { type: "overloaded_error" },
    generateContent: { status: "UNAVAILABLE" },
  },
  bad_key: {
    status: 401,
    message: "The API key is missing or not valid.",
    chatCompletions: { type: INVALID, code: "invalid_api_key" },
    messages: { type: "authentication_error" },
    generateContent: { status: "UNAUTHENTICATED" },
  },
  no_credit: {
    status: 402,
    message: "The account's credit balance is too low.",
    chatCompletions: { type: "insufficient_quota", code: "insufficient_quota" },
    messages: { type: "billing_error" },
    generateContent: { status: "FAILED_PRECONDITION", message: "Billing is not enabled for this account." },
  },
  no_path: {
    status: 404,
    message: "There is nothing at this address.",
    chatCompletions: { type: INVALID, code: null },
    messages: { type: "not_found_error" },
    generateContent: { status: "NOT_FOUND" },
  },
  no_model: {
    status: 404,
    message: "The model does not exist.",
    chatCompletions: { type: INVALID, code: "model_not_found" },
    messages: { type: "not_found_error" },
    generateContent: { status: "NOT_FOUND" },
  },
  too_large: {
    status: 413,
    message: "The request body is too large.",
    chatCompletions: { type: INVALID, code: null },
    messages: { type: "request_too_large" },
    generateContent: { status: "INVALID_ARGUMENT" },
  },
  invalid: {
    status: 400,
    message: "The request is not valid.",
    chatCompletions: { type: INVALID, code: null },
    messages: { type: INVALID },
    generateContent: { status: "INVALID_ARGUMENT" },
  },
  context: {
    status: 400,
    message: "The prompt is too long.",
    chatCompletions: {
      type: INVALID,
      code: "context_length_exceeded",
      message: "This model's maximum context length is 8 tokens. Please reduce the length of the messages.",
    },
    messages: { type: INVALID, message: "prompt is too long: 9 tokens > 8 maximum" },
    generateContent: {
      status: "INVALID_ARGUMENT",
      message: "The input token count exceeds the maximum number of tokens allowed (8).",
    },
  },
  policy: {
    status: 400,
    message: "The request was refused by the content policy.",
    chatCompletions: { type: INVALID, code: "content_policy_violation" },
    messages: { type: INVALID, message: "Output blocked by content filtering policy" },
    generateContent: { status: "INVALID_ARGUMENT", message: "The prompt was blocked: PROHIBITED_CONTENT" },
  },
  prefill: {
    status: 400,
    message: "This model does not support assistant message prefill. The conversation must end with a user message.",
    chatCompletions: { type: INVALID, code: null },
    messages: { type: INVALID },
    generateContent: { status: "INVALID_ARGUMENT" },
  },
} as const satisfies Record<string, RefusalRow>;

export type RefusalKind = keyof typeof REFUSALS;

/** Why a request is refused. `message` and `param` describe the fault of an invalid request. */
export interface Refusal {
  readonly kind: RefusalKind;
  readonly status?: number | undefined;
  readonly message?: string | undefined;
  readonly param?: string | undefined;
  /** The Retry-After header, in seconds. */
  readonly retryAfterS?: number | undefined;
}

export function refusalStatus(refusal: Refusal): number {
  return refusal.status ?? REFUSALS[refusal.kind].status;
}

export function refusalWords<Dialect extends "chatCompletions" | "messages" | "generateContent">(
  refusal: Refusal,
  dialect: Dialect,
): RefusalRow[Dialect] & { readonly message: string } {
  const row: RefusalRow = REFUSALS[refusal.kind];
  return { ...row[dialect], message: refusal.message ?? row[dialect].message ?? row.message };
}
