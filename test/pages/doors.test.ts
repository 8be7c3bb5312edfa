// A signed-in user acts as their own account, whatever doors for others the settings open: on every page, and in every call of the
// playground.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SETTINGS } from "../../src/platform/config.ts";
import { Person } from "../edge/oauth/person.ts";
import { startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";

const X402 = { X402_PAY_TO: `0x${"22".repeat(20)}`, X402_FACILITATOR_URL: "http://127.0.0.1:9" };

/**
 * How to open each door: the settings that let callers in without a key, which must not affect callers who are already signed in. A new
 * door needs an entry here.
 */
const OPENED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  SIGNUP: { SIGNUP: "open" },
  OAUTH: { OAUTH: "1" },
  OIDC_ISSUER: { OAUTH: "1", OIDC_ISSUER: "http://127.0.0.1:9", OIDC_CLIENT_ID: "tollgate" },
  MCP_ORIGINS: { MCP_ORIGINS: "*" },
  X402_PAY_TO: X402,
  X402_MODELS: { ...X402, X402_MODELS: "1" },
  X402_SANDBOX: { X402_SANDBOX: "1" },
};

it("knows the doors by their settings", () => {
  const names: string[] = Object.values(SETTINGS).map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(Object.keys(OPENED)));
});

const ALL = Object.assign({}, ...Object.values(OPENED)) as Record<string, string>;

describe.each([...Object.entries(OPENED), ["all of them", ALL] as const])("with %s", (_, environment) => {
  let gateway: TestGateway;
  let account: TestAccount;
  let person: Person;
  beforeAll(async () => {
    gateway = await startTestGateway({ ...environment, TRUST_PROXY: "1" });
    account = await gateway.account({ creditCents: 1_000 });
    person = new Person(gateway.url);
    await person.signIn(account.key);
  });
  afterAll(async () => {
    const findings = await gateway.doctor();
    await gateway.stop();
    expect(findings).toEqual([]);
  });

  const balance = async () =>
    Number((await gateway.admin("GET", `/admin/v1/accounts/${account.accountId}`)).json.balance_cents);

  it("all pages of the account are shown", async () => {
    const first = await (await person.open("/account")).text();
    const paths = new Set([...first.matchAll(/href="(\/(?:account|try|catalog)[\w/]*)"/g)].map(([, path]) => path));
    expect([...paths]).toContain("/account/files");
    for (const path of paths) {
      const page = await person.open(String(path));
      expect([path, page.status]).toEqual([path, 200]);
      expect(await page.text()).not.toContain("Not available");
    }
  });

  it.each([
    ["/try/chat", { model: "core/cheap", max_tokens: 20, messages: [{ role: "user", content: "Hello" }] }],
    ["/try/run/brave/search", { q: "tolls" }],
    ["/try/run/files/upload", { filename: "a.txt", size_bytes: 5 }],
  ])("%s is paid by the account, and in play money where that is asked", async (path, body) => {
    const csrf = await person.csrf("/account");
    const call = (headers: Record<string, string>) =>
      person.open(path, {
        method: "POST",
        headers: { "content-type": "application/json", "x-csrf-token": csrf, ...headers },
        body: JSON.stringify(body),
      });
    const before = await balance();
    expect((await call({})).status).toBe(200);
    const after = await balance();
    expect(after).toBeLessThan(before);
    expect((await call({ "x-tollgate-sandbox": "1" })).status).toBe(200);
    expect((await call({ "x-csrf-token": "guessed" })).status).toBe(401);
    const stranger = await fetch(`${gateway.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-forwarded-for": "198.19.0.1" },
      body: JSON.stringify(body),
    });
    expect(stranger.status).toBe(401);
  });
});
