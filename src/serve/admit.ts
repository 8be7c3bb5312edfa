// The first checks of every request: address window, credential, account window; what is counted is told in the reply.

import type { EndpointShape, GatewayRequest, Reply } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { addressWindowKey } from "../limits/address-window-key.ts";
import type { WindowState } from "../limits/request-windows.ts";
import type { Caller } from "../plan.ts";
import type { ServeDeps } from "./deps.ts";
import { ToldWindow } from "./told-window.ts";

function tooMany({ limit, windowSeconds, resetSeconds }: WindowState): GatewayError {
  const detail = { limit, window_seconds: windowSeconds };
  return new GatewayError("rate_limited", { detail, retryAfterSeconds: resetSeconds });
}

/** Counts a request without a good credential against its address. Null: it may go on. */
export function takeAddress(request: GatewayRequest, told: ToldWindow, deps: ServeDeps): GatewayError | null {
  const key = addressWindowKey(request.address);
  const state = told.learn(deps.takeWindow("address", key, deps.addressRequestsPerMinute));
  return state.allowed ? null : tooMany(state);
}

/** What the address has left, for an answer that counts against nobody. */
function lookAtAddress(request: GatewayRequest, told: ToldWindow, deps: ServeDeps): void {
  told.learn(deps.peekWindow("address", addressWindowKey(request.address), deps.addressRequestsPerMinute));
}

/** The headers of every reply on one that the transport makes by itself. */
export function tellAddress(request: GatewayRequest, reply: Reply, deps: ServeDeps): void {
  const told = new ToldWindow(reply);
  lookAtAddress(request, told, deps);
  told.tell();
}

/** Whether somebody without a key may ask what a call costs, and pay for it some other way. */
export function isStranger(endpoint: EndpointShape, authorization: string | undefined, deps: ServeDeps): boolean {
  return deps.stranger !== null && endpoint.auth === "key" && authorization === undefined && "plan" in endpoint;
}

export function wrongAdminToken(): GatewayError {
  return new GatewayError("invalid_token", { detail: { detail: "The admin token is missing or wrong." } });
}

/**
 * Lets a request in: the caller, or null where the endpoint needs none. An address is counted only for requests
 * without a good key, so that a busy customer behind one address is bounded by its account alone.
 */
export async function admit(
  request: GatewayRequest,
  endpoint: EndpointShape,
  told: ToldWindow,
  deps: ServeDeps,
): Promise<Caller | null | GatewayError> {
  const authorization = request.headers.get("authorization");
  if (endpoint.auth !== "key") {
    // Whoever watches the gateway, or has its own token, is not a stranger whose requests are counted.
    if (endpoint.auth === "none" ? endpoint.watch === true : deps.isAdmin(authorization)) {
      lookAtAddress(request, told, deps);
      return null;
    }
    const refused = takeAddress(request, told, deps);
    return endpoint.auth === "none" ? refused : (refused ?? wrongAdminToken());
  }
  if (deps.draining()) {
    lookAtAddress(request, told, deps);
    return new GatewayError("draining", { retryAfterSeconds: 1 });
  }
  if (isStranger(endpoint, authorization, deps)) return takeAddress(request, told, deps);
  const known = deps.authenticate(authorization, request);
  const caller = known instanceof Promise ? await known : known;
  // That the ledger is away says nothing against the key, nor against whoever sends it.
  if (caller instanceof GatewayError && caller.code === "ledger_unavailable") {
    lookAtAddress(request, told, deps);
    return caller;
  }
  if (caller instanceof GatewayError) return takeAddress(request, told, deps) ?? caller;
  const { accountId } = caller.payer;
  const state = told.learn(deps.takeWindow("account", accountId, caller.requestsPerMinute));
  return state.allowed ? caller : tooMany(state);
}
