// The first checks of every request: address window, credential, account window; and the RateLimit headers of the reply.
import { GatewayError } from "../errors.ts";
import type { Caller, EndpointShape, GatewayRequest, Reply } from "../plan.ts";
import type { PipelineDeps, WindowVerdict } from "./deps.ts";

const WINDOW_SECONDS = 60;

function rateLimitHeaders(reply: Reply, verdict: WindowVerdict): void {
  reply.header("ratelimit-limit", String(verdict.limit));
  reply.header("ratelimit-remaining", String(verdict.remaining));
  reply.header("ratelimit-reset", String(verdict.resetSeconds));
  reply.header("ratelimit-policy", `${verdict.limit};w=${WINDOW_SECONDS}`);
}

function tooMany(verdict: WindowVerdict): GatewayError {
  return new GatewayError("rate_limited", {
    detail: { limit: verdict.limit, window_seconds: WINDOW_SECONDS },
    retryAfterSeconds: verdict.resetSeconds,
  });
}

/** Counts a request without a good credential against its address. Null: it may go on. */
function takeAddress(request: GatewayRequest, reply: Reply, deps: PipelineDeps): GatewayError | null {
  const verdict = deps.takeWindow("address", request.address, deps.addressRequestsPerMinute);
  rateLimitHeaders(reply, verdict);
  return verdict.allowed ? null : tooMany(verdict);
}

/**
 * Lets a request in: the caller, or null where the endpoint needs none. An address is counted only for requests
 * without a good key, so that a busy customer behind one address is bounded by its account alone.
 */
export async function admit(
  request: GatewayRequest,
  endpoint: EndpointShape,
  reply: Reply,
  deps: PipelineDeps,
): Promise<Caller | null | GatewayError> {
  if (deps.draining()) return new GatewayError("draining", { retryAfterSeconds: 1 });
  const authorization = request.headers.get("authorization");
  if (endpoint.auth !== "key") {
    const refused = takeAddress(request, reply, deps);
    if (endpoint.auth === "none") return refused;
    if (deps.isAdmin(authorization)) return null;
    return refused ?? new GatewayError("invalid_token", { detail: { detail: "The admin token is missing or wrong." } });
  }
  const known = deps.authenticate(authorization);
  const caller = known instanceof Promise ? await known : known;
  if (caller instanceof GatewayError) return takeAddress(request, reply, deps) ?? caller;
  const verdict = deps.takeWindow("account", caller.payer.accountId, caller.requestsPerMinute);
  rateLimitHeaders(reply, verdict);
  return verdict.allowed ? caller : tooMany(verdict);
}
