// OAuth at a real gateway without account pages: a client registers, a user signs in and consents, and the token spends within the consent.
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway, withinAMinute } from "../../support/gateway.ts";
import { postAs, sendAs } from "../../support/keyed-fetch.ts";
import { Client, Person, pkce, REDIRECT, type Tokens } from "./person.ts";

const gateway = forFile(await startTestGateway({ OAUTH: "1", PAGES: "0", TRUST_PROXY: "1" }));
const account = await gateway.account();

async function setUp(): Promise<{ client: Client; person: Person }> {
  const client = new Client(gateway.url);
  await client.register();
  const person = new Person(gateway.url);
  await person.signIn(account.key);
  return { client, person };
}

const get = (path: string, token?: string, base = gateway.url) =>
  fetch(`${base}${path}`, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } });

async function json(response: Response | Promise<Response>) {
  // biome-ignore lint/suspicious/noExplicitAny: bodies are what the test is about.
  return (await (await response).json()) as any;
}

function chat(token: string) {
  return postAs(token, `${gateway.url}/v1/chat/completions`, {
    model: "core/cheap",
    max_tokens: 20,
    messages: [{ role: "user", content: "hello" }],
  });
}

function claimsOf(token: string) {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
}

describe("the way in", () => {
  it("is told by a 401: the metadata of the resource, of it the server's", async () => {
    const refused = await get("/api/v1/account");
    const challenge = refused.headers.get("www-authenticate") ?? "";
    expect(challenge).toContain(`resource_metadata="${gateway.url}/.well-known/oauth-protected-resource"`);
    expect(challenge).toContain('scope="svc:pay"');
    const resource = await json(get("/.well-known/oauth-protected-resource"));
    expect(resource).toMatchObject({ resource: gateway.url, authorization_servers: [gateway.url] });
    const mcp = await json(get("/.well-known/oauth-protected-resource/mcp"));
    expect(mcp.resource).toBe(`${gateway.url}/mcp`);
    const server = await json(get("/.well-known/oauth-authorization-server"));
    expect(server).toMatchObject({
      issuer: gateway.url,
      authorization_endpoint: `${gateway.url}/oauth/authorize`,
      token_endpoint: `${gateway.url}/oauth/token`,
      registration_endpoint: `${gateway.url}/oauth/register`,
      revocation_endpoint: `${gateway.url}/oauth/revoke`,
      device_authorization_endpoint: `${gateway.url}/oauth/device/code`,
      code_challenge_methods_supported: ["S256"],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
    });
  });

  it("has its stylesheet, and leads to no page of an account, as there is none", async () => {
    const { person } = await setUp();
    const page = await (await person.open("/sign-in")).text();
    const style = await get(/<link rel="stylesheet" href="([^"]+)"/.exec(page)?.[1] ?? "/none");
    expect(style.status).toBe(200);
    expect(style.headers.get("content-type")).toContain("text/css");
    expect(page).toContain("You are signed in");
    expect(page).not.toContain("/account");
  });

  it("leads by registration, sign-in and consent to a token that works wherever a key does", async () => {
    const { client, person } = await setUp();
    const { verifier, challenge } = pkce();
    const back = await client.ask(person, challenge);
    expect(back.href.startsWith(REDIRECT)).toBe(true);
    expect(back.searchParams.get("iss")).toBe(gateway.url);
    expect(back.searchParams.get("state")).toBe("abc");
    const tokens: Tokens = await json(client.exchange(back.searchParams.get("code") ?? "", verifier));
    expect(tokens.scope).toBe("svc:pay");
    expect(claimsOf(tokens.access_token)).toMatchObject({ sub: account.accountId, aud: `${gateway.url}/mcp` });
    const own = await json(get("/api/v1/account", tokens.access_token));
    expect(own).toMatchObject({ account_id: account.accountId, key: { label: "test client", ceiling_cents: 500 } });
    expect((await chat(tokens.access_token)).status).toBe(200);
  });

  it("asks again each time, whatever was agreed to before", async () => {
    const { client, person } = await setUp();
    await client.tokens(person);
    const again = await person.open(client.authorizePath(pkce().challenge));
    expect(again.headers.get("location")).toMatch(/^\/oauth\/consent\//);
  });

  it("leads a person who has not signed in to the sign-in page and back", async () => {
    const { client } = await setUp();
    const person = new Person(gateway.url);
    const begun = await person.open(client.authorizePath(pkce().challenge));
    const consent = begun.headers.get("location") ?? "";
    const away = await person.open(consent);
    expect(away.headers.get("location")).toBe(`/sign-in?next=${encodeURIComponent(consent)}`);
    const signedIn = await person.signIn(account.key, consent);
    expect(signedIn.headers.get("location")).toBe(consent);
    expect((await person.open(consent)).status).toBe(200);
  });

  it("leads a form that has no page of its own, sent after the session ended, to the sign-in alone", async () => {
    const person = new Person(gateway.url);
    const out = await person.submit("/sign-out", { csrf: "old" });
    expect([out.status, out.headers.get("location")]).toEqual([303, "/sign-in"]);
  });

  it("is asked for with little chosen: a dollar a day, no action but search, a month", async () => {
    const { client, person } = await setUp();
    const begun = new URL(client.authorizePath(pkce().challenge), gateway.url);
    const asked = await person.open(begun.pathname + begun.search);
    const page = await (await person.open(asked.headers.get("location") ?? "")).text();
    expect(page).toMatch(/<input id="dollars"[^>]* value="1"/);
    expect(page).toMatch(/<select [^>]*name="period"[^>]*><option value="day">/);
    expect(page).toMatch(/<select id="what"[^>]*>\s*<option value="search">/);
    expect(page.match(/<option value="\w+" selected>/g)).toEqual(['<option value="30" selected>']);
  });

  it("ends where the person refuses", async () => {
    const { client, person } = await setUp();
    const back = await client.ask(person, pkce().challenge, { decision: "deny" });
    expect(back.searchParams.get("error")).toBe("access_denied");
  });

  it("is the same for a client that names neither scope nor resource", async () => {
    const { client, person } = await setUp();
    const { verifier, challenge } = pkce();
    const bare = new URL(client.authorizePath(challenge), gateway.url);
    bare.searchParams.delete("scope");
    bare.searchParams.delete("resource");
    const begun = await person.open(bare.pathname + bare.search);
    const consent = begun.headers.get("location") ?? "";
    const csrf = await person.csrf(consent);
    const fields = { csrf, dollars: "1", period: "week", what: "models", days: "1", label: "bare", decision: "allow" };
    const decided = await person.submit(consent, fields);
    const resumed = await person.open(decided.headers.get("location") ?? "");
    const code = new URL(resumed.headers.get("location") ?? "").searchParams.get("code") ?? "";
    const tokens: Tokens = await json(client.exchange(code, verifier));
    expect(claimsOf(tokens.access_token)).toMatchObject({ aud: gateway.url, scope: "svc:pay" });
    expect((await get("/api/v1/account", tokens.access_token)).status).toBe(200);
  });
});

describe("the MCP server", () => {
  const tools = (token: string) =>
    postAs(
      token,
      `${gateway.url}/mcp`,
      { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "get_balance", arguments: {} } },
      { accept: "application/json, text/event-stream" },
    );

  it("takes the token, and leads one without a good one to the metadata of its own", async () => {
    const { client, person } = await setUp();
    const { access_token } = await client.tokens(person, { label: "an agent" });
    const answered = await tools(access_token);
    expect(answered.status).toBe(200);
    expect(await answered.text()).toContain("an agent");
    const refused = await tools(`${access_token.slice(0, -8)}AAAAAAAA`);
    expect(refused.status).toBe(401);
    expect(refused.headers.get("www-authenticate")).toContain(
      `resource_metadata="${gateway.url}/.well-known/oauth-protected-resource/mcp"`,
    );
  });
});

describe("a grant", () => {
  it("is a key row with the ceiling, lists and end that the person chose", async () => {
    const { client, person } = await setUp();
    const chosen = { label: "only models", dollars: "0.29", period: "month", what: "models", days: "30" };
    const { access_token } = await client.tokens(person, chosen);
    const { agents } = await json(get("/api/v1/agents", access_token));
    expect(agents).toHaveLength(1);
    expect(agents[0]).toMatchObject({
      kind: "grant",
      label: "only models",
      ceiling_cents: 29,
      ceiling_period: "month",
      services: [],
      models: null,
    });
    expect(Date.parse(agents[0].expires_at) - Date.now()).toBeGreaterThan(29 * 86_400_000);
    const run = await postAs(access_token, `${gateway.url}/api/run/core/onesearch`, { query: "x" });
    expect(run.status).toBe(403);
    expect((await chat(access_token)).status).toBe(200);
  });

  it("whose ceiling is reached between two calls is refused with the sum, and nothing more is spent", async () => {
    const { client, person } = await setUp();
    const { access_token } = await client.tokens(person, { dollars: "0.01" });
    const search = () => postAs(access_token, `${gateway.url}/api/run/brave/search`, { q: "tea" });
    expect((await search()).status).toBe(200);
    const refused = await search();
    expect(refused.status).toBe(402);
    expect((await json(refused)).error).toBe("api_key_limit_exceeded");
    expect((await json(get("/api/v1/account", access_token))).key.spent_cents).toBe(1);
  });

  it("ends at once when its key is deleted, for access and for refresh", async () => {
    const { client, person } = await setUp();
    const tokens = await client.tokens(person);
    expect((await get("/api/v1/account", tokens.access_token)).status).toBe(200);
    const { grant } = claimsOf(tokens.access_token);
    const deleted = await fetch(`${gateway.url}/api/v1/agents/${grant}`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${account.key}` },
    });
    expect(deleted.status).toBe(200);
    expect((await get("/api/v1/account", tokens.access_token)).status).toBe(401);
    const refreshed = await client.refresh(tokens.refresh_token);
    expect(refreshed.status).toBe(400);
    expect((await json(refreshed)).error).toBe("invalid_grant");
  });

  it("is refused call by call while it is paused, and has no secret to rotate", async () => {
    const { client, person } = await setUp();
    const { access_token } = await client.tokens(person);
    const { grant } = claimsOf(access_token);
    const change = (method: string, path: string, body?: unknown) =>
      sendAs(account.key, method, `${gateway.url}/api/v1/agents/${grant}${path}`, body);
    await change("PATCH", "", { paused: true });
    expect((await json(chat(access_token))).error.code).toBe("key_paused");
    expect((await change("POST", "/rotate")).status).toBe(409);
  });

  it("cannot make keys, as no agent key can", async () => {
    const { client, person } = await setUp();
    const { access_token } = await client.tokens(person);
    const made = await fetch(`${gateway.url}/api/v1/agents`, {
      method: "POST",
      headers: { authorization: `Bearer ${access_token}`, "content-type": "application/json" },
      body: "{}",
    });
    expect((await json(made)).error).toBe("key_cannot_mint_keys");
  });

  it("is refreshed with a new refresh token; the old one, shown again, ends all of it", async () => {
    const { client, person } = await setUp();
    const first = await client.tokens(person);
    const second: Tokens = await json(client.refresh(first.refresh_token));
    expect(second.refresh_token).not.toBe(first.refresh_token);
    expect((await get("/api/v1/account", second.access_token)).status).toBe(200);
    expect((await client.refresh(first.refresh_token)).status).toBe(400);
    expect((await get("/api/v1/account", second.access_token)).status).toBe(401);
    expect((await client.refresh(second.refresh_token)).status).toBe(400);
  });

  it("ends where its client revokes the refresh token (RFC 7009)", async () => {
    const { client, person } = await setUp();
    const tokens = await client.tokens(person);
    const revoked = await client.post("/oauth/revoke", { token: tokens.refresh_token });
    expect(revoked.status).toBe(200);
    expect((await get("/api/v1/account", tokens.access_token)).status).toBe(401);
  });
});

describe("a device", () => {
  it("shows a code that a person types in, and gets its tokens", async () => {
    const { client, person } = await setUp();
    const begun = await json(client.post("/oauth/device/code"));
    expect(begun.verification_uri).toBe(`${gateway.url}/oauth/device`);
    const poll = () =>
      client.token({ grant_type: "urn:ietf:params:oauth:grant-type:device_code", device_code: begun.device_code });
    expect((await json(poll())).error).toBe("authorization_pending");
    const path = `/oauth/device?user_code=${begun.user_code.toLowerCase()}`;
    const csrf = await person.csrf(path);
    const fields = { csrf, user_code: begun.user_code, dollars: "2", period: "day", what: "all", days: "1" };
    const agreed = await person.submit("/oauth/device", { ...fields, label: "my terminal", decision: "allow" });
    expect(agreed.status).toBe(200);
    const tokens: Tokens = await json(poll());
    const own = await json(get("/api/v1/account", tokens.access_token));
    expect(own.key).toMatchObject({ label: "my terminal", ceiling_cents: 200 });
    expect((await json(poll())).error).toBe("invalid_grant");
  });

  it("is told where the person refuses, and a code that is not there opens nothing", async () => {
    const { client, person } = await setUp();
    const begun = await json(client.post("/oauth/device/code"));
    expect((await person.open("/oauth/device?user_code=BBBB-BBBB")).status).toBe(404);
    const csrf = await person.csrf(`/oauth/device?user_code=${begun.user_code}`);
    await person.submit("/oauth/device", { csrf, user_code: begun.user_code, decision: "deny" });
    const polled = client.token({
      grant_type: "urn:ietf:params:oauth:grant-type:device_code",
      device_code: begun.device_code,
    });
    expect((await json(polled)).error).toBe("access_denied");
  });
});

it("an address can ask people for at most 20 grants a minute, by redirect and by device code together", async () => {
  await withinAMinute(async () => {
    const client = new Client(gateway.url);
    await client.register();
    const headers = { "x-forwarded-for": client.address };
    const redirected = async () => {
      const path = client.authorizePath(pkce().challenge);
      return (await fetch(`${gateway.url}${path}`, { headers, redirect: "manual" })).status;
    };
    const device = async () => (await client.post("/oauth/device/code")).status;
    const first = await Promise.all(Array.from({ length: 10 }, () => [redirected(), device()]).flat());
    expect(first.toSorted()).toEqual([...Array(10).fill(200), ...Array(10).fill(303)]);
    expect([await redirected(), await device()]).toEqual([429, 429]);
  });
});
