// Classifies every upstream failure as a row of FAILURES.

import type { IncomingHttpHeaders } from "node:http";
import type { FailureKind } from "../core/failures.ts";
import type { AttemptFailure } from "../core/route.ts";
import type { VendorError } from "./format-kit/dialect.ts";

function seconds(text: string): number | null {
  return /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : null;
}

/** The longest wait that vendors ask for, until a daily quota is renewed. A key of ours rests this long at most. */
const WAIT_MS_MAX = 86_400_000;

/** Reads `Retry-After` (RFC 9110, 10.2.3) or `retry-after-ms`, in milliseconds from `nowMs`; null if neither is readable. */
export function retryAfterMs(headers: IncomingHttpHeaders, nowMs: number): number | null {
  const ms = askedMs(headers, nowMs);
  return ms === null ? null : Math.min(ms, WAIT_MS_MAX);
}

function askedMs(headers: IncomingHttpHeaders, nowMs: number): number | null {
  const ms = headers["retry-after-ms"];
  if (typeof ms === "string" && seconds(ms) !== null) return Number(ms);
  const after = headers["retry-after"];
  if (typeof after !== "string") return null;
  const inSeconds = seconds(after);
  if (inSeconds !== null) return inSeconds * 1000;
  const at = Date.parse(after);
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}

const CONTEXT =
  /context_length|context length|maximum context|too many tokens|prompt is too long|input is too long|context window|exceeds the maximum number of tokens/;
/** A content verdict, as error codes and as messages express it. */
const POLICY_CODE = /content_policy|content_filter|prohibited_content/;
const POLICY = /content management policy|moderation|safety|blocked/;
/** The vendor refuses a field's existence, not its value: another vendor may accept it. */
const FIELD =
  /\b(property|properties|parameters?|arguments?|fields?|keys?|inputs|schema|json payload)\b|extra_forbidden/;
const REFUSED =
  /\b(unknown|unrecognized|unsupported|unexpected|invalid|extra|extraneous|additional)\b|not (supported|permitted|allowed|a valid|a known|known)|extra_forbidden/;
/** Quoted text, where vendors repeat the caller's own names. */
const QUOTED = /"[^"]*"|'[^']*'|`[^`]*`/g;
const BILLING = /insufficient_quota|credit balance|billing|payment|insufficient balance|exceeded your current quota/;
const UNSUPPORTED = /prefill|not supported|unsupported|does not support|must end with a user|last message/;
const MODEL_MISSING = /model_not_found|model not found|no such model|does not exist|unknown model|deprecated/;
const OVERLOADED = /overloaded|capacity|unavailable|slow_down/;

/** Vendors repeat the caller's text (a tool `process_payment`), so a fault of ours needs an error code or the message's beginning. */
const OURS: readonly (readonly [kind: FailureKind, word: RegExp, beginning: RegExp])[] = [
  [
    "provider_billing",
    /insufficient_quota|billing|credit|payment/,
    /^(your credit balance|insufficient (balance|credit|quota|funds)|you exceeded your current quota|please enable billing|billing is)/,
  ],
  [
    "provider_auth_failed",
    /authentication|invalid_api_key|permission/,
    /^(api key not valid|(invalid|incorrect) api key)/,
  ],
  [
    "provider_model_missing",
    /model_not_found|model_decommissioned|invalid_model|model_deprecated/,
    /^(the )?(requested )?model\b[^:]*(not exist|not found|decommissioned|deprecated)|^(no such|unknown) model|^the provided model identifier is invalid|^\S+ is not a valid model/,
  ],
  ["provider_rate_limited", /rate_limit|resource_exhausted/, /^(too many requests|rate limit)/],
];

/** The words of a sentence, without paths and other names that contain punctuation. */
function withoutNames(said: string): string {
  const words = said.split(/[^\w.[\]]+/);
  return words.filter((word) => !/[._[]\w/.test(word)).join(" ");
}

/** Only the vendor's own words count, and none if they are about a field: a refused field may be called `safety_identifier`. */
function judgesContent({ words, message }: VendorError): boolean {
  const codes = words.join(" ").toLowerCase();
  const said = message.toLowerCase();
  if (POLICY_CODE.test(codes) || POLICY.test(codes)) return true;
  if (FIELD.test(said) && REFUSED.test(said)) return false;
  const own = said.replace(QUOTED, " ");
  return POLICY_CODE.test(own) || POLICY.test(withoutNames(own));
}

/** The fault of ours that a rejection reveals; null if the fault is the caller's. */
function oursOf(error: VendorError): FailureKind | null {
  const words = error.words.join(" ").toLowerCase();
  const message = error.message.toLowerCase();
  return OURS.find(([, word, beginning]) => word.test(words) || beginning.test(message))?.[0] ?? null;
}

/** Classifies by status alone, where the vendor's words are no more precise. */
export function byStatus(status: number): FailureKind {
  if (status === 401 || status === 403) return "provider_auth_failed";
  if (status === 402) return "provider_billing";
  if (status === 408 || status === 504 || status === 524) return "provider_timeout";
  if (status === 429) return "provider_rate_limited";
  if (status === 503 || status === 529) return "provider_overloaded";
  if (status === 404) return "provider_model_missing";
  if (status >= 500) return "provider_server_error";
  if (status >= 400) return "caller_invalid";
  return "provider_malformed";
}

/** A 404 may concern something that the caller named, not the model; then the candidate is healthy. */
const NAMED_BY_CALLER = /\b(file|document|image|container|previous response)\b/;

function kindOf(status: number, error: VendorError): FailureKind {
  const words = `${error.words.join(" ")} ${error.message}`.toLowerCase();
  if (status === 429) return BILLING.test(words) ? "provider_billing" : "provider_rate_limited";
  if (status === 400 || status === 413 || status === 422) {
    const ours = oursOf(error);
    if (ours !== null) return ours;
    if (CONTEXT.test(words)) return "caller_context_length";
    if (judgesContent(error)) return "policy_content";
    return UNSUPPORTED.test(words) ? "caller_unsupported" : "caller_invalid";
  }
  if (status === 0 || status === 200) {
    if (CONTEXT.test(words)) return "caller_context_length";
    if (BILLING.test(words)) return "provider_billing";
    if (/authentication|invalid_api_key|permission/.test(words)) return "provider_auth_failed";
    if (MODEL_MISSING.test(words)) return "provider_model_missing";
    if (judgesContent(error)) return "policy_content";
    if (/rate_limit|resource_exhausted|too many requests/.test(words)) return "provider_rate_limited";
    if (OVERLOADED.test(words)) return "provider_overloaded";
    return /invalid_request|bad_request|invalid_argument/.test(words) ? "caller_invalid" : "provider_server_error";
  }
  if (status === 403 && judgesContent(error)) return "policy_content";
  if (status === 404 && NAMED_BY_CALLER.test(words)) return "caller_unsupported";
  return byStatus(status);
}

/** Classifies a vendor's error. `status` is 200 (or 0) for an error inside a good answer or a stream. */
export function classify(status: number, error: VendorError, retryAfterMs: number | null): AttemptFailure {
  const askedMs = retryAfterMs ?? error.retryAfterMs ?? null;
  return {
    kind: kindOf(status, error),
    status,
    message: error.message,
    retryAfterMs: askedMs === null ? null : Math.min(askedMs, WAIT_MS_MAX),
  };
}
