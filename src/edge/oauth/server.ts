// The authorization server (OAuth 2.1), behind our own listener. This file and its dependencies are loaded for the first request to it.
import inject, { type DispatchFunc } from "light-my-request";
import Provider, { type AdapterPayload, type Configuration, errors, type Interaction } from "oidc-provider";
import type { Answer, GatewayRequest } from "../../core/endpoint.ts";
import { mediaTypeOf } from "../../core/event-stream.ts";
import { isRecord, stringOf } from "../../core/json.ts";
import { resourcesOf, SCOPE } from "./access-tokens.ts";
import { type AdapterParts, adapterOf, keepClient, oneWord } from "./adapter.ts";
import type { SigningKeys } from "./signing-keys.ts";

const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 86_400;
const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const CLIENT_AUTH_METHODS: NonNullable<Configuration["clientAuthMethods"]> = [
  "none",
  "client_secret_basic",
  "client_secret_post",
];
const DOCUMENT_MS_MAX = 2_500;
export const DOCUMENT_BYTES_MAX = 16_384;
/** The headers that are passed on to the client; the listener sets the others. */
const TOLD_HEADERS = ["content-type", "location", "cache-control", "www-authenticate", "allow"] as const;
const SESSION_COOKIE = "_session";

/** Fetches a client's metadata document, only from the public internet. Rejects where that fails. */
export type ReadDocument = (url: string, bounds: { msMax: number; bytesMax: number }) => Promise<Response>;

export interface ServerParts extends AdapterParts {
  readonly base: string;
  readonly keys: SigningKeys;
  readonly readDocument: ReadDocument;
  /** Whether one more metadata document may be fetched now. */
  readonly mayFetch: () => Promise<boolean>;
  readonly errorPage: (words: string) => Answer;
}

/** A client that waits for a person's decision. */
export interface Asking {
  /** `place`: where the client's answer goes, or its own page; by this the person can judge it. */
  readonly client: { readonly name: string; readonly place: string };
  /** The URL to which the browser returns; null: the client is a device and polls. */
  readonly leadsTo: string | null;
}

function featuresOf({ base, mayFetch }: ServerParts): Configuration["features"] {
  const resources = resourcesOf(base);
  return {
    devInteractions: { enabled: false },
    dPoP: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    userinfo: { enabled: false },
    registration: { enabled: true },
    revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
    deviceFlow: { enabled: true, mask: "****-****", charset: "base-20" },
    clientIdMetadataDocument: { enabled: true, ack: "draft-02", allowFetch: () => mayFetch() },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => base,
      useGrantedResource: () => true,
      getResourceServerInfo(_ctx, resource) {
        const named = resource.replace(/\/$/, "");
        if (!resources.includes(named)) throw new errors.InvalidTarget();
        return {
          scope: SCOPE,
          audience: named,
          accessTokenFormat: "jwt",
          accessTokenTTL: HOUR_SECONDS,
          jwt: { sign: { alg: "ES256" } },
        };
      },
    },
  };
}

function configurationOf(parts: ServerParts): Configuration {
  const { keys, readDocument, errorPage } = parts;
  return {
    adapter: (name: string) => adapterOf(name, parts),
    jwks: { keys: keys.all.map(({ kty, crv, alg, use, kid, x, y, d }) => ({ kty, crv, alg, use, kid, x, y, d })) },
    clientDefaults: {
      // Most clients run on a person's machine and declare nothing: their redirect URIs are loopback addresses with any port.
      application_type: "native",
      grant_types: ["authorization_code", "refresh_token", DEVICE_GRANT],
      id_token_signed_response_alg: "ES256",
    },
    clientAuthMethods: CLIENT_AUTH_METHODS,
    discovery: { revocation_endpoint_auth_methods_supported: CLIENT_AUTH_METHODS },
    // With null, its default, the server would announce a claim that no token has; a list would make it a scope.
    claims: { sid: false as unknown as null },
    // Revoking either token ends the grant (RFC 7009, 2.1): resource servers verify access tokens without calling us.
    revokeGrantPolicy: () => true,
    enabledJWA: { idTokenSigningAlgValues: ["ES256"] },
    // Clients copy the scope from the challenge into their registration and documents; the server refuses scopes that it does not list.
    scopes: [...OPENID_SCOPES, SCOPE],
    responseTypes: ["code"],
    routes: {
      authorization: "/oauth/authorize",
      token: "/oauth/token",
      registration: "/oauth/register",
      revocation: "/oauth/revoke",
      jwks: "/oauth/jwks",
      device_authorization: "/oauth/device/code",
      code_verification: "/oauth/device",
    },
    interactions: { url: (_ctx, interaction) => `/oauth/consent/${interaction.uid}` },
    pkce: { required: () => true },
    features: featuresOf(parts),
    extraTokenClaims: (_ctx, token) => ("grantId" in token ? { grant: token.grantId } : undefined),
    findAccount: (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed("refresh_token"),
    rotateRefreshToken: () => true,
    expiresWithSession: () => false,
    fetch: (url: string | URL | Request) =>
      readDocument(String(url), { msMax: DOCUMENT_MS_MAX, bytesMax: DOCUMENT_BYTES_MAX }),
    ttl: {
      AccessToken: HOUR_SECONDS,
      AuthorizationCode: 60,
      DeviceCode: 600,
      Interaction: HOUR_SECONDS,
      Session: HOUR_SECONDS,
      RefreshToken: 90 * DAY_SECONDS,
      Grant: 400 * DAY_SECONDS,
      IdToken: HOUR_SECONDS,
    },
    renderError(ctx, out) {
      const { body, headers = {} } = errorPage(out.error_description ?? out.error);
      ctx.type = "html";
      ctx.set("content-security-policy", headers["content-security-policy"] ?? "");
      ctx.body = body;
    },
  };
}

/** A client that names no scope gets the only one there is (RFC 6749, 3.3). */
function withScope(fields: URLSearchParams): string {
  if (!fields.has("scope")) fields.set("scope", SCOPE);
  return fields.toString();
}

function withOneWord(fields: URLSearchParams): string {
  fields.set("token", oneWord(fields.get("token") ?? ""));
  return fields.toString();
}

/** Changes to clients' forms before the server parses them. */
const FORM_CHANGES: Readonly<Record<string, (fields: URLSearchParams) => string>> = {
  "/oauth/device/code": withScope,
  "/oauth/revoke": withOneWord,
};

/** Drops the server's own session cookie, so that every authorization requires a person. */
function knownCookies(request: GatewayRequest): string {
  const all = (request.headers.get("cookie") ?? "").split(";").map((one) => one.trim());
  return all.filter((one) => !one.startsWith(SESSION_COOKIE)).join("; ");
}

const OPENID_SCOPES = ["openid", "offline_access"];

function textOf(value: unknown): string {
  return Array.isArray(value) ? value.join(" ") : (stringOf(value) ?? "");
}

function scopesOf(params: Record<string, unknown>): string {
  const known = new Set([...OPENID_SCOPES, SCOPE]);
  return textOf(params.scope)
    .split(" ")
    .filter((scope) => known.has(scope))
    .join(" ");
}

/** Answers a protocol request without a socket. */
async function relayed(request: GatewayRequest, handle: DispatchFunc, base: string): Promise<Answer> {
  const { host, protocol } = new URL(base);
  const { method, path, body } = request;
  const query = new URLSearchParams(request.query);
  const isAuthorize = path === "/oauth/authorize";
  const asked = isAuthorize ? withScope(query) : query.toString();
  const isForm = mediaTypeOf(request.headers.get("content-type")) === "application/x-www-form-urlencoded";
  const change = isForm ? FORM_CHANGES[path] : undefined;
  const payload = change === undefined ? body : Buffer.from(change(new URLSearchParams(body.toString("utf8"))));
  const headers: Record<string, string> = { host, "x-forwarded-proto": protocol.slice(0, -1) };
  for (const name of ["authorization", "content-type"]) {
    const value = request.headers.get(name);
    if (value !== undefined) headers[name] = value;
  }
  headers.cookie = knownCookies(request);
  const options = { method: method as "GET" | "POST", url: asked === "" ? path : `${path}?${asked}`, headers };
  const answered = await inject(handle, payload.length === 0 ? options : Object.assign(options, { payload }));
  const told: Record<string, string> = {};
  for (const name of TOLD_HEADERS) {
    const value = answered.headers[name];
    if (value !== undefined) told[name] = String(value);
  }
  const csp = answered.headers["content-security-policy"];
  if (csp !== undefined) told["content-security-policy"] = String(csp);
  told["content-type"] ??= "text/plain; charset=utf-8";
  const cookies = [answered.headers["set-cookie"] ?? []].flat().filter((one) => !one.startsWith(SESSION_COOKIE));
  return { status: answered.statusCode, body: answered.rawPayload, headers: told, cookies };
}

export class OAuthServer {
  readonly #parts: ServerParts;
  readonly #provider: Provider;
  readonly #handle: DispatchFunc;

  constructor(parts: ServerParts) {
    this.#parts = parts;
    this.#provider = new Provider(parts.base, configurationOf(parts));
    this.#provider.proxy = true;
    this.#handle = this.#provider.callback();
  }

  relay(request: GatewayRequest): Promise<Answer> {
    return relayed(request, this.#handle, this.#parts.base);
  }

  async asking(interactionId: string): Promise<Asking | null> {
    const found = await this.#provider.Interaction.find(interactionId);
    return found === undefined ? null : this.#askingOf(found.params);
  }

  /** Resolves to where the browser continues. */
  async agree(interactionId: string, accountId: string, keyId: string): Promise<string> {
    const interaction = await this.#interactionOf(interactionId);
    await this.#keepGrant(interaction.params, accountId, keyId);
    return this.#finish(interaction, { login: { accountId, remember: false }, consent: { grantId: keyId } });
  }

  async deny(interactionId: string): Promise<string> {
    const interaction = await this.#interactionOf(interactionId);
    return this.#finish(interaction, { error: "access_denied", error_description: "the person has said no" });
  }

  /** For devices, whose codes a person types in. */
  async askingDevice(userCode: string): Promise<Asking | null> {
    const code = await this.#deviceCode(userCode);
    return code === null ? null : this.#askingOf(paramsOf(code));
  }

  async agreeDevice(userCode: string, accountId: string, keyId: string): Promise<void> {
    const code = await this.#deviceCode(userCode);
    if (code === null) throw new Error("the device's code is gone");
    const params = paramsOf(code);
    await this.#keepGrant(params, accountId, keyId);
    const scope = [...new Set([...scopesOf(params).split(" "), SCOPE])].join(" ").trim();
    const resource = textOf(params.resource) || this.#parts.base;
    Object.assign(code, { accountId, grantId: keyId, scope, resource, authTime: code.iat });
    await code.save();
  }

  async denyDevice(userCode: string): Promise<void> {
    const code = await this.#deviceCode(userCode);
    if (code === null) return;
    Object.assign(code, { error: "access_denied", errorDescription: "the person has said no" });
    await code.save();
  }

  async #askingOf(params: Record<string, unknown>): Promise<Asking | null> {
    const client = await this.#provider.Client.find(textOf(params.client_id));
    if (client === undefined) return null;
    const redirect = stringOf(params.redirect_uri) ?? null;
    const place = redirect ?? client.clientUri ?? client.clientId;
    const name = (client.clientName ?? client.clientId).slice(0, 80);
    return { client: { name, place: place.slice(0, 200) }, leadsTo: redirect };
  }

  /** Stores what a person agreed to under the key row's id, so that neither exists without the other. */
  async #keepGrant(params: Record<string, unknown>, accountId: string, keyId: string): Promise<void> {
    const clientId = textOf(params.client_id);
    const grant = new this.#provider.Grant({ accountId, clientId });
    grant.jti = keyId;
    const scopes = scopesOf(params);
    if (scopes !== "") grant.addOIDCScope(scopes);
    for (const resource of resourcesOf(this.#parts.base)) {
      grant.addResourceScope(resource, SCOPE);
      grant.addResourceScope(`${resource}/`, SCOPE);
    }
    await grant.save();
    await keepClient(this.#parts, clientId);
  }

  async #interactionOf(id: string): Promise<Interaction> {
    const found = await this.#provider.Interaction.find(id);
    if (found === undefined) throw new Error("the interaction is gone");
    return found;
  }

  async #finish(interaction: Interaction, result: Interaction["result"]): Promise<string> {
    interaction.result = result;
    await interaction.save(interaction.exp - Math.floor(this.#parts.clock.epochMs() / 1_000));
    return interaction.returnTo;
  }

  async #deviceCode(userCode: string) {
    const code = await this.#provider.DeviceCode.findByUserCode(userCode);
    if (code === undefined || code.isExpired || code.accountId !== undefined || code.error !== undefined) return null;
    return code;
  }
}

function paramsOf({ params }: { readonly params?: unknown }): AdapterPayload {
  return isRecord(params) ? params : {};
}
