// Ends an event stream or an open socket once its caller would no longer be admitted: the key may have been revoked, or the person may have
// signed out. docs/internals/failures.md lists all long-lived connections.
import type { Endpoint, GatewayRequest } from "../../core/endpoint.ts";
import { type ErrorCode, GatewayError } from "../../core/errors.ts";
import type { Caller } from "../../core/plan.ts";
import { callerOf, fromElsewhere } from "./admit.ts";
import type { ServeDeps } from "./deps.ts";

const EVERY_MS = 1_000;
/** Refusals that are not the caller's fault. */
const NOT_THE_CALLERS: readonly ErrorCode[] = ["ledger_unavailable", "rate_limited"];

export interface LetIn {
  readonly request: GatewayRequest;
  readonly endpoint: Endpoint;
  /** The caller when the request arrived. */
  readonly caller: Caller;
}

/** Checks every second, and calls `ended` at each failed check, until the returned function is called. */
export function whileGood(letIn: LetIn, deps: ServeDeps, ended: () => void): () => void {
  let isChecking = false;
  async function check(): Promise<void> {
    if (isChecking) return;
    isChecking = true;
    // While the store is down, end nothing.
    const isGood = await isStillGood(letIn, deps).catch(() => true);
    isChecking = false;
    if (!isGood) ended();
  }
  const timer = setInterval(() => void check(), EVERY_MS).unref();
  return () => clearInterval(timer);
}

async function isStillGood({ request, endpoint, caller }: LetIn, deps: ServeDeps): Promise<boolean> {
  const now = await callerOf(request, endpoint, deps);
  if (now instanceof GatewayError) return NOT_THE_CALLERS.includes(now.code);
  const runId = request.headers.get("x-tollgate-run") ?? now.carriedRun;
  const run = runId === undefined ? null : await deps.runs.find(now.payer.accountId, runId);
  if (run !== null && run.stoppedId !== null) return false;
  const isStopped = (now.paused && !caller.paused) || (now.frozen && !caller.frozen);
  return !isStopped && fromElsewhere(now, request) === null;
}
