// People sign in, and clients request grants from them with OAuth 2.1: the endpoints of both.
import type { Clock } from "../../core/clock.ts";
import type { Answer, Endpoint, EndpointSpec, ErrorCodec, GatewayRequest } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { getOrLoad } from "../../core/maps.ts";
import type { Caller } from "../../core/plan.ts";
import type { Records } from "../../platform/records/records.ts";
import { accessTokenReader, metadataEndpoints } from "../oauth/access-tokens.ts";
import { browserEndpoint, fieldsOf, isForeign, ownPath, seeOther, tooOften } from "../oauth/forms.ts";
import type { Grants } from "../oauth/grants.ts";
import type { OAuthServer, ReadDocument } from "../oauth/server.ts";
import { isCsrf, type Sessions } from "../oauth/sessions.ts";
import type { SigningKeys } from "../oauth/signing-keys.ts";
import { consentEndpoints } from "./consent-endpoints.ts";
import { type OpenIdDoor, openIdEndpoints } from "./openid-endpoints.ts";
import { type Choice, foreignForm, messagePage, signedForm, signedInPage, signInPage } from "./person-pages.ts";

/** Keys tried from one address per minute; a person needs one. */
const SIGN_INS_PER_MINUTE = 10;

async function signIn(parts: PeopleParts, request: GatewayRequest): Promise<Answer> {
  if (isForeign(request, parts.base())) return foreignForm(parts.base());
  const counted = `sign-in ${parts.addressKey(request.address)}`;
  if (!(await parts.take(counted, SIGN_INS_PER_MINUTE))) throw tooOften(SIGN_INS_PER_MINUTE);
  const fields = fieldsOf(request.body);
  const next = ownPath(fields.next, parts.home);
  const caller = await parts.authenticate(`Bearer ${fields.key?.trim() ?? ""}`, request);
  if (caller instanceof GatewayError && caller.code !== "invalid_token") throw caller;
  // A session may do what the primary key may, so only that key opens one.
  if (caller instanceof GatewayError || !caller.primary) {
    const problem = "This is not the primary key of an account here: the first one, which begins with tg_sk_.";
    return signInPage(next, parts.openId?.provider ?? null, problem);
  }
  const { accountId, keyId } = caller.payer;
  return seeOther(next, [await parts.sessions.begin(request, accountId, keyId)]);
}

function signInEndpoints(parts: PeopleParts): readonly EndpointSpec[] {
  const { sessions, home, openId } = parts;
  return [
    browserEndpoint("GET", "/sign-in", async (request) => {
      const session = await sessions.of(request);
      const provider = openId?.provider ?? null;
      if (session === null) return signInPage(ownPath(request.query.get("next"), home), provider);
      return signedInPage(session, home, provider, (await openId?.identities.list(session.accountId)) ?? []);
    }),
    browserEndpoint("POST", "/sign-in", (request) => signIn(parts, request)),
    browserEndpoint(
      "POST",
      "/sign-out",
      signedForm(parts, async (request) => seeOther("/sign-in", [await sessions.end(request)])),
    ),
  ];
}

/** Client registrations per minute, from one address and from all: each is stored for a day unless a person consents to it. */
const REGISTRATIONS_PER_ADDRESS = 10;
const REGISTRATIONS = 120;
/** Requests for a grant per minute, from one address and from all: each is stored for an hour. */
const ASKS_PER_ADDRESS = 20;
const ASKS = 1_000;
/** Client metadata documents fetched per minute; fetched ones are cached. */
const DOCUMENTS = 60;

/** What sign-in needs, whatever follows it. */
export interface PeopleParts {
  readonly sessions: Sessions;
  /** Null: people can sign in only with keys. */
  readonly openId: OpenIdDoor | null;
  readonly base: () => string;
  /** The page after a sign-in that was not on the way to another page. */
  readonly home: string;
  readonly authenticate: (
    authorization: string,
    sender: Pick<GatewayRequest, "address">,
  ) => Caller | GatewayError | Promise<Caller | GatewayError>;
  readonly callerOfKey: (accountId: string, keyId: string) => Promise<Caller | GatewayError>;
  /** An account's play account and its key; null: there is no sandbox. */
  readonly playKey: (accountId: string) => Promise<{ readonly accountId: string; readonly keyId: string } | null>;
  readonly addressKey: (address: string) => string;
  /** Counts in this minute's window, which all processes share; false: the limit is reached. */
  readonly take: (what: string, limit: number) => Promise<boolean>;
}

/** `base` is the issuer. */
export interface OAuthParts extends PeopleParts {
  readonly records: Records;
  readonly grants: Grants;
  readonly clock: Clock;
  readonly keys: () => SigningKeys;
  readonly choices: () => readonly Choice[];
  readonly readDocument: ReadDocument;
}

/** The error format of OAuth's own endpoints (RFC 6749, 5.2). */
const OAUTH_ERRORS: ErrorCodec = {
  wire: "oauth",
  body: (error) => ({ error: error.code, error_description: `${error.message} ${error.hint}` }),
};

/** Where signed-in people try things, with play money where the request says so. */
const PLAYGROUND = "/try/";

/** The signed-in person as a caller. A change needs the session's token in `x-csrf-token`. */
export function signedIn({
  sessions,
  callerOfKey,
  playKey,
}: Pick<PeopleParts, "sessions" | "callerOfKey" | "playKey">) {
  return async (request: GatewayRequest): Promise<Caller | GatewayError> => {
    const session = await sessions.of(request);
    if (session === null)
      return new GatewayError("invalid_token", { detail: "No key was sent, and nobody has signed in." });
    const changes = request.method !== "GET" && request.method !== "HEAD";
    if (changes && !isCsrf(session, request.headers.get("x-csrf-token"))) {
      const detail = "The x-csrf-token header is not that of the session: a page of another site may have sent this.";
      return new GatewayError("invalid_token", { detail });
    }
    const caller = await callerOfKey(session.accountId, session.keyId);
    const plays = request.path.startsWith(PLAYGROUND) && request.headers.get("x-tollgate-sandbox") === "1";
    if (!plays || caller instanceof GatewayError || caller.sandbox) return caller;
    const play = await playKey(session.accountId);
    if (play !== null) return callerOfKey(play.accountId, play.keyId);
    return new GatewayError("invalid_token", { detail: "This gateway has no sandbox (SANDBOX=0)." });
  };
}

/** Sign-in alone, where clients cannot request grants. */
export function peopleEndpoints(parts: PeopleParts): readonly Endpoint[] {
  return signInEndpoints(parts).map((spec) => Object.assign({ errors: OAUTH_ERRORS }, spec));
}

/** All endpoints: metadata, the protocol, and the pages for people. */
export function oauthEndpoints(parts: OAuthParts): readonly Endpoint[] {
  const { base, keys, take } = parts;
  /** The server of the current month's keys. */
  const opened = new Map<string, Promise<OAuthServer>>();

  /** Loads the server on first use, so that it does not slow the gateway's start. */
  async function open(): Promise<OAuthServer> {
    const { OAuthServer } = await import("../oauth/server.ts");
    const mayFetch = () => take("client documents", DOCUMENTS);
    const readToken = accessTokenReader(keys, base, parts.clock);
    const errorPage = (words: string) => messagePage("This did not work", words);
    return new OAuthServer(Object.assign({ mayFetch, readToken, errorPage }, parts, { base: base(), keys: keys() }));
  }

  function server(): Promise<OAuthServer> {
    const { month } = keys();
    if (!opened.has(month)) opened.clear();
    return getOrLoad(opened, month, open);
  }

  async function relay(request: GatewayRequest): Promise<Answer> {
    return (await server()).relay(request);
  }

  /** For requests that store something before anybody has signed in. */
  function limited(what: string, perAddress: number, overall: number) {
    return async (request: GatewayRequest): Promise<Answer> => {
      const address = `${what} ${parts.addressKey(request.address)}`;
      if (!(await take(address, perAddress))) throw tooOften(perAddress);
      if (!(await take(what, overall))) throw tooOften(overall);
      return relay(request);
    };
  }

  const ask = limited("ask", ASKS_PER_ADDRESS, ASKS);

  const endpoint = (method: "GET" | "POST", path: string) => browserEndpoint(method, path, relay);
  const all = [
    ...metadataEndpoints(base),
    endpoint("GET", "/.well-known/oauth-authorization-server"),
    endpoint("GET", "/.well-known/openid-configuration"),
    endpoint("GET", "/oauth/jwks"),
    browserEndpoint("GET", "/oauth/authorize", ask),
    endpoint("GET", "/oauth/authorize/{uid}"),
    endpoint("POST", "/oauth/token"),
    endpoint("POST", "/oauth/revoke"),
    browserEndpoint("POST", "/oauth/device/code", ask),
    browserEndpoint("POST", "/oauth/register", limited("register", REGISTRATIONS_PER_ADDRESS, REGISTRATIONS)),
    ...signInEndpoints(parts),
    ...(parts.openId === null ? [] : openIdEndpoints(parts, parts.openId)),
    ...consentEndpoints(Object.assign({ server }, parts)),
  ];
  return all.map((spec) => Object.assign({ errors: OAUTH_ERRORS }, spec));
}
