// The closed table of upstream failures: whose fault each is, and what follows from it.
import type { ErrorCode } from "./errors.ts";

/** Whose fault a failed attempt was, in one word that is also the metric label. */
export interface FailureRow {
  readonly fault: "caller" | "policy" | "provider" | "gateway";
  /** Whether the next route may be tried; `once`: one more, which may take what the first refuses, or do better for its price. */
  readonly nextRoute: boolean | "once";
  /** The same route may be asked once more (reads only). */
  readonly sameRoute?: true;
  /** It counts against the route's health. */
  readonly rests?: true;
  /** What the caller is told when no route is left. */
  readonly code: ErrorCode;
  /** The vendor's body is the caller's, who has to act on it: its fields are those of the error's `data`. */
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
  /** It takes fewer calls of ours at once, whosever they are: nothing is wrong with it, nor with the call. */
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
  /** The vendor has done its work and takes its price: one more route may be paid for the same call, and no third. */
  provider_malformed: { fault: "provider", nextRoute: "once", rests: true, code: "upstream_error" },
  /** A whole answer without a word. What was asked may be why, so it says nothing against the route. */
  provider_empty: { fault: "provider", nextRoute: "once", code: "upstream_error" },
  /** A whole answer that does not fit the schema which its route was told in words: it may be asked once more. */
  provider_unfit: { fault: "provider", nextRoute: "once", sameRoute: true, code: "upstream_error" },
  /** The operator's own proxy: nothing is wrong with the vendor, and another may be reached without it. */
  gateway_proxy_failed: { fault: "gateway", nextRoute: true, sameRoute: true, code: "upstream_error" },
  gateway_deadline: { fault: "gateway", nextRoute: false, code: "upstream_error" },
  gateway_stopped: { fault: "gateway", nextRoute: false, code: "upstream_error" },
  gateway_lost_race: { fault: "gateway", nextRoute: false, code: "upstream_error" },
  gateway_internal: { fault: "gateway", nextRoute: false, code: "internal_error" },
} as const satisfies Record<string, FailureRow>;

export type FailureKind = keyof typeof ROWS;

/** The one classification of upstream failures: it drives fallback, rest, status, code and the metric label. */
export const FAILURES: Readonly<Record<FailureKind, FailureRow>> = ROWS;
