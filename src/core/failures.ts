// The closed table of upstream failures: whose fault each is, and its consequences.
import type { ErrorCode } from "./errors.ts";

/** Whose fault a failed attempt was; also the metric label. */
export interface FailureRow {
  readonly fault: "caller" | "policy" | "provider" | "gateway";
  /** Whether the next route may be tried. `once`: only one more, which may accept what the first refused. */
  readonly nextRoute: boolean | "once";
  /** The same route may be tried once more (reads only). */
  readonly sameRoute?: true;
  /** It counts against the route's health. */
  readonly rests?: true;
  /** The caller's error code once no route is left. */
  readonly code: ErrorCode;
  /** The caller gets the fields of the vendor's body as the error's `data`, because the caller has to act on it. */
  readonly passesBody?: true;
}

const ROWS = {
  caller_invalid: { fault: "caller", nextRoute: "once", code: "upstream_rejected" },
  caller_context_length: { fault: "caller", nextRoute: true, code: "context_length_exceeded" },
  caller_unsupported: { fault: "caller", nextRoute: true, code: "upstream_rejected" },
  caller_unverified: { fault: "caller", nextRoute: false, code: "verification_required", passesBody: true },
  caller_cancelled: { fault: "caller", nextRoute: false, code: "upstream_error" },
  policy_content: { fault: "policy", nextRoute: false, code: "content_policy_violation" },
  provider_auth_failed: { fault: "provider", nextRoute: true, rests: true, code: "upstream_not_configured" },
  provider_billing: { fault: "provider", nextRoute: true, rests: true, code: "upstream_not_configured" },
  provider_model_missing: { fault: "provider", nextRoute: true, rests: true, code: "upstream_not_configured" },
  provider_rate_limited: { fault: "provider", nextRoute: true, sameRoute: true, rests: true, code: "upstream_error" },
  /** The vendor limits our concurrency. Neither the vendor nor the call is at fault. */
  provider_busy: { fault: "provider", nextRoute: true, code: "upstream_busy" },
  provider_overloaded: { fault: "provider", nextRoute: true, rests: true, code: "upstream_error" },
  provider_server_error: { fault: "provider", nextRoute: true, sameRoute: true, rests: true, code: "upstream_error" },
  provider_connection_failed: {
    fault: "provider",
    nextRoute: true,
    sameRoute: true,
    rests: true,
    code: "upstream_error",
  },
  provider_timeout: { fault: "provider", nextRoute: true, rests: true, code: "upstream_error" },
  provider_cut: { fault: "provider", nextRoute: true, sameRoute: true, rests: true, code: "upstream_error" },
  /** The vendor did its work and charges for it: try one more paid route, and no third. */
  provider_malformed: { fault: "provider", nextRoute: "once", rests: true, code: "upstream_error" },
  /** A whole answer without content. The request may be the reason, so the route's health does not suffer. */
  provider_empty: { fault: "provider", nextRoute: "once", code: "upstream_error" },
  /** A whole answer that does not match the schema that the prompt described: try once more. */
  provider_unfit: { fault: "provider", nextRoute: "once", sameRoute: true, code: "upstream_error" },
  /** The operator's own proxy failed. The vendor is not at fault, and another may be reachable without the proxy. */
  gateway_proxy_failed: { fault: "gateway", nextRoute: true, sameRoute: true, code: "upstream_error" },
  gateway_deadline: { fault: "gateway", nextRoute: false, code: "upstream_error" },
  gateway_stopped: { fault: "gateway", nextRoute: false, code: "upstream_error" },
  gateway_lost_race: { fault: "gateway", nextRoute: false, code: "upstream_error" },
  gateway_internal: { fault: "gateway", nextRoute: false, code: "internal_error" },
} as const satisfies Record<string, FailureRow>;

export type FailureKind = keyof typeof ROWS;

/** The one classification of upstream failures: decides fallback, rest, status, code and metric label. */
export const FAILURES: Readonly<Record<FailureKind, FailureRow>> = ROWS;
