// Authenticates one call at a vendor: adds our key to requests as the adapter's `auth` says, and pays a 402 where allowed.
import type {
  Credentials,
  MerchantPayerFor,
  PaidCall,
  PaymentWanted,
  PayOutcome,
  UnsignedRequest,
} from "../catalog/auth.ts";
import type { Adapter } from "../catalog/catalog.ts";
import type { Clock } from "../core/clock.ts";
import type { AccessTokens } from "./access-tokens.ts";

export interface Login {
  /** Adds our key to the request. Rejects with VendorFailure if no token can be fetched. */
  authorize<Request extends UnsignedRequest>(request: Request): Request | Promise<Request>;
  /** The vendor accepts payment per call. */
  readonly pays: boolean;
  /** Answers a 402; null if it is not paid. */
  pay(wanted: PaymentWanted): PayOutcome | Promise<PayOutcome>;
}

export interface LoginParts {
  readonly tokens: AccessTokens;
  readonly clock: Clock;
  readonly merchantPayerFor: MerchantPayerFor;
}

/** Logins without payment, shared by all calls with a key: one per key of a current adapter. */
export function plainLogins(parts: LoginParts): { of(adapter: Adapter, key: string): Login } {
  const byAdapter = new WeakMap<Adapter, Map<string, Login>>();
  return {
    of(adapter, key) {
      const known = byAdapter.get(adapter)?.get(key);
      if (known !== undefined) return known;
      const login = loginAt(adapter, key, parts);
      const logins = byAdapter.get(adapter) ?? new Map<string, Login>();
      byAdapter.set(adapter, logins.set(key, login));
      return login;
    },
  };
}

/** The properties of a call that decide what may be paid for it. */
export type Paying = Omit<PaidCall, "merchant">;

/** A key of several parts has them separated by newlines; an empty key is not sent. Without `paying`, no 402 is paid. */
export function loginAt(adapter: Adapter, key: string, parts: LoginParts, paying: Paying | null = null): Login {
  const { tokens, clock, merchantPayerFor } = parts;
  const { id, spec, settings, origins } = adapter;
  const token: Credentials["token"] = (request) => tokens.of(adapter, key, request);
  const merchantPayer =
    paying === null || spec.auth.rails === undefined ? null : merchantPayerFor({ ...paying, merchant: id });
  const by: Credentials = { key, settings, origins, clock, token, merchantPayer };
  return {
    pays: spec.auth.pay !== undefined,
    authorize: (request) => spec.auth.authorize(request, request.keyless === true ? { ...by, key: "" } : by),
    pay: (wanted) => spec.auth.pay?.(wanted, by) ?? null,
  };
}
