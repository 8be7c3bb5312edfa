// Who we are to one vendor in one call: our key shown in its requests by the adapter's `auth`, and a 402 paid where that can pay.
import type { Credentials, Payment, PaymentWanted, UnsignedRequest } from "../catalog/auth.ts";
import type { Adapter } from "../catalog/catalog.ts";
import type { Clock } from "../clock.ts";
import type { AccessTokens } from "./access-tokens.ts";

export interface Login {
  /** The request with our key in it. Rejects with VendorFailure where a token cannot be had. */
  authorize<Request extends UnsignedRequest>(request: Request): Request | Promise<Request>;
  /** What a 402 is answered with; null: it is not paid. */
  pay(answer: PaymentWanted): Payment | null | Promise<Payment | null>;
}

export interface LoginParts {
  readonly tokens: AccessTokens;
  readonly clock: Clock;
}

/** With the parts of a key separated by newlines; an empty key is shown nowhere. */
export function loginAt(adapter: Adapter, key: string, { tokens, clock }: LoginParts): Login {
  const { spec, settings, origins } = adapter;
  const token: Credentials["token"] = (request) => tokens.of(adapter, key, request);
  const by: Credentials = { key, settings, origins, clock, token };
  return {
    authorize: (request) => spec.auth.authorize(request, request.keyless === true ? { ...by, key: "" } : by),
    pay: (answer) => spec.auth.pay?.(answer, by) ?? null,
  };
}
