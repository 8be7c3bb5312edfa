// Signing up at a real gateway: who gets an account, with how much credit, and how often.
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { folderForTest } from "../../support/for-file.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { anyRedis, REDIS_MS_MAX } from "../../support/redis.ts";

let gateway: TestGateway;
let dataDir: string;
beforeEach(() => {
  dataDir = folderForTest("tollgate-signup-");
});
afterEach(async () => {
  await gateway.stop();
});

async function start(environment: Record<string, string> = {}): Promise<void> {
  gateway = await startTestGateway({ SIGNUP: "open", TRUST_PROXY: "1", DATA_DIR: dataDir, ...environment });
}

async function signUp(body: unknown = {}, address = "203.0.113.1", at = gateway) {
  const response = await fetch(`${at.url}/api/v1/signup`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-forwarded-for": address },
    body: JSON.stringify(body),
  });
  // biome-ignore lint/suspicious/noExplicitAny: bodies are what the test is about.
  return { status: response.status, headers: response.headers, body: (await response.json()) as any };
}

/** Signs up from a different address each time. */
function crowd(count: number, from = 0) {
  return Promise.all(Array.from({ length: count }, (_, at) => signUp({}, `198.51.100.${from + at}`)));
}

function creditOf(answers: readonly { body: { balance_cents: number } }[]): number[] {
  return answers.map(({ body }) => body.balance_cents).sort((a, b) => b - a);
}

async function accounts(): Promise<Record<string, unknown>[]> {
  return (await gateway.admin("GET", "/admin/v1/accounts")).json.accounts as Record<string, unknown>[];
}

describe("where signing up is closed", () => {
  it("the endpoint is not there", async () => {
    await start({ SIGNUP: "closed" });
    const closed = await signUp();
    const unknown = await fetch(`${gateway.url}/api/v1/signupp`, { method: "POST", body: "{}" });
    expect([closed.status, closed.body.error]).toEqual([404, "not_found"]);
    expect(closed.body.message).toBe(
      String(((await unknown.json()) as { message: string }).message).replace("pp", "p"),
    );
    expect(await accounts()).toEqual([]);
  });
});

describe("where it is open", () => {
  it("opens a personal account, named or not, whose primary key works at once", async () => {
    await start();
    const { status, body } = await signUp({ name: "Ada", kind: "personal" });
    expect(status).toBe(201);
    expect(body).toEqual({
      account_id: expect.stringMatching(/^acct_/),
      api_key: expect.stringMatching(/^tg_sk_[0-9A-Za-z]{49}$/),
      balance_cents: 200,
    });
    const headers = { authorization: `Bearer ${body.api_key}` };
    const own = await fetch(`${gateway.url}/api/v1/account`, { headers });
    expect(await own.json()).toMatchObject({ account_id: body.account_id, kind: "personal", balance_cents: 200 });
    const minted = await fetch(`${gateway.url}/api/v1/agents`, { method: "POST", headers });
    expect(minted.status).toBe(201);
    expect((await signUp()).status).toBe(201);
    const opened = (await accounts()).sort((a, b) => String(a.name).localeCompare(String(b.name)));
    expect(opened).toMatchObject([
      { name: "Ada", kind: "personal", frozen: false, granted_cents: 200, inference_cap_cents: 1_000 },
      { name: "signup", kind: "personal" },
    ]);
    expect(await gateway.doctor()).toEqual([]);
  });

  it("refuses what it does not take, opens nothing for it, and does not count it", async () => {
    await start({ SIGNUPS_PER_ADDRESS_PER_HOUR: "1" });
    const wrong = [
      [{ kind: "business" }, "kind"],
      [{ kind: "sandbox" }, "kind"],
      [{ name: "" }, "name"],
      [{ name: "x".repeat(201) }, "name"],
      [{ credit_cents: 900 }, "credit_cents"],
    ] as const;
    for (const [body, path] of wrong) {
      const refused = await signUp(body);
      expect([refused.status, refused.body.error]).toEqual([400, "bad_request"]);
      expect(refused.body.data.fields).toMatchObject([{ path }]);
    }
    expect(await accounts()).toEqual([]);
    expect((await signUp()).status).toBe(201);
  });

  it("opens few for one address in an hour, an IPv6 network counting as one, and tells when to come again", async () => {
    await start({ SIGNUPS_PER_ADDRESS_PER_HOUR: "2" });
    const at = ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:db8:1:2::3", "2001:db8:1:3::1", "203.0.113.9"];
    const answers = [];
    for (const address of at) answers.push(await signUp({}, address));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 429, 201, 201]);
    const refused = answers[2];
    expect(refused?.body.error).toBe("rate_limited");
    const seconds = Number(refused?.headers.get("retry-after"));
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(3_600);
    expect(await accounts()).toHaveLength(4);
  });

  it("gives no more welcome credit in a day than there is, however many sign up at once", async () => {
    await start({ SIGNUP_CREDIT_CENTS_PER_DAY: "750" });
    const answers = await crowd(20);
    expect(answers.map(({ status }) => status)).toEqual(new Array(20).fill(201));
    expect(creditOf(answers)).toEqual([200, 200, 200, 150, ...new Array(16).fill(0)]);
    const granted = (await accounts()).map(({ granted_cents }) => Number(granted_cents));
    expect(granted.reduce((sum, cents) => sum + cents, 0)).toBe(750);
  });

  it("remembers over a restart what the day has given", async () => {
    await start({ SIGNUP_CREDIT_CENTS_PER_DAY: "500" });
    expect(creditOf(await crowd(2))).toEqual([200, 200]);
    await gateway.stop();
    await start({ SIGNUP_CREDIT_CENTS_PER_DAY: "500" });
    expect(creditOf(await crowd(3, 100))).toEqual([100, 0, 0]);
  });

  it("says which window is full, and why an account begins without credit", async () => {
    await start({ SIGNUPS_PER_ADDRESS_PER_HOUR: "3", SIGNUP_CREDIT_CENTS_PER_DAY: "250" });
    const notes = [];
    for (let at = 0; at < 3; at++) notes.push((await signUp()).body.note);
    expect(notes).toEqual([undefined, expect.stringMatching(/almost all/), expect.stringMatching(/have had all/)]);
    const { status, headers, body } = await signUp();
    expect([status, body.error]).toEqual([429, "rate_limited"]);
    expect(body.message).toContain("3 in 3600 seconds");
    const told = ["limit", "remaining", "policy"].map((name) => headers.get(`ratelimit-${name}`));
    expect(told).toEqual(["3", "0", "3;w=3600"]);
    expect(headers.get("ratelimit-reset")).toBe(headers.get("retry-after"));
    // The address's other requests count in their usual window.
    expect((await fetch(`${gateway.url}/api/run`)).headers.get("ratelimit-limit")).toBe("120");
  });

  it("counts an address over processes and restarts, however many come at once", {
    timeout: REDIS_MS_MAX,
  }, async () => {
    const redis = await anyRedis();
    const shared = { REDIS_URL: redis.url, ARCHIVE_URL: `file://${dataDir}/archive.db` };
    const processOf = (name: string) =>
      start({ SIGNUPS_PER_ADDRESS_PER_HOUR: "4", ...shared, DATA_DIR: join(dataDir, name) });
    await processOf("one");
    const one = gateway;
    await processOf("two");
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, at) => signUp({}, "203.0.113.1", at % 2 === 0 ? one : gateway)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(4).fill(201), ...Array(8).fill(429)]);
    await Promise.all([one.stop(), gateway.stop()]);
    await processOf("one");
    expect((await signUp()).status).toBe(429);
    expect((await signUp({}, "203.0.113.2")).status).toBe(201);
    await gateway.stop();
    await redis.dispose();
    await start();
  });

  it("opens accounts without credit where the day has none to give", async () => {
    await start({ SIGNUP_CREDIT_CENTS_PER_DAY: "0" });
    expect((await signUp()).body.balance_cents).toBe(0);
  });
});
