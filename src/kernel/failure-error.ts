// Builds the caller's error when all routes have failed or an answer broke off.
import { GatewayError } from "../core/errors.ts";
import { FAILURES } from "../core/failures.ts";
import type { Plan } from "../core/plan.ts";
import type { AttemptFailure, Leg } from "../core/route.ts";
import { isRecord } from "../upstream/json-pointer.ts";

const CONFLICT = 409;
/** Retry-After for rate limits where no provider states one. */
const LIMITED_SECONDS = 5;
/** Retry-After for a busy provider that states none. */
const BUSY_SECONDS = 5;
const REJECTED_STATUSES = [400, 404, 409, 413, 422];

function isFromCaller({ kind }: AttemptFailure): boolean {
  return FAILURES[kind].fault === "caller" || FAILURES[kind].fault === "policy";
}

/** The most informative failure: first a refusal of the request; then the last provider failure; then models' limits; our keys last. */
function telling(failures: readonly AttemptFailure[]): AttemptFailure | undefined {
  const refusal = failures.find((failure) => isFromCaller(failure) && FAILURES[failure.kind].nextRoute !== true);
  const trouble = failures.findLast(
    (failure) => !isFromCaller(failure) && FAILURES[failure.kind].code !== "upstream_not_configured",
  );
  return refusal ?? trouble ?? failures.findLast(isFromCaller) ?? failures.at(-1);
}

/** The vendor's body as fields of `data`; empty where the caller must not see it. */
function bodyFields(failure: AttemptFailure | undefined): object {
  if (failure?.vendorBody === undefined) return {};
  const { passesBody } = FAILURES[failure.kind];
  const { vendorBody } = failure;
  return passesBody === true && isRecord(vendorBody) ? vendorBody : { vendor: vendorBody };
}

export type FailedPlan = Pick<Plan, "asked" | "failedStatus" | "timedOutStatus" | "limitedStatus">;

/** True if every route failed only because of a provider's limit, so that waiting helps. */
function isLimited(failures: readonly AttemptFailure[]): boolean {
  return failures.length > 0 && failures.every(({ kind }) => kind === "provider_rate_limited");
}

/** One error of a plan's failures. Our retries are spent, so an SDK's would only repeat them; a vendor's wait becomes Retry-After. */
export function failureError(
  plan: FailedPlan,
  failures: readonly AttemptFailure[],
  legs: readonly Leg[],
): GatewayError {
  const failure = telling(failures);
  const tried = legs.map(({ provider, model, failure: kind, status, ms }) => ({
    route: `${provider}:${model}`,
    class: kind,
    status,
    ms: Math.round(ms),
  }));
  const data = { attempts: tried, ...bodyFields(failure) };
  if (failure?.told !== undefined) return failure.told;
  if (failure === undefined) return new GatewayError("upstream_not_configured", { detail: plan.asked, data });
  const { code } = FAILURES[failure.kind];
  const waits = failures.map(({ retryAfterMs }) => retryAfterMs).filter((ms) => ms !== null);
  const retryAfter = waits.length === 0 ? {} : { retryAfterSeconds: Math.min(...waits) / 1000 };
  if (code === "upstream_rejected") {
    const status = REJECTED_STATUSES.includes(failure.status) ? failure.status : 400;
    // An overloaded vendor answers with a conflict: the same call can succeed once other calls have ended.
    const retry = status === CONFLICT ? { retry: true, ...retryAfter } : {};
    return new GatewayError(code, { detail: failure.message, data, status, ...retry });
  }
  if (code !== "upstream_error") {
    const detail = isFromCaller(failure) ? failure.message : plan.asked;
    const again = code === "upstream_busy" ? { retryAfterSeconds: BUSY_SECONDS, ...retryAfter } : {};
    return new GatewayError(code, { detail, data, ...again });
  }
  const { limitedStatus } = plan;
  const isWait = limitedStatus !== undefined && isLimited(failures);
  const limited = isWait ? { status: limitedStatus, retryAfterSeconds: LIMITED_SECONDS, ...retryAfter } : {};
  const timedOut = failure.kind === "provider_timeout" || failure.kind === "gateway_deadline";
  return new GatewayError(code, {
    detail: failure.kind,
    data,
    status: timedOut ? plan.timedOutStatus : plan.failedStatus,
    ...retryAfter,
    ...limited,
  });
}
