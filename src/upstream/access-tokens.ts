// Caches short-lived bearer tokens per adapter and key of ours; concurrent callers share one fetch.
import { type Dispatcher, request } from "undici";
import type {
  Credentials,
  MerchantPayerFor,
  PaidCall,
  PaymentWanted,
  PayOutcome,
  TokenRequest,
  UnsignedRequest,
} from "../catalog/auth.ts";
import type { Adapter } from "../catalog/catalog.ts";
import { wholeWithin } from "../core/chunk-list.ts";
import type { Clock } from "../core/clock.ts";
import { isRecord } from "../core/json.ts";
import { getOrMake } from "../core/maps.ts";
import { proxyFailureIn } from "./tunnel.ts";
import { failureOfKind, VendorFailure } from "./vendor-failure.ts";

/** A token that expires sooner than this is fetched again. */
const LEFT_MS_MIN = 60_000;
const ANSWER_BYTES_MAX = 65_536;
const FETCH_MS_MAX = 10_000;

/** Builds the token request for a time in epoch seconds; returns a text with the reason if it cannot. */
type AskFor = (nowS: number) => TokenRequest | string;

export type AccessTokens = ReturnType<typeof createAccessTokens>;

interface Kept {
  readonly token: string;
  /** In `clock.elapsedMs()` time. */
  readonly lapsesMs: number;
}

function refused(message: string): VendorFailure {
  return new VendorFailure({ ...failureOfKind("provider_auth_failed", message), mayHaveRun: false });
}

/** Null if the body exceeds `ANSWER_BYTES_MAX`. Throws if it is not JSON. */
async function jsonOf(body: AsyncIterable<Uint8Array>): Promise<unknown> {
  const whole = await wholeWithin(body, ANSWER_BYTES_MAX);
  return whole === null ? null : JSON.parse(whole.toString());
}

export function createAccessTokens(clock: Clock, dispatcher: Dispatcher) {
  const kept = new WeakMap<Adapter, Map<string, Kept | Promise<string>>>();

  const tokensOf = (adapter: Adapter) => getOrMake(kept, adapter, () => new Map<string, Kept | Promise<string>>());

  async function ask({ url, form }: TokenRequest): Promise<{ readonly token: string; readonly lifeS: number }> {
    const { statusCode, body } = await request(url, {
      dispatcher,
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/json" },
      body: new URLSearchParams(form).toString(),
      signal: AbortSignal.timeout(FETCH_MS_MAX),
    });
    const answer: unknown = await jsonOf(body).catch(() => null);
    if (statusCode >= 500)
      throw new VendorFailure(failureOfKind("provider_server_error", `the token server answered ${statusCode}`));
    // The server's message may echo the request with its secrets, so report only the error code.
    const code = isRecord(answer) && typeof answer.error === "string" ? answer.error.slice(0, 60) : "no token";
    if (!isRecord(answer) || typeof answer.access_token !== "string") throw refused(`the token server says: ${code}`);
    return { token: answer.access_token, lifeS: Number(answer.expires_in) || 0 };
  }

  async function fetched(adapter: Adapter, key: string, askFor: AskFor): Promise<string> {
    const tokens = tokensOf(adapter);
    try {
      const wanted = askFor(Math.floor(clock.epochMs() / 1000));
      if (typeof wanted === "string") throw refused(wanted);
      const { token, lifeS } = await ask(wanted);
      tokens.set(key, { token, lapsesMs: clock.elapsedMs() + lifeS * 1000 });
      return token;
    } catch (error) {
      tokens.delete(key);
      if (error instanceof VendorFailure) throw error;
      const message = error instanceof Error ? error.message : String(error);
      const kind = proxyFailureIn(error) === null ? "provider_connection_failed" : "gateway_proxy_failed";
      throw new VendorFailure({ ...failureOfKind(kind, message), mayHaveRun: false });
    }
  }

  return {
    /** Returns a cached token synchronously. Rejects with VendorFailure if no token can be fetched. */
    of(adapter: Adapter, key: string, askFor: AskFor): string | Promise<string> {
      const tokens = tokensOf(adapter);
      const known = tokens.get(key);
      if (known instanceof Promise) return known;
      if (known !== undefined && known.lapsesMs - clock.elapsedMs() > LEFT_MS_MIN) return known.token;
      const fetching = fetched(adapter, key, askFor);
      tokens.set(key, fetching);
      return fetching;
    },
    /** Call when the vendor has rejected the cached token. */
    forget(adapter: Adapter, key: string): void {
      const tokens = tokensOf(adapter);
      if (!(tokens.get(key) instanceof Promise)) tokens.delete(key);
    },
  };
}

// Authenticates one call at a vendor: adds our key to requests as the adapter's `auth` says, and pays a 402 where allowed.

export type Login = ReturnType<typeof loginAt>;

interface LoginParts {
  readonly tokens: AccessTokens;
  readonly clock: Clock;
  readonly merchantPayerFor: MerchantPayerFor;
}

/** Logins without payment, shared by all calls with a key: one per key of a current adapter. */
export function plainLogins(parts: LoginParts) {
  const byAdapter = new WeakMap<Adapter, Map<string, Login>>();
  return {
    of(adapter: Adapter, key: string): Login {
      const known = byAdapter.get(adapter)?.get(key);
      if (known !== undefined) return known;
      const logins = getOrMake(byAdapter, adapter, () => new Map<string, Login>());
      return getOrMake(logins, key, () => loginAt(adapter, key, parts));
    },
  };
}

/** The properties of a call that decide what may be paid for it. */
export type Paying = Omit<PaidCall, "merchant">;

/** A key of several parts has them separated by newlines; an empty key is not sent. Without `paying`, no 402 is paid. */
export function loginAt(adapter: Adapter, key: string, parts: LoginParts, paying: Paying | null = null) {
  const { tokens, clock, merchantPayerFor } = parts;
  const { id, spec, settings, origins } = adapter;
  const token: Credentials["token"] = (request) => tokens.of(adapter, key, request);
  const merchantPayer =
    paying === null || spec.auth.rails === undefined ? null : merchantPayerFor({ ...paying, merchant: id });
  const by: Credentials = { key, settings, origins, clock, token, merchantPayer };
  return {
    /** The vendor accepts payment per call. */
    pays: spec.auth.pay !== undefined,
    /** Adds our key to the request. Rejects with VendorFailure if no token can be fetched. */
    authorize: <Request extends UnsignedRequest>(request: Request): Request | Promise<Request> =>
      spec.auth.authorize(request, request.keyless === true ? { ...by, key: "" } : by),
    /** Answers a 402; null if it is not paid. */
    pay: (wanted: PaymentWanted): PayOutcome | Promise<PayOutcome> => spec.auth.pay?.(wanted, by) ?? null,
  };
}
