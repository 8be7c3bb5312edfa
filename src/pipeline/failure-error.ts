// What the caller is told when every route has failed, or the one that was answering broke.
import { FAILURES, GatewayError } from "../errors.ts";
import type { AttemptFailure, AttemptRecord, Plan } from "../plan.ts";

const REJECTED_STATUSES = [400, 404, 409, 413, 422];

/** The failure that tells the caller most: one of its own making, else the last that was not our missing key. */
function telling(failures: readonly AttemptFailure[]): AttemptFailure | undefined {
  const byCaller = failures.find(({ kind }) => FAILURES[kind].fault === "caller" || FAILURES[kind].fault === "policy");
  const byUpstream = failures.findLast(({ kind }) => FAILURES[kind].code !== "upstream_not_configured");
  return byCaller ?? byUpstream ?? failures.at(-1);
}

/**
 * Turns the failures of a plan's attempts into one error. Our own retries are spent, so an SDK's would only repeat
 * them; a vendor's wait is passed on as Retry-After.
 */
export function failureError(
  plan: Plan,
  failures: readonly AttemptFailure[],
  attempts: readonly AttemptRecord[],
): GatewayError {
  const failure = telling(failures);
  const tried = attempts.map(({ provider, model, failure: kind, status, ms }) => ({
    route: `${provider}:${model}`,
    class: kind,
    status,
    ms: Math.round(ms),
  }));
  const data = { attempts: tried };
  if (failure === undefined)
    return new GatewayError("upstream_not_configured", { detail: { detail: plan.asked }, data });
  const { code, fault } = FAILURES[failure.kind];
  const fromCaller = fault === "caller" || fault === "policy";
  if (code === "upstream_rejected") {
    const status = REJECTED_STATUSES.includes(failure.status) ? failure.status : 400;
    return new GatewayError(code, { detail: { detail: failure.message }, data, status });
  }
  if (code !== "upstream_error") {
    return new GatewayError(code, { detail: { detail: fromCaller ? failure.message : plan.asked }, data });
  }
  const timedOut = failure.kind === "provider_timeout" || failure.kind === "gateway_deadline";
  const waits = failures.map(({ retryAfterMs }) => retryAfterMs).filter((ms) => ms !== null);
  return new GatewayError(code, {
    detail: { detail: failure.kind },
    data,
    status: timedOut ? plan.timedOutStatus : plan.failedStatus,
    ...(waits.length === 0 ? {} : { retryAfterSeconds: Math.min(...waits) / 1000 }),
  });
}
