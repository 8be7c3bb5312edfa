// Attacks on OAuth and sign-in: forged tokens, replays, downgrades, redirects, floods, cross-site pages.
import { createPrivateKey, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { signingKeys } from "../../../src/edge/oauth/signing-keys.ts";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { Client, GRANT, Person, pkce, REDIRECT } from "./person.ts";

const gateway = forFile(await startTestGateway({ OAUTH: "1", TRUST_PROXY: "1" }));
const account = await gateway.account();

async function setUp(): Promise<{ client: Client; person: Person }> {
  const client = new Client(gateway.url);
  await client.register();
  const person = new Person(gateway.url);
  await person.signIn(account.key);
  return { client, person };
}

const own = (token: string) =>
  fetch(`${gateway.url}/api/v1/account`, { headers: { authorization: `Bearer ${token}` } });

async function json(response: Response | Promise<Response>) {
  // biome-ignore lint/suspicious/noExplicitAny: bodies are what the test is about.
  return (await (await response).json()) as any;
}

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));

/** A token signed with the gateway's own key, with a test's changes. */
function signed(header: Record<string, unknown>, claims: Record<string, unknown>): string {
  const secret = readFileSync(join(gateway.dataDir, "signing.secret"), "utf8").trim();
  const [key] = signingKeys([secret], systemClock)().all;
  if (key === undefined) throw new Error("no key");
  const { kty, crv, x, y, d } = key;
  const text = `${part({ alg: "ES256", typ: "at+jwt", kid: key.kid, ...header })}.${part(claims)}`;
  const privateKey = createPrivateKey({ key: { kty, crv, x, y, d }, format: "jwk" });
  return `${text}.${sign("sha256", Buffer.from(text), { key: privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
}

describe("a token that is not what it should be", () => {
  let claims: Record<string, unknown>;
  beforeAll(async () => {
    const { client, person } = await setUp();
    claims = claimsOf((await client.tokens(person)).access_token);
  });

  it("is good as long as a test changes nothing", async () => {
    expect((await own(signed({}, claims))).status).toBe(200);
  });

  it.each([
    ["for another audience", {}, { aud: "https://elsewhere.example" }, "another resource"],
    ["for several audiences", {}, { aud: ["https://elsewhere.example"] }, "another resource"],
    ["of another issuer", {}, { iss: "https://elsewhere.example" }, "another server"],
    ["of another type", { typ: "JWT" }, {}, "no access token"],
    ["of another algorithm", { alg: "none" }, {}, "not signed by ES256"],
    ["of a symmetric algorithm", { alg: "HS256" }, {}, "not signed by ES256"],
    ["of an unknown key", { kid: "other" }, {}, "not signed by this gateway"],
    ["that has expired", {}, { exp: 1_700_000_000 }, "expired"],
    ["that names no grant", {}, { grant: undefined }, "no grant"],
    ["whose grant is not there", {}, { grant: "key_000000000000000000000" }, "revoked"],
    ["whose grant is another account's", {}, { sub: "acct_000000000000000000000" }, "revoked"],
  ])("is refused %s", async (_what, header, changed, words) => {
    const refused = await own(signed(header, { ...claims, ...changed }));
    expect(refused.status).toBe(401);
    expect((await json(refused)).message).toContain(words);
  });

  it("is refused where a claim was changed after it was signed", async () => {
    const [head, , signature] = signed({}, claims).split(".");
    const refused = await own(`${head}.${part({ ...claims, exp: 4_000_000_000 })}.${signature}`);
    expect(refused.status).toBe(401);
  });

  it("is told to ask for the scope where it lacks it", async () => {
    const refused = await own(signed({}, { ...claims, scope: "openid" }));
    expect(refused.status).toBe(403);
    expect(refused.headers.get("www-authenticate")).toContain('error="insufficient_scope", scope="svc:pay"');
  });
});

describe("a code", () => {
  it("is good once; shown again, it ends what it gave", async () => {
    const { client, person } = await setUp();
    const { verifier, challenge } = pkce();
    const code = (await client.ask(person, challenge)).searchParams.get("code") ?? "";
    const { access_token } = await json(client.exchange(code, verifier));
    expect((await own(access_token)).status).toBe(200);
    expect((await json(client.exchange(code, verifier))).error).toBe("invalid_grant");
    expect((await own(access_token)).status).toBe(401);
  });

  it("of two exchanges at once gives tokens to one at the most", async () => {
    const { client, person } = await setUp();
    const { verifier, challenge } = pkce();
    const code = (await client.ask(person, challenge)).searchParams.get("code") ?? "";
    const both = await Promise.all([client.exchange(code, verifier), client.exchange(code, verifier)]);
    expect(both.filter(({ status }) => status === 200).length).toBeLessThan(2);
  });

  it("is not given without PKCE, nor for the plain method", async () => {
    const { client, person } = await setUp();
    const without = new URL(client.authorizePath("x".repeat(43)), gateway.url);
    without.searchParams.delete("code_challenge");
    without.searchParams.delete("code_challenge_method");
    const plain = client.authorizePath("x".repeat(43), { code_challenge_method: "plain" });
    for (const path of [without.pathname + without.search, plain]) {
      const back = new URL((await person.open(path)).headers.get("location") ?? "", gateway.url);
      expect(back.searchParams.get("error")).toBe("invalid_request");
      expect(back.searchParams.has("code")).toBe(false);
    }
  });

  it("is worth nothing to another that has it: verifier, client and redirect address must be the same", async () => {
    const { client, person } = await setUp();
    const { verifier, challenge } = pkce();
    const code = (await client.ask(person, challenge)).searchParams.get("code") ?? "";
    expect((await json(client.exchange(code, pkce().verifier))).error).toBe("invalid_grant");
    const other = new Client(gateway.url);
    await other.register();
    expect((await json(other.exchange(code, verifier))).error).toBe("invalid_grant");
  });

  it("is for a resource of ours", async () => {
    const { client, person } = await setUp();
    const asked = await person.open(client.authorizePath(pkce().challenge, { resource: "https://elsewhere.example" }));
    expect(asked.headers.get("location")).toContain("error=invalid_target");
  });
});

describe("a redirect", () => {
  it.each([
    "http://127.0.0.1:53682/callback/../evil",
    "http://127.0.0.1:53682/other",
    "http://127.0.0.1@evil.example/callback",
    "https://evil.example/callback",
    `${REDIRECT}#fragment`,
    "javascript:alert(1)",
  ])("leads nowhere that was not registered: %s", async (address) => {
    const { client, person } = await setUp();
    const asked = await person.open(client.authorizePath(pkce().challenge, { redirect_uri: address }));
    expect(asked.status).toBe(400);
    expect(asked.headers.get("location")).toBeNull();
  });

  it.each([
    "http://evil.example/callback",
    "http://127.0.0.1@evil.example/callback",
    `${REDIRECT}#fragment`,
    "javascript:alert(1)",
    "data:text/html,x",
  ])("cannot be registered to %s", async (address) => {
    const response = await new Client(gateway.url).register({ redirect_uris: [address] });
    expect(response.status).toBe(400);
  });

  it("after the sign-in stays with us", async () => {
    const person = new Person(gateway.url);
    for (const next of [
      "https://evil.example",
      "//evil.example",
      "/\\evil.example",
      "/%0d%0ax:y\r\n",
      "javascript:x",
    ]) {
      expect((await person.signIn(account.key, next)).headers.get("location")).toBe("/account");
    }
  });
});

describe("a flood of registrations", () => {
  it("is bounded by the address it comes from", async () => {
    const client = new Client(gateway.url);
    const all = await Promise.all(Array.from({ length: 12 }, () => client.register()));
    expect(all.filter(({ status }) => status === 201)).toHaveLength(10);
    expect(all.filter(({ status }) => status === 429)).toHaveLength(2);
  });

  it("is kept small: what is long is not read", async () => {
    const response = await new Client(gateway.url).register({ client_name: "x".repeat(20_000) });
    expect(response.status).toBe(413);
  });
});

describe("a client's metadata document", () => {
  it.each([
    "https://127.0.0.1/client.json",
    "https://10.0.0.1/client.json",
    "https://[::1]/client.json",
    "https://169.254.169.254/latest/meta-data",
    "https://localhost/client.json",
  ])("is not fetched from a private address: %s", async (address) => {
    const { client, person } = await setUp();
    client.clientId = address;
    const asked = await person.open(client.authorizePath(pkce().challenge));
    expect(asked.status).toBe(400);
    expect(await asked.text()).toContain("metadata document fetch failed");
  });
});

describe("the consent page", () => {
  it("cannot be framed, runs no script, and leads to the client's address alone", async () => {
    const { client, person } = await setUp();
    const begun = await person.open(client.authorizePath(pkce().challenge));
    const page = await person.open(begun.headers.get("location") ?? "");
    const policy = page.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("form-action 'self' http://127.0.0.1:53682;");
    expect(page.headers.get("x-frame-options")).toBe("DENY");
    expect(page.headers.get("cache-control")).toBe("no-store");
  });

  it("opens in no other browser than the one that began", async () => {
    const { client, person } = await setUp();
    const begun = await person.open(client.authorizePath(pkce().challenge));
    const victim = new Person(gateway.url);
    await victim.signIn(account.key);
    expect((await victim.open(begun.headers.get("location") ?? "")).status).toBe(404);
  });

  it("takes no form of another site, and none without its token", async () => {
    const { client, person } = await setUp();
    const begun = await person.open(client.authorizePath(pkce().challenge));
    const consent = begun.headers.get("location") ?? "";
    const csrf = await person.csrf(consent);
    expect((await person.submit(consent, { ...GRANT, csrf }, { origin: "https://evil.example" })).status).toBe(403);
    expect((await person.submit(consent, { ...GRANT, csrf: "x" })).status).toBe(403);
    expect((await person.submit(consent, GRANT)).status).toBe(403);
  });

  it("shows a client's name as text, and says what is wrong with a form", async () => {
    const client = new Client(gateway.url);
    await client.register({ client_name: "<img src=x onerror=alert(1)>" });
    const person = new Person(gateway.url);
    await person.signIn(account.key);
    const begun = await person.open(client.authorizePath(pkce().challenge));
    const consent = begun.headers.get("location") ?? "";
    const page = await (await person.open(consent)).text();
    expect(page).not.toContain("<img src=x");
    const csrf = await person.csrf(consent);
    const wrong = await person.submit(consent, { ...GRANT, csrf, dollars: "much" });
    expect(wrong.status).toBe(400);
    expect(await wrong.text()).toContain("dollars must be a sum in dollars");
  });
});

describe("a session", () => {
  const agents = (person: Person, headers: Record<string, string>) =>
    person.open("/api/v1/agents", {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ label: "made by a person" }),
    });

  it("acts as the primary key for the write calls of keys, with its token alone", async () => {
    const { person } = await setUp();
    const csrf = await person.csrf();
    expect((await agents(person, {})).status).toBe(401);
    expect((await agents(person, { "x-csrf-token": "wrong" })).status).toBe(401);
    const made = await agents(person, { "x-csrf-token": csrf });
    expect(made.status).toBe(201);
    expect((await json(made)).label).toBe("made by a person");
  });

  it("is a new one at each sign-in: none that was planted before is taken over", async () => {
    const person = new Person(gateway.url);
    person.setCookie("tollgate_session", "planted");
    await person.signIn(account.key);
    expect(person.cookie("tollgate_session")).not.toBe("planted");
    const thief = new Person(gateway.url);
    thief.setCookie("tollgate_session", "planted");
    expect(await (await thief.open("/sign-in")).text()).toContain("Primary key");
  });

  it("is over for good after the sign-out, whoever has kept its cookie", async () => {
    const { person } = await setUp();
    const thief = new Person(gateway.url);
    thief.setCookie("tollgate_session", person.cookie("tollgate_session") ?? "");
    expect(await (await thief.open("/sign-in")).text()).toContain(account.accountId);
    await person.submit("/sign-out", { csrf: await person.csrf() });
    expect(await (await thief.open("/sign-in")).text()).not.toContain(account.accountId);
  });

  it("ends when the key that opened it is rotated", async () => {
    const another = await gateway.account();
    const person = new Person(gateway.url);
    await person.signIn(another.key);
    expect(await (await person.open("/sign-in")).text()).toContain(another.accountId);
    const { agents: keys } = await json(
      fetch(`${gateway.url}/api/v1/agents`, { headers: { authorization: `Bearer ${another.key}` } }),
    );
    const headers = { authorization: `Bearer ${another.key}` };
    await fetch(`${gateway.url}/api/v1/agents/${keys[0].id}/rotate`, { method: "POST", headers });
    expect(await (await person.open("/sign-in")).text()).not.toContain(another.accountId);
  });

  it("is begun by the primary key alone, from a page of ours, and not guessed at", async () => {
    const { client, person } = await setUp();
    const { access_token } = await client.tokens(person);
    const anonymousPayer = new Person(gateway.url);
    expect((await anonymousPayer.signIn(access_token)).status).toBe(401);
    const foreign = await anonymousPayer.submit("/sign-in", { key: account.key }, { origin: "https://evil.example" });
    expect(foreign.status).toBe(403);
    const tries = await Promise.all(Array.from({ length: 12 }, () => anonymousPayer.signIn("tg_sk_wrong")));
    expect(tries.some(({ status }) => status === 429)).toBe(true);
  });

  it("has a cookie that no script reads and no other site sends along with a form", async () => {
    const signedIn = await new Person(gateway.url).signIn(account.key);
    const [cookie = ""] = signedIn.headers.getSetCookie();
    expect(cookie).toContain("HttpOnly");
    expect(cookie).toContain("SameSite=Lax");
  });
});

describe("a grant that is revoked", () => {
  it("in mid-stream lets the answer that was paid for end, and takes no further call", async () => {
    const { client, person } = await setUp();
    const { access_token } = await client.tokens(person);
    const call = () =>
      postAs(access_token, `${gateway.url}/v1/chat/completions`, {
        model: "core/cheap",
        stream: true,
        max_tokens: 50,
        messages: [{ role: "user", content: "hello" }],
      });
    const streaming = await call();
    const reader = streaming.body?.getReader();
    const first = await reader?.read();
    await fetch(`${gateway.url}/api/v1/agents/${claimsOf(access_token).grant}`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${account.key}` },
    });
    let text = Buffer.from(first?.value ?? []).toString();
    for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
      text += Buffer.from(next.value).toString();
    }
    expect(text).toContain("[DONE]");
    expect((await call()).status).toBe(401);
    expect(await gateway.doctor()).toEqual([]);
  });
});
