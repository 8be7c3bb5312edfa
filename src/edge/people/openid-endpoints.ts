// Sign-in with the operator's OpenID provider: the redirect to it, the callback, and linking an account.
import type { Answer, EndpointSpec, GatewayRequest } from "../../core/endpoint.ts";
import { browserEndpoint, fieldsOf, ownPath, seeOther } from "../oauth/forms.ts";
import type { Identities, Place } from "../oauth/identities.ts";
import type { Identity, OpenIdProvider } from "../oauth/openid-provider.ts";
import { createOpenIdWay } from "../oauth/openid-way.ts";
import type { OAuthParts } from "./oauth.ts";
import { goOnPage, messagePage, signedForm } from "./person-pages.ts";

const CALLBACK = "/sign-in/oidc/callback";

export interface OpenIdDoor {
  readonly provider: OpenIdProvider;
  readonly identities: Identities;
  /** Opens an account for an unknown person; null: accounts are not opened this way. */
  readonly openAccount: ((identity: Identity, address: string, ids: Place) => Promise<Place>) | null;
}

/** What is stored of a sign-in while the person is at the provider. */
interface Flow {
  readonly next: string;
  /** The account that requested the link; null: the identity determines it. */
  readonly accountId: string | null;
}

function createSignIn(parts: OAuthParts, { provider, identities, openAccount }: OpenIdDoor) {
  const { sessions, records, base, addressKey, take } = parts;
  const own = { callback: CALLBACK, name: "oidc", claims: [] };
  const way = createOpenIdWay<Flow>({ provider, records, base, addressKey, take, ...own });
  const told = (status: number, words: string): Answer =>
    messagePage("You are not signed in by this", `${provider.host} ${words}`, status);

  async function enter(request: GatewayRequest, { next }: Flow, identity: Identity): Promise<Answer> {
    const known = await identities.of(identity);
    if (known !== null && known !== "opening") return signedIn(request, next, known);
    const who = identity.email ?? "you";
    if (openAccount === null) {
      const words = `knows ${who}, but no account here is linked to that. Sign in with the account's key once, and link it there.`;
      return told(403, words);
    }
    if (identity.email === null)
      return told(403, "has not verified an e-mail address of yours, which an account here needs.");
    const place = await identities.opened(identity, (ids) => openAccount(identity, request.address, ids));
    if (place === null) return told(409, `knows ${who}, whose account is just being opened. Begin the sign-in anew.`);
    return signedIn(request, next, place);
  }

  async function signedIn(request: GatewayRequest, next: string, { accountId, keyId }: Place): Promise<Answer> {
    return seeOther(next, [await sessions.begin(request, accountId, keyId)]);
  }

  async function link(request: GatewayRequest, { next, accountId }: Flow, identity: Identity): Promise<Answer> {
    const session = await sessions.of(request);
    if (session === null || session.accountId !== accountId)
      return told(403, "knows you, but the account that asked is not the one that is signed in. Nothing was linked.");
    const isLinked = await identities.link(identity, session);
    if (isLinked) return seeOther(next);
    return told(409, "knows you as one that is linked to an account already. Remove it there first.");
  }

  return {
    /** The provider's URL with the cookie that binds the callback to this browser; or a page with the problem. */
    async begin(request: GatewayRequest, next: string, accountId: string | null) {
      const begun = await way.begin(request, { next, accountId });
      return begun ?? told(503, "cannot be reached just now. Try again, or sign in with the key.");
    },
    async end(request: GatewayRequest): Promise<Answer> {
      const ended = await way.end(request);
      if (ended === "lost") return told(400, "sent you back without what you left with. Begin the sign-in anew.");
      if (ended === "away") return told(503, "cannot be reached just now. Begin the sign-in anew.");
      if (ended === "refused") return told(400, "did not say who you are. Begin the sign-in anew.");
      const { who, own: flow } = ended;
      const answer = await (flow.accountId === null ? enter(request, flow, who) : link(request, flow, who));
      return { ...answer, cookies: [...(answer.cookies ?? []), way.forgotten()] };
    },
  };
}

/** `/sign-in/oidc`, `/sign-in/oidc/callback`; for people signed in with the key also `/sign-in/oidc/link` and `/unlink`. */
export function openIdEndpoints(parts: OAuthParts, door: OpenIdDoor): readonly EndpointSpec[] {
  const signIn = createSignIn(parts, door);
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
        // The page's policy lets forms submit only to us, so the person continues by a link.
        return { ...goOnPage(begun.url, door.provider.host), cookies: [begun.cookie] };
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
