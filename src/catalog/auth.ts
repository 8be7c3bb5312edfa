// Authentication with vendors. Each of the functions below makes an `Auth` value; a new method is a new value and changes no other file.
import type { Readable } from "node:stream";
import { AwsV4Signer } from "aws4fetch";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { isRecord } from "../core/json.ts";
import type { Nano } from "../core/money.ts";
import type { AttemptFailure } from "../core/route.ts";
import type { JsonObject } from "./said.ts";

export interface UnsignedRequest {
  readonly method?: string;
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A stream is read only as it is written out. */
  readonly body: string | Buffer | Readable | null;
  /** This address may belong to a third party, so our key is not sent. */
  readonly keyless?: true;
}

export interface TokenRequest {
  readonly url: string;
  readonly form: Readonly<Record<string, string>>;
}

export interface Credentials {
  /** The parts are separated by newlines; empty if we have no key. */
  readonly key: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly origins: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** Returns a bearer token, cached until it expires. If no token can be requested, `request` returns the reason as a string. */
  token(request: (nowS: number) => TokenRequest | string): string | Promise<string>;
  /** Null: this call has no wallet. */
  readonly merchantPayer: MerchantPayer | null;
}

/** A request as the vendor's stand-in received it. */
export interface ShownRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly query: URLSearchParams;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The payment methods for pay-per-call merchants; each uses its own wallet. */
export type Rail = "mpp" | "x402";

/** A payment in response to a vendor's 402: the same request is sent once more with these headers. */
export interface Payment {
  readonly headers: Readonly<Record<string, string>>;
  /** Our cost in nano-USD, unless the vendor answers 402 again. */
  readonly costNano: Nano;
  /** Parts of the headers that failures must not reveal, in addition to their values. Default: none. */
  readonly secrets?: readonly string[];
  /** Called with the vendor's answer to the payment; null if there was no answer. */
  answered?(came: PaidAnswer | null): Promise<void>;
}

export type PaidAnswer = Pick<PaymentWanted, "headers"> & { readonly status: number };

/** Why a 402 is not paid. */
export interface Unpaid {
  readonly unpaid: AttemptFailure;
}

/** Access to the operator's wallet for one call. */
export interface MerchantPayer {
  pay(wanted: PaymentWanted, by: PayingBy): Promise<Payment | Unpaid>;
}

export interface PaidCall {
  readonly merchant: string;
  /** Identifies the transaction: no transaction pays twice. */
  readonly callId: string;
  /** The maximum payment in nano-USD: the listed price for these params, or the caller's maximum. */
  readonly mostNano: Nano;
  /** The caller set the maximum. */
  readonly isCallers: boolean;
  /** The fee on top of the payment. Default: none. */
  readonly feeNano?: Nano;
  /** Who named the merchant, maybe its own: pays what we paid until the chain shows it was not taken. Absent: the catalog. */
  readonly namedBy?: string;
  readonly sandbox: boolean;
  /** Called with the merchant's price, which is then not paid: the price is requested before a hold is placed. */
  readonly priced?: (nano: Nano) => void;
}

export type MerchantPayerFor = (call: PaidCall) => MerchantPayer | null;

/** The wallets to pay from, and the recipient: the operator's address for the merchant, or null for whichever one it names. */
export interface PayingBy {
  readonly rails: readonly Rail[];
  readonly payTo: string | null;
}

export interface Auth {
  /** The request with our key. */
  authorize<Request extends UnsignedRequest>(request: Request, by: Credentials): Request | Promise<Request>;
  /** Whether the request has any key where the vendor expects one. Default: in the header `authorization`. */
  shown?(request: ShownRequest): boolean;
  /** Replaces it in the sandbox, where no token is fetched and nothing is signed. Default: itself. */
  readonly inSandbox?: Auth;
  /** No key is needed. */
  readonly keyless?: true;
  /** The key is in the request verbatim and determines nothing else. Callers may bring their own key only where this is set. */
  readonly plain?: true;
  /** Parses the key from an environment variable; null if there is none. Default: a comma-separated list of keys. */
  keyFrom?(setting: string): string | null;
  /** Why the key is invalid, as a sentence that begins with the variable's name. */
  problemOf?(key: string): string | null;
  /** Signs a token for scripts. Throws if the key cannot sign. */
  sign?(claims: JsonObject, by: TokenClaims): string;
  /** Pays what a 402 asks for; null if it is not paid. Called at most once per exchange. */
  pay?(answer: PaymentWanted, by: Credentials): PayOutcome | Promise<PayOutcome>;
  /** A wallet for one of these replaces a key. */
  readonly rails?: readonly Rail[];
}

export const auth = z.custom<Auth>(
  (value) =>
    typeof value === "object" && value !== null && "authorize" in value && typeof value.authorize === "function",
  "is not an auth: bearer, keyHeader(name) and the like make one",
);

export type PayOutcome = Payment | Unpaid | null;

/** A vendor's 402 answer. */
export interface PaymentWanted {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Parsed; undefined if the body is not JSON. */
  readonly json: unknown;
  /** The original request, which is repeated byte for byte. */
  readonly request: UnsignedRequest;
}

export interface TokenClaims {
  readonly key: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly nowS: number;
  readonly lifeS: number;
}

export function withHeaders<Request extends UnsignedRequest>(request: Request, more: Record<string, string>): Request {
  return { ...request, headers: { ...request.headers, ...more } };
}

function isSaid(value: unknown): boolean {
  return typeof value === "string" && value.trim() !== "";
}

/** Throws if an adapter's definition is invalid; the message names the field. */
export function must(fits: boolean, problem: string): void {
  if (!fits) throw new Error(`auth ${problem}`);
}

const HEADER_NAME = /^[A-Za-z0-9-]+$/;

function firstPart(key: string): string {
  const end = key.indexOf("\n");
  return end < 0 ? key : key.slice(0, end);
}

/** Sends the first part of the key in a header; the other parts are for scripts. */
export function header(name: string, prefix: string): Auth {
  must(HEADER_NAME.test(name), `cannot stand in a header named ${JSON.stringify(name)}`);
  return {
    plain: true,
    authorize: (request, { key }) => (key === "" ? request : withHeaders(request, { [name]: prefix + firstPart(key) })),
    shown({ headers }) {
      const value = String(headers[name.toLowerCase()] ?? "");
      return value.startsWith(prefix) && isSaid(value.slice(prefix.length));
    },
  };
}

export const bearer: Auth = header("authorization", "Bearer ");

export function keyHeader(name: string): Auth {
  return header(name, "");
}

/** Sends each part of a key (`keyParts`) in its own header, plus the `fixed` headers. */
export function keyHeaders(names: readonly string[], fixed: Readonly<Record<string, string>> = {}): Auth {
  must(names.length > 0, "names no header");
  for (const name of [...names, ...Object.keys(fixed)])
    must(HEADER_NAME.test(name), `cannot stand in a header named ${JSON.stringify(name)}`);
  return {
    plain: true,
    authorize(request, { key }) {
      const parts = key.split("\n");
      const shown = key === "" ? [] : names.map((name, at) => [name, parts[at] ?? ""] as const);
      return withHeaders(request, { ...fixed, ...Object.fromEntries(shown) });
    },
    shown: ({ headers }) =>
      names.every((name) => isSaid(headers[name.toLowerCase()])) &&
      Object.entries(fixed).every(([name, value]) => headers[name.toLowerCase()] === value),
  };
}

/** Sends the two parts of a key as user and password (RFC 7617). */
export const basic: Auth = {
  authorize(request, { key }) {
    if (key === "") return request;
    return withHeaders(request, {
      authorization: `Basic ${Buffer.from(key.replaceAll("\n", ":")).toString("base64")}`,
    });
  },
  shown: ({ headers }) => /^Basic [A-Za-z0-9+/]{2,}=*$/.test(String(headers.authorization ?? "")),
};

export function keyInQuery(name: string): Auth {
  must(name !== "", "names no field of the query");
  return {
    authorize(request, { key }) {
      if (key === "") return request;
      const shown = new URLSearchParams({ [name]: key }).toString();
      return { ...request, path: `${request.path}${request.path.includes("?") ? "&" : "?"}${shown}` };
    },
    shown: ({ query }) => isSaid(query.get(name)),
  };
}

export function keyInBody(field: string): Auth {
  must(field !== "", "names no field of the body");
  return {
    authorize(request, { key }) {
      if (key === "") return request;
      const body: unknown = typeof request.body === "string" ? JSON.parse(request.body) : {};
      return { ...request, body: JSON.stringify({ ...(isRecord(body) ? body : {}), [field]: key }) };
    },
    shown: ({ fields }) => isSaid(fields[field]),
  };
}

export const noAuth: Auth = { authorize: (request) => request, shown: () => true, keyless: true };

/** Pays merchants per call from the operator's wallet, over the cheapest of these rails that both sides support; ties go to the first. */
export function paidBy(...rails: readonly [Rail, ...Rail[]]): Auth {
  return {
    authorize: (request) => request,
    shown: () => true,
    keyless: true,
    rails,
    pay: (wanted, { merchantPayer, settings }) =>
      merchantPayer?.pay(wanted, { rails, payTo: settings.payTo ?? null }) ?? null,
  };
}

/** AWS Signature Version 4, by the parts of a key (id, secret, session token) and the setting `region`. Tracing headers are unsigned. */
export function sigv4({ service, region }: { readonly service: string; readonly region: string }): Auth {
  must(service !== "" && region !== "", "sigv4 needs a service and a setting for its region");
  return {
    async authorize(request, { key, settings, clock }) {
      if (key === "") return request;
      const [accessKeyId = "", secretAccessKey = "", sessionToken] = key.split("\n");
      const signer = new AwsV4Signer({
        method: request.method ?? "POST",
        url: request.origin + request.path,
        body: request.body,
        accessKeyId,
        secretAccessKey,
        ...(sessionToken === undefined ? null : { sessionToken }),
        service,
        region: settings[region] ?? "",
        datetime: new Date(clock.epochMs()).toISOString().replace(/[:-]|\.\d{3}/g, ""),
      });
      const { headers } = await signer.sign();
      return withHeaders(request, Object.fromEntries(headers));
    },
    inSandbox: bearer,
  };
}
