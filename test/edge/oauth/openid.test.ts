// Sign-in with an operator's own OpenID provider: a real one on loopback that a test can make lie.
import { createPrivateKey, generateKeyPairSync, sign } from "node:crypto";
import { mkdtempSync } from "node:fs";
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Provider from "oidc-provider";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createIdentities, type Place } from "../../../src/edge/oauth/identities.ts";
import { openStores } from "../../../src/gateway/stores.ts";
import { mintOpening } from "../../../src/money/accounts/open-account.ts";
import { readConfig } from "../../../src/platform/config.ts";
import { startTestGateway, type TestAccount, type TestGateway } from "../../support/gateway.ts";
import { removeFolder } from "../../support/remove-folder.ts";
import { Person } from "./person.ts";

const CLIENT = { client_id: "tollgate", client_secret: "a secret of the client" };
const CALLBACK = "/sign-in/oidc/callback";
const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const JWK = { ...privateKey.export({ format: "jwk" }), kid: "one", alg: "ES256", use: "sig" };

/** The operator's provider. It signs everyone in as `who`. */
class Operators {
  who = "ada";
  groups: string[] = [];
  isVerified = true;
  isAway = false;
  /** Its token endpoint breaks off in mid-answer. */
  breaksOff = false;
  /** Replaces the ID token that its token endpoint returns. */
  lie: ((nonce: string) => string) | null = null;
  lastNonce = "";
  #provider: Provider | null = null;
  readonly #server = http.createServer((request, response) => void this.#serve(request, response));

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  /** Registers the gateways at these addresses. */
  open(callbacks: readonly string[]): void {
    this.#provider = new Provider(this.issuer, {
      clients: [
        { ...CLIENT, redirect_uris: [...callbacks], response_types: ["code"], id_token_signed_response_alg: "ES256" },
      ],
      jwks: { keys: [JWK] as never },
      cookies: { keys: ["a key for cookies"] },
      claims: { openid: ["sub"], email: ["email", "email_verified"], groups: ["groups"] },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_, { uid }) => `/interaction/${uid}` },
      findAccount: (_, sub) => ({
        accountId: sub,
        claims: () => ({ sub, email: `${sub}@acme.example`, email_verified: this.isVerified, groups: this.groups }),
      }),
      async loadExistingGrant({ oidc }) {
        const clientId = oidc.client?.clientId;
        const accountId = oidc.session?.accountId;
        const grant = new oidc.provider.Grant({ ...(clientId && { clientId }), ...(accountId && { accountId }) });
        grant.addOIDCScope("openid email groups");
        await grant.save();
        return grant;
      },
    });
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.isAway || this.#provider === null) return void request.socket.destroy();
    const { pathname, searchParams } = new URL(request.url ?? "", this.issuer);
    if (pathname === "/auth") this.lastNonce = searchParams.get("nonce") ?? "";
    if (pathname.startsWith("/interaction/"))
      return this.#provider.interactionFinished(request, response, { login: { accountId: this.who } });
    if (pathname === "/token" && this.breaksOff) {
      response.writeHead(200, { "content-type": "application/json", "content-length": 100 });
      return void response.write("{", () => request.socket.destroy());
    }
    if (pathname === "/token" && this.lie !== null) {
      const body = { access_token: "x", token_type: "Bearer", id_token: this.lie(this.lastNonce) };
      response.writeHead(200, { "content-type": "application/json" });
      return void response.end(JSON.stringify(body));
    }
    this.#provider.callback()(request, response);
  }
}

const operators = new Operators();
let gateway: TestGateway;
let opening: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  await operators.listen();
  const environment = {
    OAUTH: "1",
    TRUST_PROXY: "1",
    OIDC_ISSUER: operators.issuer,
    OIDC_CLIENT_ID: CLIENT.client_id,
    OIDC_CLIENT_SECRET: CLIENT.client_secret,
  };
  [gateway, opening] = await Promise.all([
    startTestGateway({ ...environment, OIDC_OPERATORS: "sub=root,email=Boss@acme.example,groups=night%2C shift" }),
    startTestGateway({ ...environment, OIDC_ACCOUNTS: "open" }),
  ]);
  const consoles = [gateway, opening].map(({ adminUrl }) => `${adminUrl}/console${CALLBACK}`);
  operators.open([...[gateway, opening].map(({ url }) => `${url}${CALLBACK}`), ...consoles]);
});
afterAll(async () => {
  await Promise.all([gateway.stop(), opening.stop()]);
  await operators.close();
});
beforeEach(async () => {
  account = await gateway.account();
  operators.who = `ada${Math.random()}`;
  operators.isVerified = true;
  operators.groups = [];
  operators.lie = null;
});

/** Goes through the provider, from the gateway's redirect to the provider's redirect back. */
async function throughProvider(url: string): Promise<string> {
  const there = new Person(operators.issuer);
  for (let to = url; ; ) {
    const answer = await there.open(to);
    to = answer.headers.get("location") ?? "";
    if (to === "" || new URL(to, operators.issuer).origin !== operators.issuer) return to;
  }
}

async function begin(person: Person, next = "/sign-in"): Promise<string> {
  return (await person.open(`/sign-in/oidc?next=${next}`)).headers.get("location") ?? "";
}

function at(which: TestGateway): Person {
  return new Person(which.url);
}

async function signIn(person: Person): Promise<Response> {
  return person.open(await throughProvider(await begin(person)));
}

/** Links as a user who has the key does. */
async function link(person: Person, key = account.key): Promise<Response> {
  await person.signIn(key);
  const page = await person.submit("/sign-in/oidc/link", { csrf: await person.csrf() });
  const to = /class="button" href="([^"]+)"/.exec(await page.text())?.[1]?.replaceAll("&amp;", "&") ?? "";
  return person.open(await throughProvider(to));
}

async function ownAccount(person: Person): Promise<string | null> {
  const response = await person.open("/api/v1/account");
  const { account_id = null } = (await response.json()) as { account_id?: string };
  return account_id;
}

describe("a provider that cannot be reached", () => {
  it("at the beginning and at the end is told, and signs nobody in", async () => {
    const person = at(gateway);
    operators.isAway = true;
    const refused = await person.open("/sign-in/oidc");
    expect(refused.status).toBe(503);
    expect(await refused.text()).toContain("cannot be reached");
    operators.isAway = false;
    const back = await throughProvider(await begin(person));
    operators.isAway = true;
    expect((await person.open(back)).status).toBe(503);
    operators.isAway = false;
    const again = await throughProvider(await begin(person));
    operators.breaksOff = true;
    expect((await person.open(again)).status).toBe(503);
    operators.breaksOff = false;
    expect(await ownAccount(person)).toBeNull();
  });
});

describe("a person of the provider", () => {
  it("is sent there with PKCE, state and nonce, and without a link signs in to nothing", async () => {
    const person = at(gateway);
    const url = new URL(await begin(person));
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      client_id: "tollgate",
      response_type: "code",
      redirect_uri: `${gateway.url}${CALLBACK}`,
      code_challenge_method: "S256",
      state: expect.stringMatching(/.{20}/),
      nonce: expect.stringMatching(/.{20}/),
    });
    const answer = await person.open(await throughProvider(url.href));
    expect(answer.status).toBe(403);
    expect(await answer.text()).toContain("no account here is linked");
    expect(await ownAccount(person)).toBeNull();
  });

  it("links itself to an account once, with the key, and signs in to that from then on in any browser", async () => {
    const linked = await link(at(gateway));
    expect([linked.status, linked.headers.get("location")]).toEqual([303, "/sign-in"]);
    const other = at(gateway);
    const answer = await signIn(other);
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/sign-in"]);
    expect(await ownAccount(other)).toBe(account.accountId);
    expect(await (await other.open("/sign-in")).text()).toContain(`${operators.who}@acme.example`);
  });

  it("is linked to no second account, and to none that another session asked for", async () => {
    await link(at(gateway));
    const second = await gateway.account();
    const refused = await link(at(gateway), second.key);
    expect(refused.status).toBe(409);
    operators.who = "eve";
    const person = at(gateway);
    await person.signIn(account.key);
    const page = await person.submit("/sign-in/oidc/link", { csrf: await person.csrf() });
    const to = /class="button" href="([^"]+)"/.exec(await page.text())?.[1]?.replaceAll("&amp;", "&") ?? "";
    const back = await throughProvider(to);
    await person.signIn(second.key);
    expect((await person.open(back)).status).toBe(403);
    expect((await signIn(at(gateway))).status).toBe(403);
  });

  it("is removed by the account, and by no form from elsewhere", async () => {
    const person = at(gateway);
    await link(person);
    const page = await (await person.open("/sign-in")).text();
    const id = /name="id" value="([^"]+)"/.exec(page)?.[1] ?? "";
    expect((await person.submit("/sign-in/oidc/unlink", { id, csrf: "guessed" })).status).toBe(403);
    const elsewhere = { origin: "https://elsewhere.example" };
    expect((await person.submit("/sign-in/oidc/link", { csrf: await person.csrf() }, elsewhere)).status).toBe(403);
    expect((await signIn(at(gateway))).status).toBe(303);
    expect((await person.submit("/sign-in/oidc/unlink", { id, csrf: await person.csrf() })).status).toBe(303);
    expect((await signIn(at(gateway))).status).toBe(403);
  });

  it("gets a session that was not there before, and none that was planted", async () => {
    await link(at(gateway));
    const person = at(gateway);
    person.setCookie("tollgate_session", "planted");
    await signIn(person);
    const session = person.cookie("tollgate_session");
    expect(session).toMatch(/^[\w-]{43}$/);
    expect(session).not.toBe("planted");
    expect(person.cookie("tollgate_oidc")).toBeUndefined();
  });

  it("goes on only to a path of ours", async () => {
    await link(at(gateway));
    const person = at(gateway);
    const back = await throughProvider(await begin(person, encodeURIComponent("//evil.example/")));
    expect((await person.open(back)).headers.get("location")).toBe("/account");
  });
});

describe("what comes back is not believed", () => {
  beforeEach(async () => {
    await link(at(gateway));
  });

  it("in another browser, a second time, or without what it left with", async () => {
    const person = at(gateway);
    const back = await throughProvider(await begin(person));
    expect((await new Person(gateway.url).open(back)).status).toBe(400);
    const forged = new URL(back);
    forged.searchParams.set("state", "made-up");
    expect((await person.open(forged.href)).status).toBe(400);
    expect((await person.open(back)).status).toBe(303);
    person.setCookie("tollgate_oidc", "again");
    expect((await person.open(back)).status).toBe(400);
  });

  it("of another issuer, of no code, or where the person said no", async () => {
    for (const change of [
      (url: URL) => url.searchParams.set("iss", "https://evil.example"),
      (url: URL) => url.searchParams.set("code", "made-up"),
      (url: URL) => {
        url.searchParams.delete("code");
        url.searchParams.set("error", "access_denied");
      },
    ]) {
      const person = at(gateway);
      const back = new URL(await throughProvider(await begin(person)));
      change(back);
      expect((await person.open(back.href)).status).toBe(400);
      expect(await ownAccount(person)).toBeNull();
    }
  });

  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  function token(
    nonce: string,
    claims: object,
    head: object = {},
    key = createPrivateKey({ key: JWK, format: "jwk" }),
  ) {
    const nowS = Math.floor(Date.now() / 1_000);
    const own = { iss: operators.issuer, aud: CLIENT.client_id, sub: operators.who, nonce, iat: nowS, exp: nowS + 60 };
    const signed = `${part({ alg: "ES256", kid: "one", ...head })}.${part({ ...own, email: "a@b.example", ...claims })}`;
    return `${signed}.${sign("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
  }

  it.each<[string, number, (nonce: string) => string]>([
    ["that is good (so that the others are refused for what they say)", 303, (nonce) => token(nonce, {})],
    ["of another nonce", 400, () => token("another", {})],
    ["of another issuer", 400, (nonce) => token(nonce, { iss: "https://evil.example" })],
    ["for another client", 400, (nonce) => token(nonce, { aud: "another" })],
    ["for several clients, without saying which", 400, (nonce) => token(nonce, { aud: [CLIENT.client_id, "another"] })],
    ["that has lapsed", 400, (nonce) => token(nonce, { exp: Math.floor(Date.now() / 1_000) - 600 })],
    ["that another key has signed", 400, (nonce) => token(nonce, {}, {}, other)],
    [
      "that nobody has signed",
      400,
      (nonce) => `${token(nonce, {}, { alg: "none" }).split(".").slice(0, 2).join(".")}.`,
    ],
  ])("an ID token %s", async (_, status, lie) => {
    operators.lie = lie;
    expect((await signIn(at(gateway))).status).toBe(status);
  });
});

describe("where OIDC_ACCOUNTS is open", () => {
  it("a first sign-in opens an account, later ones come to it, and others have others", async () => {
    const person = at(opening);
    expect((await signIn(person)).status).toBe(303);
    const own = await ownAccount(person);
    expect(own).toMatch(/^acct_/);
    const again = at(opening);
    await signIn(again);
    expect(await ownAccount(again)).toBe(own);
    const csrf = await again.csrf();
    const made = await again.open("/api/v1/agents", {
      method: "POST",
      headers: { "content-type": "application/json", "x-csrf-token": csrf },
      body: JSON.stringify({ label: "agent" }),
    });
    expect(made.status).toBe(201);
    operators.who = "grace";
    const grace = at(opening);
    await signIn(grace);
    expect(await ownAccount(grace)).not.toBe(own);
  });

  it("an opening that was broken off is gone on with by the next sign-in, and not begun anew", async () => {
    const folder = mkdtempSync(join(tmpdir(), "tollgate-openid-"));
    const parts = { onFatal() {}, onBroken() {}, archiveDir: folder };
    const stores = await openStores(readConfig({ DATA_DIR: folder }), parts);
    const identities = createIdentities(stores.records, mintOpening);
    const ada = { issuer: "https://id.example", subject: "ada", email: null };
    const begun: Place[] = [];
    const died = identities.opened(ada, async (ids) => {
      begun.push(ids);
      throw new Error("the process dies");
    });
    await expect(died).rejects.toThrow("dies");
    const place = await identities.opened(ada, async (ids) => ids);
    expect(begun).toEqual([place]);
    expect(await identities.of(ada)).toEqual(place);
    const { accountId } = place as Place;
    const [linked] = await identities.list(accountId);
    await identities.unlink(accountId, linked?.id ?? "");
    expect(await identities.opened(ada, async (ids) => ids)).not.toEqual(place);
    await stores.close();
    removeFolder(folder);
  });

  it("a link keeps nothing of the session that made it", async () => {
    const folder = mkdtempSync(join(tmpdir(), "tollgate-openid-"));
    const parts = { onFatal() {}, onBroken() {}, archiveDir: folder };
    const stores = await openStores(readConfig({ DATA_DIR: folder }), parts);
    const session = { id: "hash of the cookie", accountId: "acct_1", keyId: "key_1", csrf: "token" };
    const ada = { issuer: "https://id.example", subject: "ada", email: null };
    await createIdentities(stores.records, mintOpening).link(ada, session);
    const { rows } = await stores.records.list("oidc-identity", "acct:acct_1", 1, null);
    expect(rows.map(({ value }) => JSON.parse(value))).toEqual([{ accountId: "acct_1", keyId: "key_1", words: "ada" }]);
    await stores.close();
    removeFolder(folder);
  });

  it("none is opened for an address that is not verified", async () => {
    operators.isVerified = false;
    const person = at(opening);
    expect((await signIn(person)).status).toBe(403);
    expect(await ownAccount(person)).toBeNull();
  });
});

describe("the operator's console", () => {
  const CONSOLE = "/console/sign-in/oidc";
  const there = async (operator: Person) =>
    throughProvider((await operator.open(CONSOLE)).headers.get("location") ?? "");
  async function comes(who: string, groups: string[] = []): Promise<{ operator: Person; answer: Response }> {
    operators.who = who;
    operators.groups = groups;
    const operator = new Person(gateway.adminUrl);
    return { operator, answer: await operator.open(await there(operator)) };
  }

  it.each([
    ["root", []],
    ["boss", []],
    ["eve", ["day shift", "night, shift"]],
  ])("lets in %s of %j, and the log of changes tells the proven name", async (who, groups) => {
    const { operator, answer } = await comes(who, groups);
    expect(answer.status).toBe(200);
    expect(answer.headers.getSetCookie().join()).toMatch(/tollgate_console=[^;]+; Path=\/console;.*SameSite=Strict/);
    // A navigation from another site carries no strict cookie, so the page itself redirects.
    expect(await answer.text()).toContain('http-equiv="refresh" content="0; url=/console"');
    const path = `/console/accounts/${account.accountId}`;
    const csrf = await operator.csrf(path);
    expect((await operator.submit(path, { act: "freeze", sure: "yes", csrf })).status).toBe(303);
    const { json } = await gateway.admin("GET", "/admin/v1/log?limit=1");
    expect(json.log).toMatchObject([{ by: `${who}@acme.example`, proven: true, status: 200 }]);
    expect(await (await operator.open("/console/log")).text()).toContain(`${who}@acme.example`);
  });

  it("a name that is typed beside the token is not proven, whatever it is", async () => {
    const typed = new Person(gateway.adminUrl);
    await typed.submit("/console/sign-in", { token: gateway.adminToken, name: "root@acme.example" });
    const csrf = await typed.csrf("/console");
    const path = `/console/accounts/${account.accountId}`;
    await typed.submit(path, { act: "freeze", sure: "yes", csrf });
    const { json } = await gateway.admin("GET", "/admin/v1/log?limit=1");
    expect(json.log).toMatchObject([{ by: "root@acme.example", proven: false }]);
  });

  it("leads a sign-out that comes after the session has ended to the sign-in alone", async () => {
    const answer = await new Person(gateway.adminUrl).submit("/console/sign-out", { csrf: "old" });
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/console/sign-in"]);
  });

  it("lets in no one else of the provider, nor an address that it has not verified", async () => {
    for (const [who, groups, isVerified] of [
      ["eve", ["night"], true],
      ["groups", [], true],
      ["boss", [], false],
    ] as const) {
      operators.isVerified = isVerified;
      const { operator, answer } = await comes(who, [...groups]);
      expect(answer.status).toBe(403);
      expect((await operator.open("/console")).status).toBe(303);
    }
  });

  it("takes no way back that began at an account's sign-in, nor one twice or in another browser", async () => {
    operators.who = "root";
    const person = at(gateway);
    const own = new URL(await throughProvider(await begin(person)));
    const operator = new Person(gateway.adminUrl);
    operator.setCookie("tollgate_console_oidc", person.cookie("tollgate_oidc") ?? "");
    expect((await operator.open(`/console${CALLBACK}${own.search}`)).status).toBe(400);
    const back = await there(operator);
    expect((await new Person(gateway.adminUrl).open(back)).status).toBe(400);
    expect((await operator.open(back)).status).toBe(200);
    expect((await operator.open(back)).status).toBe(400);
  });

  it("is not open to the provider where the settings name no operator", async () => {
    const operator = new Person(opening.adminUrl);
    expect(await (await operator.open("/console/sign-in")).text()).not.toContain("Sign in with");
    expect((await operator.open(CONSOLE)).status).toBe(404);
  });
});

describe("the settings", () => {
  it.each([
    [{ OIDC_ISSUER: "http://login.acme.example", OIDC_CLIENT_ID: "a", OAUTH: "1" }, "must be an https address"],
    [{ OIDC_ISSUER: "https://login.acme.example", OAUTH: "1" }, "OIDC_CLIENT_ID"],
    [{ OIDC_ISSUER: "https://login.acme.example", OIDC_CLIENT_ID: "a" }, "OAUTH"],
    [{ OIDC_OPERATORS: "sub=ada" }, "OIDC_ISSUER"],
    [{ OIDC_OPERATORS: "ada@acme.example" }, "must be claim=value"],
    [{ OIDC_OPERATORS: "groups=" }, "must be claim=value"],
  ])("%j do not do", (environment, words) => {
    expect(() => readConfig(environment)).toThrow(words);
  });
});
