// An error as OpenAI's wires tell it: one object, whose `code` is the contract's stable code.
import type { ErrorCode, GatewayError } from "../errors.ts";

const INVALID = "invalid_request_error";

/** OpenAI's coarse `type` of every error. */
export const ERROR_TYPES: Readonly<Record<ErrorCode, string>> = {
  bad_request: INVALID,
  bad_url: INVALID,
  onescrape_social: INVALID,
  onescrape_document: INVALID,
  onefind_identifier: INVALID,
  unsupported_field: INVALID,
  upstream_rejected: INVALID,
  context_length_exceeded: INVALID,
  content_policy_violation: INVALID,
  previous_response_not_found: INVALID,
  invalid_token: INVALID,
  insufficient_balance: "insufficient_quota",
  credits_required: "insufficient_quota",
  over_budget: "insufficient_quota",
  api_key_limit_exceeded: "insufficient_quota",
  max_cost_exceeded: "insufficient_quota",
  max_cost_required: "insufficient_quota",
  key_paused: "permission_denied",
  account_frozen: "permission_denied",
  key_not_allowed: "permission_denied",
  verification_required: "permission_denied",
  link_invalid: "permission_denied",
  key_cannot_mint_keys: "permission_denied",
  not_found: INVALID,
  model_not_found: INVALID,
  method_not_allowed: INVALID,
  gone: INVALID,
  request_timeout: INVALID,
  idempotency_in_progress: INVALID,
  replay_unavailable: INVALID,
  outcome_unknown: INVALID,
  session_closed: INVALID,
  conflict: INVALID,
  too_many_keys: INVALID,
  upstream_busy: "rate_limit_error",
  body_too_large: INVALID,
  storage_quota_exceeded: INVALID,
  unsupported_media: INVALID,
  no_summary: "upstream_error",
  idempotency_mismatch: INVALID,
  rate_limited: "rate_limit_error",
  bodies_in_flight: "rate_limit_error",
  answers_in_flight: "rate_limit_error",
  concurrency_limit: "rate_limit_error",
  too_many_streams: "rate_limit_error",
  session_busy: "rate_limit_error",
  too_many_inflight: "rate_limit_error",
  unpaid_costs: "rate_limit_error",
  inference_cap: "insufficient_quota",
  upstream_error: "upstream_error",
  all_blocked: "upstream_error",
  no_people: "upstream_error",
  internal_error: "server_error",
  upstream_not_configured: "upstream_error",
  ledger_unavailable: "server_error",
  storage_unavailable: "server_error",
  clock_skew: "server_error",
  draining: "server_error",
};

/** The error object alone, as it also stands in the last chunk of a broken stream. */
export function errorObject(error: GatewayError): Record<string, unknown> {
  const { param, data } = error.options;
  return {
    message: error.message,
    type: ERROR_TYPES[error.code],
    param: param ?? null,
    code: error.code,
    hint: error.hint,
    ...(data === undefined ? {} : { metadata: data }),
  };
}
