// The first checks of every request: address window, credential, account window; what is counted is told in the reply.

import type { EndpointShape, GatewayRequest, Reply } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Caller } from "../../core/plan.ts";
import { addressWindowKey } from "../../platform/limits/address-window-key.ts";
import type { WindowState } from "../../platform/limits/request-windows.ts";
import type { Answering } from "./answering.ts";
import type { ServeDeps } from "./deps.ts";
import { ToldWindow } from "./told-window.ts";

export function tooMany({ limit, windowSeconds, resetSeconds }: WindowState): GatewayError {
  const detail = { limit, window_seconds: windowSeconds };
  return new GatewayError("rate_limited", { detail, retryAfterSeconds: resetSeconds });
}

/** Counts a request without a good credential against its address. Null: it may go on. */
export function takeAddress(request: GatewayRequest, told: ToldWindow, deps: ServeDeps): GatewayError | null {
  const key = addressWindowKey(request.address);
  const state = told.learn(deps.takeWindow("address", key, deps.addressRequestsPerMinute));
  return state.allowed ? null : tooMany(state);
}

/** What the address has left, for an answer that is not counted. */
function lookAtAddress(request: GatewayRequest, told: ToldWindow, deps: ServeDeps): void {
  told.learn(deps.peekWindow("address", addressWindowKey(request.address), deps.addressRequestsPerMinute));
}

/** The headers of every reply on one that the transport makes by itself. */
export function tellAddress(request: GatewayRequest, reply: Reply, deps: ServeDeps): void {
  const told = new ToldWindow(reply);
  lookAtAddress(request, told, deps);
  told.tell();
}

/**
 * Whether a caller without a key may ask what a call costs, and pay for it some other way. Where a session counts as a caller, the account
 * pays or the request is refused.
 */
export function isStranger(
  endpoint: EndpointShape,
  headers: GatewayRequest["headers"],
  { stranger }: ServeDeps,
): boolean {
  if (stranger === null || endpoint.auth !== "key" || endpoint.cookies === true || !("plan" in endpoint)) return false;
  return !headers.has("authorization") && stranger.takes(headers) !== null;
}

/** Who calls: by the Authorization header, or where there is none and a person has signed in, by the cookie. */
export function callerOf(
  request: GatewayRequest,
  endpoint: EndpointShape,
  deps: ServeDeps,
): Caller | GatewayError | Promise<Caller | GatewayError> {
  const authorization = request.headers.get("authorization");
  const bySession = authorization === undefined && endpoint.cookies === true && request.headers.has("cookie");
  if (bySession && deps.signedIn !== undefined) return deps.signedIn(request);
  return deps.authenticate(authorization, request);
}

export function wrongAdminToken(): GatewayError {
  return new GatewayError("invalid_token", { of: "admin", detail: { detail: "The admin token is missing or wrong." } });
}

/**
 * Lets a request in: the caller, or null where the endpoint needs none. An address is counted only for requests
 * without a good key, so that a busy customer behind one address is bounded by its account alone. Where the key is known there is nothing
 * to wait for.
 */
export function admit(
  request: GatewayRequest,
  endpoint: EndpointShape,
  { window: told, record }: Pick<Answering, "window" | "record">,
  deps: ServeDeps,
): Caller | null | GatewayError | Promise<Caller | null | GatewayError> {
  const authorization = request.headers.get("authorization");
  if (endpoint.auth !== "key") {
    // A probe that watches the gateway, or one with its own token, is not a stranger whose requests are counted.
    if (endpoint.auth === "none" ? endpoint.watch === true : deps.isAdmin(authorization)) {
      lookAtAddress(request, told, deps);
      return null;
    }
    if (endpoint.auth === "none") return takeKnown(request, { window: told, record }, deps);
    return takeAddress(request, told, deps) ?? wrongAdminToken();
  }
  if (deps.draining()) {
    lookAtAddress(request, told, deps);
    return new GatewayError("draining", { retryAfterSeconds: 1 });
  }
  if (isStranger(endpoint, request.headers, deps)) return takeAddress(request, told, deps);
  const count = (caller: Caller | GatewayError): Caller | GatewayError => {
    // That the ledger is away says nothing against the key, nor against its sender.
    if (caller instanceof GatewayError && caller.code === "ledger_unavailable") {
      lookAtAddress(request, told, deps);
      return caller;
    }
    if (caller instanceof GatewayError) return takeAddress(request, told, deps) ?? caller;
    record.accountId = caller.payer.accountId;
    record.keyId = caller.payer.keyId;
    record.sandbox = caller.sandbox;
    const elsewhere = fromElsewhere(caller, request);
    if (elsewhere !== null) return takeAddress(request, told, deps) ?? elsewhere;
    return takeAccount(caller, told, deps);
  };
  const known = callerOf(request, endpoint, deps);
  return known instanceof Promise ? known.then(count) : count(known);
}

/** A key that is used from where its owner does not want it to be used is as good as none, and counts so. Null: it may be used from there. */
export function fromElsewhere({ isFrom }: Caller, request: GatewayRequest): GatewayError | null {
  if (isFrom === undefined || isFrom(request.address)) return null;
  return new GatewayError("address_not_allowed", { detail: { address: request.address } });
}

/** Counts a request with a good key against its account. */
function takeAccount(caller: Caller, told: ToldWindow, deps: ServeDeps): Caller | GatewayError {
  const state = told.learn(deps.takeWindow("account", caller.payer.accountId, caller.requestsPerMinute));
  return state.allowed ? caller : tooMany(state);
}

/**
 * Counts a request that needs no key: a caller with a good one is counted as always and comes back as the caller, any other is a stranger.
 * Without a key there is nothing to wait for.
 */
export function takeKnown(
  request: GatewayRequest,
  { window: told, record }: Pick<Answering, "window" | "record">,
  deps: ServeDeps,
): Caller | GatewayError | null | Promise<Caller | GatewayError | null> {
  const authorization = request.headers.get("authorization");
  const count = (known: Caller | GatewayError): Caller | GatewayError | null => {
    if (known instanceof GatewayError || fromElsewhere(known, request) !== null)
      return takeAddress(request, told, deps);
    const taken = takeAccount(known, told, deps);
    if (taken instanceof GatewayError) record.accountId = known.payer.accountId;
    return taken;
  };
  if (authorization === undefined) return takeAddress(request, told, deps);
  const known = deps.authenticate(authorization, request);
  return known instanceof Promise ? known.then(count) : count(known);
}
