// Who we are to one vendor in one call: our key shown in its requests by the adapter's `auth`, and a 402 paid where that can pay.
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
  /** The request with our key in it. Rejects with VendorFailure where a token cannot be had. */
  authorize<Request extends UnsignedRequest>(request: Request): Request | Promise<Request>;
  /** Its vendor is one that may be paid by the call. */
  readonly pays: boolean;
  /** What a 402 is answered with; null: it is not paid. */
  pay(wanted: PaymentWanted): PayOutcome | Promise<PayOutcome>;
}

export interface LoginParts {
  readonly tokens: AccessTokens;
  readonly clock: Clock;
  readonly merchantPayerFor: MerchantPayerFor;
}

/** Logins that pay nothing, which all calls by a key share: one is made for each key of an adapter in force. */
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

/** What of a call decides on what may be paid for it. */
export type Paying = Omit<PaidCall, "merchant">;

/** With the parts of a key separated by newlines; an empty key is shown nowhere. Without `paying` no 402 is paid. */
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
