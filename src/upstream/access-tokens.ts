// Bearer tokens that live for a while: fetched for our key where one is needed, kept until they are about to lapse, asked for once at a time.
import { createSign } from "node:crypto";
import type { Dispatcher } from "undici";
import { request } from "undici";
import type { Adapter } from "../catalog/catalog.ts";
import type { Clock } from "../clock.ts";
import { isRecord } from "../json.ts";
import { failureOfKind, VendorFailure } from "./vendor-failure.ts";

/** A token that lapses sooner is fetched anew. */
const LEFT_MS_MIN = 60_000;
const FETCH_MS_MAX = 10_000;
const LIFE_S = 3_600;

export interface AccessTokens {
  /** At once where one is kept. Rejects with VendorFailure where none can be had. */
  of(adapter: Adapter, key: string): string | Promise<string>;
  /** The vendor has refused the one that is kept. */
  forget(adapter: Adapter, key: string): void;
}

interface Kept {
  readonly token: string;
  /** On `clock.elapsedMs()`. */
  readonly lapsesMs: number;
}

/** What a token server is sent. */
interface TokenRequest {
  readonly url: string;
  readonly form: Readonly<Record<string, string>>;
}

function base64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function refused(message: string): VendorFailure {
  return new VendorFailure({ ...failureOfKind("provider_auth_failed", message), mayHaveRun: false });
}

/** What a service account says of itself, signed by its key (RFC 7523, RS256). */
function assertionRequest(scope: string, key: string, nowS: number): TokenRequest {
  const account: unknown = JSON.parse(key);
  const { client_email, private_key, private_key_id, token_uri } = isRecord(account) ? account : {};
  if (typeof client_email !== "string" || typeof private_key !== "string" || typeof token_uri !== "string") {
    throw refused("the key file of the service account lacks client_email, private_key or token_uri");
  }
  const head = base64url({ alg: "RS256", typ: "JWT", kid: private_key_id });
  const claims = base64url({ iss: client_email, scope, aud: token_uri, iat: nowS, exp: nowS + LIFE_S });
  const signature = createSign("RSA-SHA256").update(`${head}.${claims}`).sign(private_key, "base64url");
  return {
    url: token_uri,
    form: {
      grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
      assertion: `${head}.${claims}.${signature}`,
    },
  };
}

function tokenRequest({ spec: { auth }, origins }: Adapter, key: string, nowS: number): TokenRequest {
  if (auth.kind === "service-account") return assertionRequest(auth.scope, key, nowS);
  if (auth.kind !== "client-credentials") throw new Error("a token was asked for a key that is none's");
  const [tenant = "", client_id = "", client_secret = ""] = key.split("\n");
  return {
    url: `${origins[auth.origin] ?? ""}${auth.path.replace("{tenant}", encodeURIComponent(tenant))}`,
    form: { grant_type: "client_credentials", client_id, client_secret, scope: auth.scope },
  };
}

export function createAccessTokens(clock: Clock, dispatcher: Dispatcher): AccessTokens {
  const kept = new WeakMap<Adapter, Map<string, Kept | Promise<string>>>();

  function tokensOf(adapter: Adapter): Map<string, Kept | Promise<string>> {
    const known = kept.get(adapter);
    if (known !== undefined) return known;
    const fresh = new Map<string, Kept | Promise<string>>();
    kept.set(adapter, fresh);
    return fresh;
  }

  async function ask({ url, form }: TokenRequest): Promise<{ readonly token: string; readonly lifeS: number }> {
    const { statusCode, body } = await request(url, {
      dispatcher,
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/json" },
      body: new URLSearchParams(form).toString(),
      signal: AbortSignal.timeout(FETCH_MS_MAX),
    });
    const answer: unknown = await body.json().catch(() => null);
    if (statusCode >= 500) {
      throw new VendorFailure(failureOfKind("provider_server_error", `the token server answered ${statusCode}`));
    }
    // Its words may repeat what it was sent, so only the code of its refusal is passed on.
    const code = isRecord(answer) && typeof answer.error === "string" ? answer.error.slice(0, 60) : "no token";
    if (!isRecord(answer) || typeof answer.access_token !== "string") throw refused(`the token server says: ${code}`);
    return { token: answer.access_token, lifeS: Number(answer.expires_in) || 0 };
  }

  async function fetched(adapter: Adapter, key: string): Promise<string> {
    const tokens = tokensOf(adapter);
    try {
      const { token, lifeS } = await ask(tokenRequest(adapter, key, Math.floor(clock.epochMs() / 1000)));
      tokens.set(key, { token, lapsesMs: clock.elapsedMs() + lifeS * 1000 });
      return token;
    } catch (error) {
      tokens.delete(key);
      if (error instanceof VendorFailure) throw error;
      const message = error instanceof Error ? error.message : String(error);
      throw new VendorFailure({ ...failureOfKind("provider_connection_failed", message), mayHaveRun: false });
    }
  }

  return {
    of(adapter, key) {
      const tokens = tokensOf(adapter);
      const known = tokens.get(key);
      if (known instanceof Promise) return known;
      if (known !== undefined && known.lapsesMs - clock.elapsedMs() > LEFT_MS_MIN) return known.token;
      const fetching = fetched(adapter, key);
      tokens.set(key, fetching);
      return fetching;
    },
    forget(adapter, key) {
      const tokens = tokensOf(adapter);
      if (!(tokens.get(key) instanceof Promise)) tokens.delete(key);
    },
  };
}
