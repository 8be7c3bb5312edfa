// How our key is shown to a vendor: a value with one verb, made by one of the functions below. A new way is a new value, and no other file changes.
import type { Readable } from "node:stream";
import { AwsV4Signer } from "aws4fetch";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { isRecord } from "../core/json.ts";
import type { Nano } from "../core/money.ts";
import type { AttemptFailure } from "../core/route.ts";
import type { JsonObject } from "./said.ts";

/** A request that is ready but for our key. */
export interface UnsignedRequest {
  readonly method?: string;
  /** Scheme and authority. */
  readonly origin: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | Readable | null;
  /** The vendor is not alone at this address, so our key is not shown there. */
  readonly keyless?: true;
}

/** What a token server is sent. */
export interface TokenRequest {
  readonly url: string;
  readonly form: Readonly<Record<string, string>>;
}

export interface Credentials {
  /** Its parts separated by newlines; empty: we have none. */
  readonly key: string;
  readonly settings: Readonly<Record<string, string>>;
  /** The adapter's other hosts. */
  readonly origins: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** A bearer token that lives for a while, kept until then. A text instead of a request says why none can be asked for. */
  token(request: (nowS: number) => TokenRequest | string): string | Promise<string>;
  /** Null: there is no wallet for this call. */
  readonly merchantPayer: MerchantPayer | null;
}

/** What a request looked like to the vendor's stand-in. */
export interface ShownRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly query: URLSearchParams;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The ways in which merchants are paid call by call, each from a wallet of its own. */
export type Rail = "mpp" | "x402";

/** What a vendor that answers 402 is paid: the same request goes again with these headers, once. */
export interface Payment {
  readonly headers: Readonly<Record<string, string>>;
  /** What it takes from us, in nano-USD, unless the vendor answers 402 again. */
  readonly costNano: Nano;
  /** What of the headers a failure must not tell, beside their values. Default: nothing. */
  readonly secrets?: readonly string[];
  /** Hears what the vendor answered to it; null: no answer came. */
  answered?(came: PaidAnswer | null): Promise<void>;
}

export type PaidAnswer = Pick<PaymentWanted, "headers"> & { readonly status: number };

/** Why a 402 is not paid. */
export interface Unpaid {
  readonly unpaid: AttemptFailure;
}

/** The operator's wallet, as far as one call may use it. */
export interface MerchantPayer {
  pay(wanted: PaymentWanted, by: PayingBy): Promise<Payment | Unpaid>;
}

/** The call that a purse is for. */
export interface PaidCall {
  /** The adapter's id. */
  readonly merchant: string;
  /** The transaction: nothing is paid twice for one. */
  readonly callId: string;
  /** The most that may be paid, in nano-USD: what is listed for these params, or what the caller allows. */
  readonly mostNano: Nano;
  /** It is the caller who said so. */
  readonly isCallers: boolean;
  /** What the call costs beside. Default: nothing. */
  readonly feeNano?: Nano;
  /**
   * The payer who has named the merchant, which may be its own. It is charged what was paid whatever comes back, until the chain says that
   * it was not taken. Absent: the merchant is one of the catalog.
   */
  readonly namedBy?: string;
  readonly sandbox: boolean;
  /** Hears what the merchant asks, which is then not paid: its price is asked before anything is held. */
  readonly priced?: (nano: Nano) => void;
}

/** Null: there is no wallet. */
export type MerchantPayerFor = (call: PaidCall) => MerchantPayer | null;

/** By which wallets, and to whom: an address that the operator says the merchant has, or null, whichever it names. */
export interface PayingBy {
  readonly rails: readonly Rail[];
  readonly payTo: string | null;
}

export interface Auth {
  /** The request with our key in it. */
  authorize<Request extends UnsignedRequest>(request: Request, by: Credentials): Request | Promise<Request>;
  /** Whether a key, any key, stands where the vendor looks for it. Default: in the header `authorization`. */
  shown?(request: ShownRequest): boolean;
  /** What takes its place in the sandbox, where no token is fetched and nothing is signed. Default: itself. */
  readonly inSandbox?: Auth;
  /** No key is needed. */
  readonly keyless?: true;
  /**
   * The key stands in the request as it is: nothing else is asked, reckoned or connected to by what is in it. Only such a key may be a
   * caller's own.
   */
  readonly plain?: true;
  /** The key that a variable's text stands for; null: there is none. Default: the text is a list of keys with commas between them. */
  keyFrom?(setting: string): string | null;
  /** Why this is no key, as a sentence that the variable's name begins. */
  problemOf?(key: string): string | null;
  /** Signs a token for scripts. Throws where the key cannot. */
  sign?(claims: JsonObject, by: TokenClaims): string;
  /** What a 402 asks for, or null: it is not paid. Asked once an exchange. */
  pay?(answer: PaymentWanted, by: Credentials): PayOutcome | Promise<PayOutcome>;
  /** A wallet of one of these takes the place of a key. */
  readonly rails?: readonly Rail[];
}

export const auth = z.custom<Auth>(
  (value) =>
    typeof value === "object" && value !== null && "authorize" in value && typeof value.authorize === "function",
  "is no way to show a key: bearer, keyHeader(name) and the like make one",
);

export type PayOutcome = Payment | Unpaid | null;

/** A vendor's answer of 402. */
export interface PaymentWanted {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Parsed; undefined where the body is none. */
  readonly json: unknown;
  /** What was asked, and is asked again byte by byte. */
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

/** Throws where an adapter's author wrote what cannot be; the message names the field. */
export function must(fits: boolean, problem: string): void {
  if (!fits) throw new Error(`auth ${problem}`);
}

const HEADER_NAME = /^[A-Za-z0-9-]+$/;

function firstPart(key: string): string {
  const end = key.indexOf("\n");
  return end < 0 ? key : key.slice(0, end);
}

/** The first part of the key in a header; the other parts of such a key are for scripts. */
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

/** The parts of a key (`keyParts`), one in each header; `fixed` goes along. */
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

/** The two parts of a key as user and password (RFC 7617). */
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

/** A field of the JSON body. */
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

/** For servers that need no key. */
export const noAuth: Auth = { authorize: (request) => request, shown: () => true, keyless: true };

/** Merchants that are paid call by call from the operator's wallet, over the first of these rails that both have and that is cheapest. */
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

/** As AWS writes an instant: `20261122T194500Z`. */
function instantOf(epochMs: number): string {
  return new Date(epochMs).toISOString().replace(/[:-]|\.\d{3}/g, "");
}

/**
 * Method, path, host, date and body are signed by the parts of a key: its id, its secret, and the token of a session where it has one
 * (AWS Signature Version 4). `region` is one of the adapter's settings. Our own headers for tracing are left out of it.
 */
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
        datetime: instantOf(clock.epochMs()),
      });
      const { headers } = await signer.sign();
      return withHeaders(request, Object.fromEntries(headers));
    },
    inSandbox: bearer,
  };
}
