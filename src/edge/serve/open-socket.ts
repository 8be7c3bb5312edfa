// Lets a caller with a valid key open a socket, which counts as one request. Each message on it is admitted separately.
import type { Endpoint, GatewayRequest } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Caller } from "../../core/plan.ts";
import { callerOf, fromElsewhere, tooMany } from "./admit.ts";
import type { ServeDeps } from "./deps.ts";
import { whileGood } from "./still-good.ts";

/** The logged status of a request that became a socket (RFC 9110, 15.2.2). */
const SWITCHING_PROTOCOLS = 101;

export interface Opened {
  readonly accountId: string;
  readonly socketsMax: number;
  /** Checks the key every second, and calls `ended` while the key could not open a socket, until the returned function is called. */
  watch(ended: () => void): () => void;
}

/**
 * Pages of any origin may open a socket, since only a key authenticates it: cookies are ignored. Payments without a key are refused,
 * because they pay for a single call. `refuseAtEdge` counts refused requests.
 */
export function openSocket(
  request: GatewayRequest,
  endpoint: Endpoint,
  deps: ServeDeps,
): Opened | GatewayError | Promise<Opened | GatewayError> {
  if (deps.draining()) return new GatewayError("draining", { retryAfterSeconds: 1 });
  const known = callerOf(request, endpoint, deps);
  const count = (caller: Caller | GatewayError) =>
    caller instanceof GatewayError ? caller : counted(request, endpoint, caller, deps);
  return known instanceof Promise ? known.then(count) : count(known);
}

function counted(request: GatewayRequest, endpoint: Endpoint, caller: Caller, deps: ServeDeps): Opened | GatewayError {
  const elsewhere = fromElsewhere(caller, request);
  if (elsewhere !== null) return elsewhere;
  const { payer, sandbox, requestsPerMinute, inFlightMax } = caller;
  const { accountId, keyId } = payer;
  const state = deps.takeWindow("account", accountId, requestsPerMinute);
  if (!state.allowed) return tooMany(state);
  const { id: requestId, method, startedMs } = request;
  const record = deps.observer.begin({ requestId, method, startedMs });
  const known = { endpoint: endpoint.path, status: SWITCHING_PROTOCOLS, accountId, keyId, sandbox };
  deps.observer.end(Object.assign(record, known));
  const watch = (ended: () => void) => whileGood({ request, endpoint, caller }, deps, ended);
  return { accountId, socketsMax: inFlightMax, watch };
}
