// Admits a request: counts it against its address or its account, and finds its caller.
import type { EndpointShape, GatewayRequest, Reply } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Caller } from "../../core/plan.ts";
import { addressWindowKey, type WindowState } from "../../platform/limits/request-windows.ts";
import { type Call, RateLimit } from "./call.ts";
import type { ServeDeps } from "./deps.ts";
import { carrying } from "./join-run.ts";

type Found = Caller | GatewayError;

export function tooMany({ limit, windowSeconds, resetSeconds }: WindowState): GatewayError {
  const detail = { limit, window_seconds: windowSeconds };
  return new GatewayError("rate_limited", { detail, retryAfterSeconds: resetSeconds });
}

/** Counts a request without a valid credential against its address. */
function countAddress(call: Call, deps: ServeDeps): void {
  const key = addressWindowKey(call.request.address);
  const state = call.rateLimit.learn(deps.takeWindow("address", key, deps.addressRequestsPerMinute));
  if (!state.allowed) call.refuse(tooMany(state));
}

/** Sets the address's remaining rate for an answer that is not counted. */
function peekAddress(request: GatewayRequest, rateLimit: RateLimit, deps: ServeDeps): void {
  rateLimit.learn(deps.peekWindow("address", addressWindowKey(request.address), deps.addressRequestsPerMinute));
}

/** Adds the headers of every reply to one that the transport writes itself. */
export function tellAddress(request: GatewayRequest, reply: Reply, deps: ServeDeps): void {
  const rateLimit = new RateLimit(reply);
  peekAddress(request, rateLimit, deps);
  rateLimit.tell();
}

/** Whether a caller without a key may see a price and pay otherwise. Where a session authenticates it, the account pays or is refused. */
export function isAnonymous(
  endpoint: EndpointShape,
  headers: GatewayRequest["headers"],
  { anonymousPayer }: ServeDeps,
): boolean {
  if (anonymousPayer === null || endpoint.auth !== "key" || endpoint.cookies === true || !("plan" in endpoint))
    return false;
  return !headers.has("authorization") && anonymousPayer.takes(headers) !== null;
}

/** The grant of a credential that only sessions accept; null: the request has another credential. */
export function grantOf({ headers }: GatewayRequest, { overSession }: EndpointShape) {
  const credential = overSession === undefined ? "" : (headers.get("authorization") ?? "").replace(/^bearer +/i, "");
  return overSession?.grantOf(credential) ?? null;
}

/** Finds the caller by the Authorization header, or by the cookie of a signed-in person. */
export function callerOf(request: GatewayRequest, endpoint: EndpointShape, deps: ServeDeps): Found | Promise<Found> {
  const granting = grantOf(request, endpoint);
  const { callerOfKey } = deps;
  if (granting instanceof GatewayError) return granting;
  if (granting !== null && callerOfKey !== undefined)
    return granting.then((grant) =>
      grant instanceof GatewayError ? grant : callerOfKey(grant.accountId, grant.keyId),
    );
  const authorization = request.headers.get("authorization");
  const bySession = authorization === undefined && endpoint.cookies === true && request.headers.has("cookie");
  if (bySession && deps.signedIn !== undefined) return deps.signedIn(request);
  return authenticated(authorization, request, deps);
}

/** A key that carries its run, `<key>+<run id>`. In a query, a `+` that was not encoded arrives as a space. */
const WITH_RUN = /^(bearer +tg_sk_\w+)[+ ](\S+) *$/i;

/** The caller of a key, which may carry a run. */
function authenticated(authorization: string | undefined, request: GatewayRequest, deps: ServeDeps) {
  const [, key, runId] = authorization === undefined ? [] : (WITH_RUN.exec(authorization) ?? []);
  if (key === undefined || runId === undefined) return deps.authenticate(authorization, request);
  const found = deps.authenticate(key, request);
  return found instanceof Promise
    ? found.then((caller) => carrying(caller, runId, deps))
    : carrying(found, runId, deps);
}

export function wrongAdminToken(): GatewayError {
  return new GatewayError("invalid_token", { of: "admin", detail: "The admin token is missing or wrong." });
}

/**
 * Sets the caller, which stays null where the endpoint needs none. Only requests without a valid key count against their address, so that
 * only its account limits a busy customer behind one address. Synchronous where the key is cached.
 */
export function admit(call: Call, deps: ServeDeps): Promise<void> | void {
  const { request, endpoint } = call;
  switch (endpoint.auth) {
    case "none":
      // Health probes are not counted.
      return endpoint.watch === true ? peekAddress(request, call.rateLimit, deps) : admitAnyone(call, deps);
    case "admin":
      if (deps.isAdmin(request.headers.get("authorization"))) return peekAddress(request, call.rateLimit, deps);
      countAddress(call, deps);
      return call.refuse(wrongAdminToken());
    case "key": {
      if (deps.draining()) {
        peekAddress(request, call.rateLimit, deps);
        return call.refuse(new GatewayError("draining", { retryAfterSeconds: 1 }));
      }
      if (isAnonymous(endpoint, request.headers, deps)) return countAddress(call, deps);
      const found = callerOf(request, endpoint, deps);
      return found instanceof Promise
        ? found.then((caller) => admitCaller(caller, call, deps))
        : admitCaller(found, call, deps);
    }
  }
}

/** An unavailable ledger says nothing about the key or its sender. */
function countRefused({ code }: GatewayError, call: Call, deps: ServeDeps): void {
  if (code === "ledger_unavailable") peekAddress(call.request, call.rateLimit, deps);
  else countAddress(call, deps);
}

function admitCaller(caller: Found, call: Call, deps: ServeDeps): void {
  if (caller instanceof GatewayError) {
    countRefused(caller, call, deps);
    return call.refuse(caller);
  }
  const { record } = call;
  record.accountId = caller.payer.accountId;
  record.keyId = caller.payer.keyId;
  record.sandbox = caller.sandbox;
  const elsewhere = fromElsewhere(caller, call.request);
  if (elsewhere !== null) {
    countAddress(call, deps);
    call.refuse(elsewhere);
  }
  countAccount(caller, call, deps);
}

/** A key used from an address that its owner has not allowed counts as no key. Null: the address is allowed. */
export function fromElsewhere({ isFrom }: Caller, request: GatewayRequest): GatewayError | null {
  if (isFrom === undefined || isFrom(request.address)) return null;
  return new GatewayError("address_not_allowed", { detail: { address: request.address } });
}

function countAccount(caller: Caller, call: Call, deps: ServeDeps): void {
  const state = call.rateLimit.learn(deps.takeWindow("account", caller.payer.accountId, caller.requestsPerMinute));
  if (!state.allowed) {
    call.record.accountId = caller.payer.accountId;
    call.refuse(tooMany(state));
  }
  call.caller = caller;
  call.audience = caller;
  if (caller.sandbox) call.reply.header("x-tollgate-sandbox", "1");
}

/** Counts a request to an endpoint without authentication: against its account if its key is valid, otherwise against its address. */
export function admitAnyone(call: Call, deps: ServeDeps): Promise<void> | void {
  const { request } = call;
  const authorization = request.headers.get("authorization");
  if (authorization === undefined) return countAddress(call, deps);
  const count = (found: Found): void => {
    const admitted = found instanceof GatewayError ? found : (fromElsewhere(found, request) ?? found);
    if (!(admitted instanceof GatewayError)) return countAccount(admitted, call, deps);
    call.notAdmitted = admitted;
    countRefused(admitted, call, deps);
  };
  const found = authenticated(authorization, request, deps);
  return found instanceof Promise ? found.then(count) : count(found);
}
