// How our key is shown to a vendor: a value with one verb, made by one of the functions below. A new way is a new value, and no other file changes.
import { createPrivateKey, createSign, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Readable } from "node:stream";
import { AwsV4Signer } from "aws4fetch";
import { z } from "zod";
import type { Clock } from "../clock.ts";
import { isRecord } from "../json.ts";
import type { Nano } from "../money.ts";
import type { AttemptFailure } from "../route.ts";
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
  readonly purse: Purse | null;
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
export interface Purse {
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
  /** The caller has named the merchant, and is charged what was paid whatever it answers, until the chain says that it was not taken. */
  readonly chargedAnyway?: true;
  readonly sandbox: boolean;
}

/** Null: there is no wallet. */
export type PurseFor = (call: PaidCall) => Purse | null;

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

function withHeaders<Request extends UnsignedRequest>(request: Request, more: Record<string, string>): Request {
  return { ...request, headers: { ...request.headers, ...more } };
}

function isSaid(value: unknown): boolean {
  return typeof value === "string" && value.trim() !== "";
}

/** Throws where an adapter's author wrote what cannot be; the message names the field. */
function must(fits: boolean, problem: string): void {
  if (!fits) throw new Error(`auth ${problem}`);
}

const HEADER_NAME = /^[A-Za-z0-9-]+$/;

/** The first part of the key in a header; the other parts of such a key are for scripts. */
export function header(name: string, prefix: string): Auth {
  must(HEADER_NAME.test(name), `cannot stand in a header named ${JSON.stringify(name)}`);
  return {
    authorize: (request, { key }) =>
      key === "" ? request : withHeaders(request, { [name]: prefix + (key.split("\n", 1)[0] ?? "") }),
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
    pay: (wanted, { purse, settings }) => purse?.pay(wanted, { rails, payTo: settings.payTo ?? null }) ?? null,
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

function withToken(
  tokenRequest: (by: Credentials, nowS: number) => TokenRequest | string,
): Pick<Auth, "authorize" | "inSandbox"> {
  return {
    authorize(request, by) {
      if (by.key === "") return request;
      const token = by.token((nowS) => tokenRequest(by, nowS));
      const shown = (came: string) => withHeaders(request, { authorization: `Bearer ${came}` });
      return typeof token === "string" ? shown(token) : token.then(shown);
    },
    inSandbox: bearer,
  };
}

/**
 * A bearer token that lives for a while, for the parts of a key: tenant, client id and secret (RFC 6749, 4.4). `origin` is one of the
 * adapter's origins; `{tenant}` in the path is the first part.
 */
export function clientCredentials(of: {
  readonly origin: string;
  readonly path: string;
  readonly scope: string;
}): Auth {
  must(
    of.origin !== "" && of.path.startsWith("/") && of.scope !== "",
    "clientCredentials needs an origin, a path and a scope",
  );
  return withToken(({ key, origins }) => {
    const [tenant = "", client_id = "", client_secret = ""] = key.split("\n");
    return {
      url: `${origins[of.origin] ?? ""}${of.path.replace("{tenant}", encodeURIComponent(tenant))}`,
      form: { grant_type: "client_credentials", client_id, client_secret, scope: of.scope },
    };
  });
}

function base64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

const TOKEN_LIFE_S = 3_600;

/** What a service account says of itself, signed by its key (RFC 7523, RS256). */
function assertionRequest(scope: string, key: string, nowS: number): TokenRequest | string {
  const account: unknown = JSON.parse(key);
  const { client_email, private_key, private_key_id, token_uri } = isRecord(account) ? account : {};
  if (typeof client_email !== "string" || typeof private_key !== "string" || typeof token_uri !== "string") {
    return "the key file of the service account lacks client_email, private_key or token_uri";
  }
  const head = base64url({ alg: "RS256", typ: "JWT", kid: private_key_id });
  const claims = base64url({ iss: client_email, scope, aud: token_uri, iat: nowS, exp: nowS + TOKEN_LIFE_S });
  const signature = createSign("RSA-SHA256").update(`${head}.${claims}`).sign(private_key, "base64url");
  const grant_type = "urn:ietf:params:oauth:grant-type:jwt-bearer";
  return { url: token_uri, form: { grant_type, assertion: `${head}.${claims}.${signature}` } };
}

/** A bearer token that lives for a while, for what a service account signs (RFC 7523); the key is the JSON of its key file, or that file's path. */
export function serviceAccount(scope: string): Auth {
  must(scope !== "", "serviceAccount needs a scope");
  return {
    ...withToken(({ key }, nowS) => assertionRequest(scope, key, nowS)),
    keyFrom(setting) {
      if (setting.startsWith("{")) return setting;
      try {
        return readFileSync(setting, "utf8").trim();
      } catch {
        return null;
      }
    },
  };
}

const keysRead = new Map<string, KeyObject>();

function privateKeyOf(key: string): KeyObject {
  const read = keysRead.get(key) ?? createPrivateKey(key.replaceAll("\\n", "\n"));
  keysRead.set(key, read);
  return read;
}

/** Of the sandbox: its public half is kept nowhere, because no signature is checked there. */
let playKey: KeyObject | null = null;

function keyOfSandbox(): KeyObject {
  playKey ??= generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  return playKey;
}

/**
 * Scripts show tokens that they make (RFC 7519), signed by our private key, the PEM of a key of P-256. `issuer` is one of the adapter's
 * settings; `claims` are those of every token.
 */
export function jwt(of: { readonly issuer: string; readonly claims: Readonly<Record<string, string>> }): Auth {
  must(of.issuer !== "", "jwt needs a setting for its issuer");
  const signedBy = (keyOf: (key: string) => KeyObject): Auth => ({
    authorize: (request) => request,
    problemOf(key) {
      try {
        if (createPrivateKey(key.replaceAll("\\n", "\n")).asymmetricKeyDetails?.namedCurve === "prime256v1")
          return null;
      } catch {
        // What is wrong with a key is not told: it might tell the key.
      }
      return "is no private key of P-256 as PEM";
    },
    sign(claims, { key, settings, nowS, lifeS }) {
      const ours = { iss: settings[of.issuer] ?? "", iat: nowS, exp: nowS + lifeS };
      const body = `${base64url({ alg: "ES256", typ: "JWT" })}.${base64url({ ...of.claims, ...claims, ...ours })}`;
      // RFC 7518, 3.4: both numbers of the signature one after the other, not as ASN.1.
      const signature = sign("sha256", Buffer.from(body), { key: keyOf(key), dsaEncoding: "ieee-p1363" });
      return `${body}.${signature.toString("base64url")}`;
    },
  });
  return { ...signedBy(privateKeyOf), inSandbox: signedBy(keyOfSandbox) };
}
