// A restart and a second process know all grants, sessions and codes.
import { expect, it, onTestFinished } from "vitest";
import { folderForTest } from "../../support/for-file.ts";
import { freePort } from "../../support/free-port.ts";
import { eventually, startTestGateway } from "../../support/gateway.ts";
import { onlyAProcessShows } from "../../support/process-fact.ts";
import { anyRedis, REDIS_MS_MAX } from "../../support/redis.ts";
import { Client, Person, pkce, type Tokens } from "./person.ts";

onlyAProcessShows("a grant after a restart");

const OAUTH = { OAUTH: "1", TRUST_PROXY: "1" };

const own = (at: string, token: string) =>
  fetch(`${at}/api/v1/account`, { headers: { authorization: `Bearer ${token}` } });

const folder = () => folderForTest("tollgate-oauth-");

const grantOf = (token: string): string =>
  JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8")).grant;

it("a restart forgets no grant, no session and no client", async () => {
  const DATA_DIR = folder();
  const environment = { ...OAUTH, DATA_DIR, PORT: String(await freePort()) };
  const before = await startTestGateway(environment);
  const account = await before.account();
  const client = new Client(before.url);
  await client.register();
  const person = new Person(before.url);
  await person.signIn(account.key);
  const tokens = await client.tokens(person);
  expect((await own(before.url, tokens.access_token)).status).toBe(200);
  await before.drain();

  const after = await startTestGateway(environment);
  onTestFinished(() => after.stop());
  expect((await own(after.url, tokens.access_token)).status).toBe(200);
  const refreshed = await client.refresh(tokens.refresh_token);
  expect(refreshed.status).toBe(200);
  expect(await (await person.open("/sign-in")).text()).toContain(account.accountId);
});

it(
  "two processes over Redis agree: what one has begun the other ends, and a grant that is revoked at one is at both",
  async () => {
    const redis = await anyRedis();
    const archive = folder();
    const [port, awayPort] = [await freePort(), await freePort()];
    // As behind a proxy: both share one address.
    const base = `http://127.0.0.1:${port}`;
    const away = `http://127.0.0.1:${awayPort}`;
    const environment = {
      ...OAUTH,
      PUBLIC_URL: base,
      REDIS_URL: redis.url,
      SIGNING_SECRET: "a-secret-of-both-processes",
      ARCHIVE_URL: `file://${archive}/archive.db`,
    };
    const gateways = await Promise.all(
      [port, awayPort].map((own) => startTestGateway({ ...environment, PORT: String(own) })),
    );
    onTestFinished(async () => {
      await Promise.all(gateways.map((gateway) => gateway.stop()));
      await redis.dispose();
    });
    const [one] = gateways;
    if (one === undefined) throw new Error("no gateway");
    const account = await one.account();
    const client = new Client(base);
    await client.register();
    const person = new Person(away, base);
    await person.signIn(account.key);
    const { verifier, challenge } = pkce();
    const code = (await client.ask(person, challenge)).searchParams.get("code") ?? "";

    // Both processes receive the same code at once, and exactly one of them redeems it.
    const elsewhere = new Client(away, base);
    elsewhere.clientId = client.clientId;
    const answers = await Promise.all([client.exchange(code, verifier), elsewhere.exchange(code, verifier)]);
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThan(2);

    const tokens: Tokens = await client.tokens(person);
    expect((await own(base, tokens.access_token)).status).toBe(200);
    expect((await own(away, tokens.access_token)).status).toBe(200);
    await fetch(`${base}/api/v1/agents/${grantOf(tokens.access_token)}`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${account.key}` },
    });
    const refused = await eventually(
      async () => ((await own(away, tokens.access_token)).status === 401 ? true : undefined),
      "the other process to hear of it",
    );
    expect(refused).toBe(true);
    expect((await elsewhere.refresh(tokens.refresh_token)).status).toBe(400);
  },
  REDIS_MS_MAX,
);
