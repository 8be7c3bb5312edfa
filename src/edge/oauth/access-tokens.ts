// Verifies a bearer access token (RFC 9068): signed by us, for our audience, unexpired, and with the spending scope.

import { hash, type KeyObject, verify } from "node:crypto";
import type { Clock } from "../../core/clock.ts";
import type { Answer, EndpointSpec } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { isRecord, parsedJson, stringOf } from "../../core/json.ts";
import { putLast } from "../../core/maps.ts";
import type { SigningKeys } from "./signing-keys.ts";

/** The only scope: spending an account's money within a grant (contract, 5.2). */
export const SCOPE = "svc:pay";
const TYPE = "at+jwt";
const ALGORITHM = "ES256";
const TOKEN_CHARS_MAX = 4_096;
/** About one megabyte. */
const GOOD_MAX = 4_096;
const SHAPE = /^([\w-]{1,512})\.([\w-]{1,3000})\.([\w-]{86})$/;

/** The key row that a token stands for, and its expiry. */
export interface ReadToken {
  readonly accountId: string;
  readonly keyId: string;
  readonly clientId: string;
  readonly expiresAtMs: number;
}

/** Null: the text is not an access token. An error says why the token is invalid. */
export type ReadAccessToken = (token: string) => ReadToken | GatewayError | null;

function wrong(detail: string): GatewayError {
  return new GatewayError("invalid_token", { of: "grant", detail });
}

function partOf(text: string): Record<string, unknown> | null {
  const part = parsedJson(Buffer.from(text, "base64url").toString("utf8"));
  return isRecord(part) ? part : null;
}

/** The resources that tokens are for: the API and the MCP server. A token for either is good for both. */
export function resourcesOf(base: string): readonly string[] {
  return [base, `${base}/mcp`];
}

/** Verified signatures by the hash of their tokens: a client sends a token for an hour, and verification is most of its cost. */
function goodSignatures(keys: () => SigningKeys) {
  const keyOf = new Map<string, KeyObject>();
  return (signed: string, signature: string, kid: string): boolean => {
    const key = keys().publicKeys.get(kid);
    if (key === undefined) return false;
    const id = hash("sha256", `${signed}.${signature}`, "base64url");
    if (keyOf.get(id) === key) return true;
    const bytes = Buffer.from(signature, "base64url");
    if (!verify("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" }, bytes)) return false;
    putLast(keyOf, id, key, GOOD_MAX);
    return true;
  };
}

/**
 * Verifies tokens with the current keys. Checks the signature before it trusts any claim (RFC 8725, 2.1 and 3). `base`: the issuer, our own
 * URL.
 */
export function accessTokenReader(keys: () => SigningKeys, base: () => string, clock: Clock): ReadAccessToken {
  const isGood = goodSignatures(keys);
  function readClaims(claims: Record<string, unknown>): ReadToken | GatewayError {
    const { iss, aud, exp, sub, grant, scope, client_id } = claims;
    if (iss !== base()) return wrong("This access token was issued by another server.");
    if (typeof aud !== "string" || !resourcesOf(base()).includes(aud))
      return wrong(`This access token is for another resource than ${base()}.`);
    if (typeof exp !== "number" || exp * 1_000 <= clock.epochMs()) return wrong("This access token has expired.");
    if (typeof sub !== "string" || typeof grant !== "string") return wrong("This access token stands for no grant.");
    if (typeof scope !== "string" || !scope.split(" ").includes(SCOPE))
      return new GatewayError("insufficient_scope", { detail: { scope: SCOPE } });
    return { accountId: sub, keyId: grant, clientId: stringOf(client_id) ?? "", expiresAtMs: exp * 1_000 };
  }

  return (token) => {
    if (token.length > TOKEN_CHARS_MAX) return null;
    const [, head = "", body = "", signature = ""] = SHAPE.exec(token) ?? [];
    const header = partOf(head);
    if (header === null) return null;
    if (header.alg !== ALGORITHM) return wrong(`This access token is not signed by ${ALGORITHM}.`);
    if (header.typ !== TYPE) return wrong(`This token is no access token: its type is not ${TYPE}.`);
    if (!isGood(`${head}.${body}`, signature, stringOf(header.kid) ?? ""))
      return wrong("This access token was not signed by this gateway, or by a key that is no longer good.");
    const claims = partOf(body);
    return claims === null ? wrong("This access token has no claims.") : readClaims(claims);
  };
}

const METADATA = "/.well-known/oauth-protected-resource";
const MCP = "/mcp";

/** The WWW-Authenticate header for a path: of a 401, or of a 403 for a missing scope (RFC 6750, 3; RFC 9728, 5.1). */
export function challengeAt(base: string, path: string, { status }: Pick<GatewayError, "status">): string {
  const place = path === MCP || path.startsWith(`${MCP}/`) ? `${METADATA}${MCP}` : METADATA;
  const code = status === 403 ? "insufficient_scope" : "invalid_token";
  return `Bearer realm="tollgate", error="${code}", scope="${SCOPE}", resource_metadata="${base}${place}"`;
}

/** `GET /.well-known/oauth-protected-resource` of the API and of the MCP server. */
export function metadataEndpoints(base: () => string): readonly EndpointSpec[] {
  const of = (at: 0 | 1): Answer => ({
    status: 200,
    body: {
      resource: resourcesOf(base())[at],
      authorization_servers: [base()],
      scopes_supported: [SCOPE],
      bearer_methods_supported: ["header"],
      resource_name: "Tollgate",
    },
    headers: { "cache-control": "public, max-age=300" },
  });
  const open = { method: "GET", auth: "none", bodyBytesMax: 0 } as const;
  return [
    Object.assign({ path: METADATA, answer: () => of(0) }, open),
    Object.assign({ path: `${METADATA}${MCP}`, answer: () => of(1) }, open),
  ];
}
