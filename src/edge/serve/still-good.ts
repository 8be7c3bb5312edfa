// What was let in once and lasts, such as a stream of events or an open socket, has its caller asked for again every second: its key may
// have been revoked since, or its person have signed out. docs/internals/failures.md lists all that lasts.
import type { Endpoint, GatewayRequest } from "../../core/endpoint.ts";
import { type ErrorCode, GatewayError } from "../../core/errors.ts";
import type { Caller } from "../../core/plan.ts";
import { callerOf, fromElsewhere } from "./admit.ts";
import type { ServeDeps } from "./deps.ts";

const EVERY_MS = 1_000;
/** These refusals say nothing against the caller. */
const NOT_THE_CALLERS: readonly ErrorCode[] = ["ledger_unavailable", "rate_limited"];

export interface LetIn {
  readonly request: GatewayRequest;
  readonly endpoint: Endpoint;
  /** As it was when it was let in. */
  readonly caller: Caller;
}

/** Calls `ended` as long as the caller would not be let in as before; until the answered function is called. */
export function whileGood(letIn: LetIn, deps: ServeDeps, ended: () => void): () => void {
  let isAsking = false;
  async function ask(): Promise<void> {
    if (isAsking) return;
    isAsking = true;
    // A store that is away rejects: what lasts goes on until it is back.
    const isGood = await isStillGood(letIn, deps).catch(() => true);
    isAsking = false;
    if (!isGood) ended();
  }
  const timer = setInterval(() => void ask(), EVERY_MS).unref();
  return () => clearInterval(timer);
}

async function isStillGood({ request, endpoint, caller }: LetIn, deps: ServeDeps): Promise<boolean> {
  const now = await callerOf(request, endpoint, deps);
  if (now instanceof GatewayError) return NOT_THE_CALLERS.includes(now.code);
  const isStopped = (now.paused && !caller.paused) || (now.frozen && !caller.frozen);
  return !isStopped && fromElsewhere(now, request) === null;
}
