// Uses everything that the metadata documents announce, as a client would. A new field fails until it has a use here.
import { createPublicKey, verify } from "node:crypto";
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { Client, GRANT, Person, pkce, REDIRECT, type Tokens } from "./person.ts";

const gateway = forFile(await startTestGateway({ OAUTH: "1", TRUST_PROXY: "1" }));
const account = await gateway.account();

type Json = Record<string, unknown>;
type Granted = Tokens & { readonly id_token: string };
type Metadata = Record<string, Client["clientId"]>;

const AUTHORIZATION = ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"];
const RESOURCES = ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"];
const DEVICE = "urn:ietf:params:oauth:grant-type:device_code";

const documentAt = async (path: string) => (await (await fetch(`${gateway.url}${path}`)).json()) as Json;
const own = (token: string) =>
  fetch(`${gateway.url}/api/v1/account`, { headers: { authorization: `Bearer ${token}` } });
const partOf = (token: string, at: number) =>
  JSON.parse(Buffer.from(token.split(".")[at] ?? "", "base64url").toString("utf8")) as Json;

async function signedIn(): Promise<Person> {
  const person = new Person(gateway.url);
  await person.signIn(account.key);
  return person;
}

/** A client with its own authentication method, and the address that receives its forms. */
async function clientWith(method: string) {
  const client = new Client(gateway.url);
  const made = (await (await client.register({ token_endpoint_auth_method: method })).json()) as Json;
  const { clientId } = client;
  const secret = String(made.client_secret ?? "");
  const basic = `Basic ${Buffer.from(`${clientId}:${secret}`).toString("base64")}`;
  const fields: Json = method === "client_secret_basic" ? {} : { client_id: clientId };
  if (method === "client_secret_post") fields.client_secret = secret;
  const headers: Record<string, string> = { "x-forwarded-for": client.address };
  if (method === "client_secret_basic") headers.authorization = basic;
  const post = (url: string, more: Record<string, string>) =>
    fetch(url, { method: "POST", headers, body: new URLSearchParams({ ...(fields as typeof more), ...more }) });
  return { client, post };
}

async function tokensFor(method: string, more: Record<string, string> = {}) {
  const metadata = (await documentAt(AUTHORIZATION[0] ?? "")) as Metadata;
  const { client, post } = await clientWith(method);
  const { verifier, challenge } = pkce();
  const back = await client.ask(await signedIn(), challenge, {}, more);
  const code = back.searchParams.get("code") ?? "";
  const fields = { grant_type: "authorization_code", code, redirect_uri: REDIRECT, code_verifier: verifier };
  const answer = await post(String(metadata.token_endpoint), fields);
  expect(answer.status).toBe(200);
  return { back, client, metadata, post, tokens: (await answer.json()) as Granted };
}

async function isGood(token: string): Promise<void> {
  expect((await own(token)).status).toBe(200);
}

async function byDevice({ client, metadata, post }: Awaited<ReturnType<typeof tokensFor>>) {
  const begun = (await (await post(String(metadata.device_authorization_endpoint), {})).json()) as Json;
  const person = await signedIn();
  const userCode = String(begun.user_code);
  const csrf = await person.csrf(`/oauth/device?user_code=${userCode}`);
  await person.submit("/oauth/device", { ...GRANT, csrf, user_code: userCode });
  const fields = { grant_type: DEVICE, device_code: String(begun.device_code) };
  expect(client.clientId).not.toBe("");
  return post(String(metadata.token_endpoint), fields);
}

const GRANTS: Readonly<Record<string, (set: Awaited<ReturnType<typeof tokensFor>>) => Promise<Response | Tokens>>> = {
  authorization_code: async ({ tokens }) => tokens,
  refresh_token: ({ metadata, post, tokens }) =>
    post(String(metadata.token_endpoint), { grant_type: "refresh_token", refresh_token: tokens.refresh_token }),
  [DEVICE]: byDevice,
};

/** Parses an answer to the authorization request, for each response mode. */
const MODES: Readonly<Record<string, (resumed: Response) => Promise<URLSearchParams>>> = {
  query: async (resumed) => new URL(resumed.headers.get("location") ?? "").searchParams,
  fragment: async (resumed) => new URLSearchParams(new URL(resumed.headers.get("location") ?? "").hash.slice(1)),
  form_post: async (resumed) => {
    const page = await resumed.text();
    expect(page).toContain(`action="${REDIRECT}"`);
    expect(resumed.headers.get("content-security-policy")).toBeNull();
    const fields = [...page.matchAll(/name="(\w+)" value="([^"]*)"/g)];
    return new URLSearchParams(fields.map(([, name = "", value = ""]): [string, string] => [name, value]));
  },
};

async function inMode(mode: string): Promise<void> {
  const client = new Client(gateway.url);
  await client.register();
  const { verifier, challenge } = pkce();
  const person = await signedIn();
  const begun = await person.open(client.authorizePath(challenge, { response_mode: mode }));
  const consent = begun.headers.get("location") ?? "";
  const decided = await person.submit(consent, { ...GRANT, csrf: await person.csrf(consent) });
  const resumed = await person.open(decided.headers.get("location") ?? "");
  const parts = await (MODES[mode] ?? (() => Promise.reject(new Error(`no use of ${mode}`))))(resumed);
  const exchanged = await client.exchange(parts.get("code") ?? "", verifier);
  expect([exchanged.status, parts.get("iss")]).toEqual([200, gateway.url]);
}

const listOf = (value: unknown) => value as readonly string[];
const isOurs = async (value: unknown) => expect(value).toBe(gateway.url);

/** Sends an endpoint an invalid request: the endpoint exists, and accepts the method. */
async function isThere(value: unknown): Promise<void> {
  const answers = await Promise.all(
    ["GET", "POST"].map((method) => fetch(String(value), { method, redirect: "manual" })),
  );
  expect(answers.map(({ status }) => status).some((status) => ![404, 405].includes(status))).toBe(true);
}

/** A use of every field, which fails where the announced feature does not work. */
const USES: Readonly<Record<string, (value: unknown) => Promise<unknown>>> = {
  issuer: isOurs,
  resource: async (value) => expect([gateway.url, `${gateway.url}/mcp`]).toContain(value),
  authorization_servers: (value) => isOurs(listOf(value)[0]),
  resource_name: async (value) => expect(value).toBe("Tollgate"),
  bearer_methods_supported: async (value) => {
    expect(value).toEqual(["header"]);
    await isGood((await tokensFor("none")).tokens.access_token);
  },
  authorization_endpoint: isThere,
  token_endpoint: isThere,
  registration_endpoint: isThere,
  device_authorization_endpoint: isThere,
  jwks_uri: isThere,
  revocation_endpoint: isThere,
  code_challenge_methods_supported: async (value) => expect(value).toEqual(["S256"]),
  response_types_supported: async (value) => expect(value).toEqual(["code"]),
  response_modes_supported: async (value) => {
    for (const mode of listOf(value)) await inMode(mode);
  },
  grant_types_supported: async (value) => {
    for (const grant of listOf(value)) {
      const used = await GRANTS[grant]?.(await tokensFor("none"));
      const tokens = used instanceof Response ? ((await used.json()) as Tokens) : used;
      await isGood(tokens?.access_token ?? `nothing by ${grant}`);
    }
  },
  token_endpoint_auth_methods_supported: async (value) => {
    for (const method of listOf(value)) await isGood((await tokensFor(method)).tokens.access_token);
  },
  revocation_endpoint_auth_methods_supported: async (value) => {
    for (const method of listOf(value))
      for (const name of ["access_token", "refresh_token"] as const) {
        const { metadata, post, tokens } = await tokensFor(method);
        await isGood(tokens.access_token);
        const fields = { token: tokens[name], token_type_hint: name };
        expect((await post(String(metadata.revocation_endpoint), fields)).status).toBe(200);
        expect((await own(tokens.access_token)).status).toBe(401);
        const refresh = { grant_type: "refresh_token", refresh_token: tokens.refresh_token };
        expect((await post(String(metadata.token_endpoint), refresh)).status).toBe(400);
      }
  },
  scopes_supported: async (value) => {
    const { tokens } = await tokensFor("none", { scope: listOf(value).join(" "), prompt: "consent" });
    await isGood(tokens.access_token);
    expect(typeof tokens.id_token).toBe(listOf(value).includes("openid") ? "string" : "undefined");
    expect(tokens.refresh_token).toEqual(expect.any(String));
    expect((await tokensFor("none", { scope: "svc:pay" })).tokens.scope).toBe("svc:pay");
  },
  claims_supported: async (value) => {
    const { tokens } = await tokensFor("none", { scope: "openid svc:pay", max_age: "3600" });
    expect(Object.keys(partOf(tokens.id_token, 1))).toEqual(expect.arrayContaining([...listOf(value)]));
  },
  id_token_signing_alg_values_supported: async (value) => {
    const { metadata, tokens } = await tokensFor("none", { scope: "openid svc:pay" });
    const { alg, kid } = partOf(tokens.id_token, 0);
    expect([alg]).toEqual(value);
    const { keys } = (await (await fetch(String(metadata.jwks_uri))).json()) as { keys: Json[] };
    const key = createPublicKey({ key: keys.find((one) => one.kid === kid) as Json, format: "jwk" });
    const [head, body, signature = ""] = tokens.id_token.split(".");
    const bytes = Buffer.from(signature, "base64url");
    expect(verify("sha256", Buffer.from(`${head}.${body}`), { key, dsaEncoding: "ieee-p1363" }, bytes)).toBe(true);
  },
  authorization_response_iss_parameter_supported: async () => {
    expect((await tokensFor("none")).back.searchParams.get("iss")).toBe(gateway.url);
  },
  client_id_metadata_document_supported: async () => {
    const client = new Client(gateway.url);
    client.clientId = "https://10.0.0.1/client.json";
    const asked = await (await signedIn()).open(client.authorizePath(pkce().challenge));
    expect(await asked.text()).toContain("metadata document fetch failed");
  },
  subject_types_supported: async (value) => expect(value).toEqual(["public"]),
  claim_types_supported: async (value) => expect(value).toEqual(["normal"]),
  claims_parameter_supported: async (value) => expect(value).toBe(false),
  request_uri_parameter_supported: async (value) => expect(value).toBe(false),
};

describe.each([...AUTHORIZATION, ...RESOURCES])("what %s announces works", (path) => {
  it("field by field", async () => {
    const document = await documentAt(path);
    expect(Object.keys(document).length).toBeGreaterThan(4);
    for (const [name, value] of Object.entries(document)) {
      const use = USES[name];
      if (use === undefined) throw new Error(`${name} is announced, and no client here has used it`);
      await use(value);
    }
  });
});

describe("a revocation", () => {
  it("by another client, of a token that is none or without one, revokes nothing", async () => {
    const { metadata, post, tokens } = await tokensFor("none");
    const other = await clientWith("none");
    const url = String(metadata.revocation_endpoint);
    const forged = `${tokens.access_token.slice(0, -4)}AAAA`;
    expect((await other.post(url, { token: tokens.access_token })).status).toBe(200);
    expect((await post(url, { token: forged })).status).toBe(200);
    expect((await post(url, {})).status).toBe(400);
    await isGood(tokens.access_token);
  });
});
