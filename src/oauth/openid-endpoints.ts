// Signing in by the operator's own OpenID provider: to it, back from it, and what an account does to be reached so.
import { hash, randomBytes } from "node:crypto";
import type { Answer, EndpointSpec, GatewayRequest } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { isRecord, stringOf } from "../json.ts";
import { fieldsOf } from "./choices-form.ts";
import { browserEndpoint, ownPath, pageAnswer, seeOther, signedForm, tooOften } from "./forms.ts";
import type { Identities, Place } from "./identities.ts";
import type { OAuthParts } from "./oauth.ts";
import type { Begun, Identity, OpenIdProvider } from "./openid-provider.ts";
import { cookieOf } from "./sessions.ts";

const CALLBACK = "/sign-in/oidc/callback";
const KIND = "oidc-flow";
/** A person has so long at the provider. */
const FLOW_SECONDS = 600;
/** Sign-ins that begin in a minute, from one address and from all: each is kept until it lapses. */
const BEGUN_PER_ADDRESS = 20;
const BEGUN = 1_000;

export interface OpenIdDoor {
  readonly provider: OpenIdProvider;
  readonly identities: Identities;
  /** Opens an account for a person of whom none is known; null: accounts are not opened so. */
  readonly openAccount: ((identity: Identity, address: string, ids: Place) => Promise<Place | GatewayError>) | null;
}

/** A sign-in between its beginning and its end. */
interface Flow extends Pick<Begun, "verifier" | "nonce"> {
  /** The hash of what the browser's cookie has: in another browser it is worth nothing. */
  readonly browser: string;
  readonly next: string;
  /** The account that asked to be linked; null: it is to be found. */
  readonly accountId: string | null;
}

function cookieName(base: string): string {
  return base.startsWith("https:") ? "__Host-tollgate_oidc" : "tollgate_oidc";
}

function cookie(base: string, value: string, seconds: number): string {
  const isSecure = base.startsWith("https:") ? "; Secure" : "";
  return `${cookieName(base)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${isSecure}`;
}

class OpenIdSignIn {
  readonly #parts: OAuthParts;
  readonly #door: OpenIdDoor;

  constructor(parts: OAuthParts, door: OpenIdDoor) {
    this.#parts = parts;
    this.#door = door;
  }

  /** The address of the provider with the cookie that binds the way back; or what the person is told. */
  async begin(request: GatewayRequest, next: string, accountId: string | null) {
    const { records, base, take, addressKey } = this.#parts;
    if (!(await take(`oidc ${addressKey(request.address)}`, BEGUN_PER_ADDRESS))) return tooOften(BEGUN_PER_ADDRESS);
    if (!(await take("oidc", BEGUN))) return tooOften(BEGUN);
    const begun = await this.#door.provider.begin(base() + CALLBACK);
    if (begun === null) return this.#told(503, "cannot be reached just now. Try again, or sign in with the key.");
    const { url, state, verifier, nonce } = begun;
    const secret = randomBytes(32).toString("base64url");
    const flow: Flow = { verifier, nonce, browser: hash("sha256", secret, "hex"), next, accountId };
    const id = hash("sha256", state, "hex");
    const value = JSON.stringify(flow);
    await records.put({ kind: KIND, id, payer: null, value, ttlMs: FLOW_SECONDS * 1_000, ifVersion: 0 });
    return { url, cookie: cookie(base(), secret, FLOW_SECONDS) };
  }

  /** The browser is back. */
  async end(request: GatewayRequest): Promise<Answer | GatewayError> {
    const { base } = this.#parts;
    const state = request.query.get("state") ?? "";
    const flow = await this.#flowOf(request, state);
    if (flow === null) return this.#told(400, "sent you back without what you left with. Begin the sign-in anew.");
    const url = new URL(`${base()}${CALLBACK}?${request.query}`);
    const identity = await this.#door.provider.finish(url, { ...flow, state });
    if (identity === "away") return this.#told(503, "cannot be reached just now. Begin the sign-in anew.");
    if (identity === "refused") return this.#told(400, "did not say who you are. Begin the sign-in anew.");
    const answer = await (flow.accountId === null
      ? this.#enter(request, flow, identity)
      : this.#link(request, flow, identity));
    if (answer instanceof GatewayError) return answer;
    return { ...answer, cookies: [...(answer.cookies ?? []), cookie(base(), "", 0)] };
  }

  /** Good once, and in the browser that it began in. */
  async #flowOf(request: GatewayRequest, state: string): Promise<Flow | null> {
    const { records, base } = this.#parts;
    const id = hash("sha256", state, "hex");
    const kept = await records.get(KIND, id);
    const flow: unknown = kept === null ? null : JSON.parse(kept.value);
    const secret = cookieOf(request, cookieName(base())) ?? "";
    if (!isRecord(flow) || stringOf(flow.browser) !== hash("sha256", secret, "hex")) return null;
    // Of two that come with it at once one has it.
    return (await records.delete(KIND, id)) ? (flow as unknown as Flow) : null;
  }

  async #enter(request: GatewayRequest, { next }: Flow, identity: Identity): Promise<Answer | GatewayError> {
    const { identities, openAccount } = this.#door;
    const known = await identities.of(identity);
    if (known !== null && known !== "opening") return this.#signedIn(request, next, known);
    const who = identity.email ?? "you";
    if (openAccount === null) {
      const words = `knows ${who}, but no account here is linked to that. Sign in with the account's key once, and link it there.`;
      return this.#told(403, words);
    }
    if (identity.email === null)
      return this.#told(403, "has not verified an e-mail address of yours, which an account here needs.");
    const place = await identities.opened(identity, (ids) => openAccount(identity, request.address, ids));
    if (place === null)
      return this.#told(409, `knows ${who}, whose account is just being opened. Begin the sign-in anew.`);
    return place instanceof GatewayError ? place : this.#signedIn(request, next, place);
  }

  async #signedIn(request: GatewayRequest, next: string, { accountId, keyId }: Place): Promise<Answer> {
    return seeOther(next, [await this.#parts.sessions.begin(request, accountId, keyId)]);
  }

  async #link(request: GatewayRequest, { next, accountId }: Flow, identity: Identity): Promise<Answer> {
    const session = await this.#parts.sessions.of(request);
    if (session === null || session.accountId !== accountId)
      return this.#told(
        403,
        "knows you, but the account that asked is not the one that is signed in. Nothing was linked.",
      );
    const isLinked = await this.#door.identities.link(identity, session);
    if (isLinked) return seeOther(next);
    return this.#told(409, "knows you as one that is linked to an account already. Remove it there first.");
  }

  #told(status: number, words: string): Answer {
    const { pages } = this.#parts;
    const { host } = this.#door.provider;
    return pageAnswer(pages.message({ title: "You are not signed in by this", words: `${host} ${words}` }), status);
  }
}

/** `/sign-in/oidc`, `/sign-in/oidc/callback`; for those who have signed in with the key `/sign-in/oidc/link` and `/unlink`. */
export function openIdEndpoints(parts: OAuthParts, door: OpenIdDoor): readonly EndpointSpec[] {
  const signIn = new OpenIdSignIn(parts, door);
  const { identities } = door;
  return [
    browserEndpoint("GET", "/sign-in/oidc", async (request) => {
      const begun = await signIn.begin(request, ownPath(request.query.get("next"), parts.home), null);
      return "url" in begun ? seeOther(begun.url, [begun.cookie]) : begun;
    }),
    browserEndpoint("GET", CALLBACK, (request) => signIn.end(request)),
    browserEndpoint(
      "POST",
      "/sign-in/oidc/link",
      signedForm(parts, async (request, { accountId }) => {
        const begun = await signIn.begin(request, "/sign-in", accountId);
        if (!("url" in begun)) return begun;
        // A form of ours leads to us alone, by its page's policy: the person goes on by a link.
        const page = parts.pages.goOn({ to: begun.url, host: door.provider.host });
        return { ...pageAnswer(page), cookies: [begun.cookie] };
      }),
    ),
    browserEndpoint(
      "POST",
      "/sign-in/oidc/unlink",
      signedForm(parts, async (request, { accountId }) => {
        await identities.unlink(accountId, fieldsOf(request.body).id ?? "");
        return seeOther("/sign-in");
      }),
    ),
  ];
}
