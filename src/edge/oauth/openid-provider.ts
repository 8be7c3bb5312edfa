// The operator's OpenID provider, with us as its client: where to send a browser, and who returns (OpenID Connect Core, 3.1).
import type { Configuration } from "openid-client";
import type { Clock } from "../../core/clock.ts";

/** The provider's metadata is fetched again after this time. */
const KEPT_MS = 3_600_000;
const SUBJECT_CHARS_MAX = 255;

export interface OpenIdSettings {
  readonly issuer: string;
  readonly clientId: string;
  /** Null: we are a public client, and PKCE alone binds the code. */
  readonly clientSecret: string | null;
}

/** Sends a request to the provider, with limits on size and time. Rejects with ProviderAway where no answer arrives. */
export type AskProvider = (
  url: string,
  request: {
    readonly method: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string | null;
  },
) => Promise<Response>;

export class ProviderAway extends Error {}

/** A started sign-in, to be stored until the browser returns. */
export interface Begun {
  readonly url: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

export interface Identity {
  readonly issuer: string;
  readonly subject: string;
  /** Null: the provider gives none, or has not verified it. */
  readonly email: string | null;
}

/** With the provider's other claims, such as groups; they are not stored. */
export interface SignedIn extends Identity {
  readonly claims: Readonly<Record<string, unknown>>;
}

export type OpenIdProvider = ReturnType<typeof createOpenIdProvider>;

function isAway(error: unknown): boolean {
  if (error instanceof ProviderAway) return true;
  return error instanceof Error && error.cause !== undefined && isAway(error.cause);
}

/** `onRefused`: why an answer was invalid, for the log. */
export function createOpenIdProvider(
  { issuer, clientId, clientSecret }: OpenIdSettings,
  ask: AskProvider,
  clock: Clock,
  onRefused: (error: unknown) => void,
) {
  let known: { readonly config: Configuration; readonly untilMs: number } | null = null;

  /** Loaded for the first sign-in, so that it does not slow the gateway's start. */
  const library = () => import("openid-client");

  async function discover(): Promise<Configuration> {
    if (known !== null && known.untilMs > clock.elapsedMs()) return known.config;
    const client = await library();
    const secret = clientSecret === null ? client.None() : client.ClientSecretBasic(clientSecret);
    const isPlain = issuer.startsWith("http:");
    const config = await client.discovery(new URL(issuer), clientId, undefined, secret, {
      [client.customFetch]: (url, { method, headers, body }) =>
        ask(url, { method, headers, body: body == null ? null : String(body) }),
      // The settings check that an address without TLS is on this machine.
      execute: [client.enableNonRepudiationChecks, ...(isPlain ? [client.allowInsecureRequests] : [])],
    });
    known = { config, untilMs: clock.elapsedMs() + KEPT_MS };
    return config;
  }

  return {
    host: new URL(issuer).host,
    /**
     * Null: the provider is unreachable. `claims`: wanted besides subject and e-mail address, requested as scopes where the provider supports
     * them.
     */
    async begin(redirectUri: string, claims: readonly string[]): Promise<Begun | null> {
      try {
        const client = await library();
        const config = await discover();
        const verifier = client.randomPKCECodeVerifier();
        const [state, nonce] = [client.randomState(), client.randomNonce()];
        const known = config.serverMetadata().scopes_supported ?? [];
        const url = client.buildAuthorizationUrl(config, {
          redirect_uri: redirectUri,
          scope: [...new Set(["openid", "email", ...claims.filter((name) => known.includes(name))])].join(" "),
          state,
          nonce,
          code_challenge: await client.calculatePKCECodeChallenge(verifier),
          code_challenge_method: "S256",
        });
        return { url: url.href, state, nonce, verifier };
      } catch (error) {
        onRefused(error);
        return null;
      }
    },
    /** `url`: the callback URL with its parameters. `refused`: they are invalid, or the person declined. */
    async finish(
      url: URL,
      { state, nonce, verifier }: Omit<Begun, "url">,
      wanted: readonly string[],
    ): Promise<SignedIn | "away" | "refused"> {
      try {
        const client = await library();
        const bound = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
        const config = await discover();
        const tokens = await client.authorizationCodeGrant(config, url, bound);
        const claims = tokens.claims();
        if (claims === undefined || claims.sub === "" || claims.sub.length > SUBJECT_CHARS_MAX) return "refused";
        // Many providers return the e-mail address only from the userinfo endpoint (OpenID Connect Core, 5.4).
        const isWhole = ["email", ...wanted].every((name) => claims[name] !== undefined);
        const isTold = isWhole || config.serverMetadata().userinfo_endpoint === undefined;
        const about = isTold ? claims : await client.fetchUserInfo(config, tokens.access_token, claims.sub);
        const { email, email_verified: isVerified } = about;
        const isEmail = typeof email === "string" && email.length <= SUBJECT_CHARS_MAX && isVerified === true;
        return { issuer, subject: claims.sub, email: isEmail ? email : null, claims: { ...about, ...claims } };
      } catch (error) {
        onRefused(error);
        return isAway(error) ? "away" : "refused";
      }
    },
  };
}
