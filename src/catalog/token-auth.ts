// Keys that are exchanged for a token or sign one: OAuth clients, service accounts and signing keys. Vendors get the token.

import { createPrivateKey, createSign, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { isRecord } from "../core/json.ts";
import { getOrMake } from "../core/maps.ts";
import { type Auth, bearer, type Credentials, must, type TokenRequest, withHeaders } from "./auth.ts";

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
 * Exchanges the parts of a key (tenant, client id and secret) for a bearer token (RFC 6749, 4.4). `origin` is one of the adapter's
 * origins; `{tenant}` in the path is the first part.
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

/** The token request of a service account, signed with its key (RFC 7523, RS256). */
function assertionRequest(scope: string, key: string, nowS: number): TokenRequest | string {
  const account: unknown = JSON.parse(key);
  const { client_email, private_key, private_key_id, token_uri } = isRecord(account) ? account : {};
  if (typeof client_email !== "string" || typeof private_key !== "string" || typeof token_uri !== "string")
    return "the key file of the service account lacks client_email, private_key or token_uri";
  const head = base64url({ alg: "RS256", typ: "JWT", kid: private_key_id });
  const claims = base64url({ iss: client_email, scope, aud: token_uri, iat: nowS, exp: nowS + TOKEN_LIFE_S });
  const signature = createSign("RSA-SHA256").update(`${head}.${claims}`).sign(private_key, "base64url");
  const grant_type = "urn:ietf:params:oauth:grant-type:jwt-bearer";
  return { url: token_uri, form: { grant_type, assertion: `${head}.${claims}.${signature}` } };
}

/** Exchanges a service account's signed assertion for a token (RFC 7523). The key is the JSON of its key file, or the path. */
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
  return getOrMake(keysRead, key, () => createPrivateKey(key.replaceAll("\\n", "\n")));
}

/** For the sandbox: the public half is not kept, because no signature is verified there. */
let playKey: KeyObject | null = null;

function keyOfSandbox(): KeyObject {
  playKey ??= generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  return playKey;
}

/** Tokens (RFC 7519) signed with our P-256 key (PEM), for scripts. `issuer` is a setting; `claims` are in every token. */
export function jwt(of: { readonly issuer: string; readonly claims: Readonly<Record<string, string>> }): Auth {
  must(of.issuer !== "", "jwt needs a setting for its issuer");
  const signedBy = (keyOf: (key: string) => KeyObject): Auth => ({
    authorize: (request) => request,
    problemOf(key) {
      try {
        if (createPrivateKey(key.replaceAll("\\n", "\n")).asymmetricKeyDetails?.namedCurve === "prime256v1")
          return null;
      } catch {
        // The message does not say what is wrong with a key: it might reveal the key.
      }
      return "is not a private key of P-256 as PEM";
    },
    sign(claims, { key, settings, nowS, lifeS }) {
      const ours = { iss: settings[of.issuer] ?? "", iat: nowS, exp: nowS + lifeS };
      const body = `${base64url({ alg: "ES256", typ: "JWT" })}.${base64url({ ...of.claims, ...claims, ...ours })}`;
      // RFC 7518, 3.4: the signature's two numbers concatenated, not as ASN.1.
      const signature = sign("sha256", Buffer.from(body), { key: keyOf(key), dsaEncoding: "ieee-p1363" });
      return `${body}.${signature.toString("base64url")}`;
    },
  });
  return { ...signedBy(privateKeyOf), inSandbox: signedBy(keyOfSandbox) };
}
