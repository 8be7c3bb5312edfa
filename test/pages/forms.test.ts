// What a form of a page may do, and for which user: expired sessions, cross-site forms, frames, and play money in the playground.
import { describe, expect, it } from "vitest";
import { Person } from "../edge/oauth/person.ts";
import { forFile } from "../support/for-file.ts";
import { startTestGateway } from "../support/gateway.ts";

const gateway = forFile(await startTestGateway({ TRUST_PROXY: "1", ADDRESS_REQUESTS_PER_MINUTE: "100000" }));
const account = await gateway.account({ kind: "personal" });
const person = new Person(gateway.url);
expect((await person.signIn(account.key, "/account")).headers.get("location")).toBe("/account");

const own = async (path: string) =>
  (await (
    await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${account.key}` } })
  ).json()) as Record<string, unknown>;
const labels = async () => ((await own("/api/v1/agents")).agents as { label: string }[]).map(({ label }) => label);

/** An operator's browser: the test stores cookies itself, as the sign-in is on another listener. */
async function operator(fields: Record<string, string> = {}) {
  const response = await fetch(`${gateway.adminUrl}/console/sign-in`, {
    method: "POST",
    redirect: "manual",
    headers: { origin: gateway.adminUrl, "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ token: gateway.adminToken, name: "ada", ...fields }),
  });
  const cookie = response.headers.get("set-cookie")?.split(";")[0] ?? "";
  const look = (path: string) => fetch(`${gateway.adminUrl}${path}`, { redirect: "manual", headers: { cookie } });
  const csrf = async () => /name="csrf" value="([^"]+)"/.exec(await (await look("/console")).text())?.[1] ?? "";
  const send = (path: string, body: Record<string, string>, origin = gateway.adminUrl) =>
    fetch(`${gateway.adminUrl}${path}`, {
      method: "POST",
      redirect: "manual",
      headers: { cookie, origin, "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams(body),
    });
  return { response, cookie, look, csrf, send };
}

describe("a form", () => {
  it("changes nothing without the session's token, or from a page of another site", async () => {
    const csrf = await person.csrf("/account/keys");
    const fields = { act: "make", label: "stolen" };
    expect((await person.submit("/account/keys", fields)).status).toBe(403);
    expect((await person.submit("/account/keys", { ...fields, csrf: `${csrf}x` })).status).toBe(403);
    expect((await person.submit("/account/keys", { ...fields, csrf }, { origin: "https://evil.example" })).status).toBe(
      403,
    );
    expect(await labels()).toEqual(["primary"]);
  });

  it("makes a key whose secret is shown once, and says which field is wrong", async () => {
    const csrf = await person.csrf("/account/keys");
    const made = await person.submit("/account/keys", {
      act: "make",
      csrf,
      label: "nightly",
      ceiling: "1.50",
      period: "day",
      group: "",
      models: "core/cheap",
      services: "",
      expires: "",
    });
    expect(await made.text()).toMatch(/tg_sk_\w{40,}/);
    expect(await labels()).toContain("nightly");
    const wrong = await person.submit("/account/keys", {
      act: "make",
      csrf,
      label: "odd",
      ceiling: "a lot",
      period: "day",
    });
    expect(wrong.status).toBe(400);
    expect(await wrong.text()).toContain("ceiling_cents");
    expect(await labels()).not.toContain("odd");
  });
});

describe("the form of a key that was made", () => {
  it("leaves its hour of ending alone where the day is left, and sets or ends it where that is typed", async () => {
    const body = JSON.stringify({ label: "ends", expires_at: "2099-05-06T07:08:09Z" });
    const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
    await fetch(`${gateway.url}/api/v1/agents`, { method: "POST", headers, body });
    const shown = async () => {
      const { agents } = (await own("/api/v1/agents")) as { agents: Record<string, string | number | null>[] };
      return agents.find(({ label }) => label === "ends") ?? {};
    };
    const { id, expires_at: before } = await shown();
    const csrf = await person.csrf("/account/keys");
    const page = await (await person.open(`/account/keys?more=${id}`)).text();
    expect(page).toContain('name="expires_was" value="2099-05-06"');
    const fields = {
      act: "change",
      csrf,
      id: String(id),
      label: "ends",
      group: "",
      models: "",
      services: "",
      rate: "",
    };
    const save = (more: Record<string, string>) =>
      person.submit("/account/keys", { ...fields, expires_was: "2099-05-06", expires: "2099-05-06", ...more });
    expect((await save({ ceiling: "$0.29", period: "week" })).status).toBe(303);
    expect(await shown()).toMatchObject({ expires_at: before, ceiling_cents: 29, ceiling_period: "week" });
    await save({ ceiling: "", expires: "2099-05-07" });
    expect(await shown()).toMatchObject({ expires_at: "2099-05-07T00:00:00.000Z", ceiling_cents: null });
    await save({ ceiling: "", expires_was: "2099-05-07", expires: "" });
    expect((await shown()).expires_at).toBeNull();
    expect((await save({ ceiling: "0x10" })).status).toBe(400);
  });

  it("says what refuses it now, and gives it a new secret beside the old one", async () => {
    const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
    const body = JSON.stringify({ label: "held", ceiling_cents: 0 });
    const made = await (await fetch(`${gateway.url}/api/v1/agents`, { method: "POST", headers, body })).json();
    const { id, api_key: old } = made as Record<string, string>;
    const fields = { csrf: await person.csrf("/account/keys"), id: id ?? "" };
    const why = await (await person.submit("/account/keys", { ...fields, act: "why" })).text();
    expect(why).toContain("api_key_limit_exceeded");
    const rotate = { ...fields, act: "rotate", overlap: "3600" };
    expect(await (await person.submit("/account/keys", rotate)).text()).toContain("stops working in an hour");
    const rotated = await (await person.submit("/account/keys", { ...rotate, sure: "yes" })).text();
    const secret = /tg_sk_\w{40,}/.exec(rotated)?.[0];
    expect(secret).not.toBe(old);
    for (const key of [old, secret]) {
      const answer = await fetch(`${gateway.url}/api/v1/account`, { headers: { authorization: `Bearer ${key}` } });
      expect(answer.status).toBe(200);
    }
  });
});

describe("a page", () => {
  it("cannot be framed, is kept by no cache, and takes scripts of its own alone", async () => {
    const { headers } = await person.open("/account");
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(headers.get("content-security-policy")).toContain("script-src 'self'");
    expect(headers.get("content-security-policy")).not.toContain("unsafe");
  });

  it("is compressed, but not for a link on another site, nor where it shows a secret; its token never looks the same", async () => {
    const open = (from: string | null) =>
      person.open("/account/keys", {
        headers: { "accept-encoding": "br, gzip", ...(from === null ? {} : { "sec-fetch-site": from }) },
      });
    for (const [from, coding] of [
      ["same-origin", "br"],
      ["none", "br"],
      ["cross-site", null],
      ["same-site", null],
      // A browser that does not say.
      [null, null],
    ] as const)
      expect([from, (await open(from)).headers.get("content-encoding")]).toEqual([from, coding]);
    const [csrf, other] = [await person.csrf("/account/keys"), await person.csrf("/account/keys")];
    expect(other).not.toBe(csrf);
    for (const token of [csrf, other]) {
      const headers = { "accept-encoding": "br, gzip", "sec-fetch-site": "same-origin" };
      const made = await person.submit("/account/keys", { act: "make", csrf: token, label: "quiet" }, headers);
      expect(await made.text()).toMatch(/tg_sk_\w{40,}/);
      expect(made.headers.get("content-encoding")).toBeNull();
    }
  });

  it("of another's transaction is not there", async () => {
    const other = await gateway.account();
    await other.client.chat.completions.create({ model: "core/cheap", messages: [{ role: "user", content: "Hi" }] });
    const { json } = await gateway.admin("GET", `/admin/v1/transactions?account=${other.accountId}`);
    const rows = json.transactions as { transaction_id: string; kind: string }[];
    const transaction_id = rows.find(({ kind }) => kind === "charge")?.transaction_id;
    expect(transaction_id).toBeDefined();
    expect((await person.open(`/account/transactions/${transaction_id}`)).status).toBe(404);
  });

  it("finds failed calls of the account alone", async () => {
    const other = await gateway.account();
    const body = { model: "sandbox/503", messages: [{ role: "user" as const, content: "Hi" }] };
    await expect(other.client.chat.completions.create(body)).rejects.toThrow();
    const mine = (await own("/api/v1/transactions?status=failed")).transactions as unknown[];
    expect(mine).toEqual([]);
    const theirs = await fetch(`${gateway.url}/api/v1/transactions?status=failed`, {
      headers: { authorization: `Bearer ${other.key}` },
    });
    const { transactions } = (await theirs.json()) as {
      transactions: { request_id: string; attempts: Record<string, unknown>[] }[];
    };
    expect(transactions[0]?.attempts[0]).toMatchObject({ model: "sandbox/503", reason: "provider_overloaded" });
    expect(transactions[0]?.attempts[0]).not.toHaveProperty("upstream_nano_usd");
    const path = `/api/v1/transactions/${transactions[0]?.request_id}`;
    const open = (key: string) => fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${key}` } });
    expect(await (await open(other.key)).json()).toMatchObject({
      kind: "failed",
      attempts: [{ model: "sandbox/503" }],
    });
    expect((await open(account.key)).status).toBe(404);
  });
});

describe("a session", () => {
  it("is a new one at each sign-in, whatever cookie the browser came with", async () => {
    const victim = new Person(gateway.url);
    victim.setCookie("tollgate_session", "chosen-by-another");
    await victim.signIn(account.key);
    expect(victim.cookie("tollgate_session")).not.toBe("chosen-by-another");
    const thief = new Person(gateway.url);
    thief.setCookie("tollgate_session", "chosen-by-another");
    expect((await thief.open("/account")).status).toBe(303);
  });

  it("that was stolen is worth nothing after the sign-out", async () => {
    const victim = new Person(gateway.url);
    await victim.signIn(account.key);
    const thief = new Person(gateway.url);
    thief.setCookie("tollgate_session", victim.cookie("tollgate_session") ?? "");
    expect((await thief.open("/account")).status).toBe(200);
    const csrf = await victim.csrf("/account");
    await victim.submit("/sign-out", { csrf });
    expect((await thief.open("/account")).headers.get("location")).toBe("/sign-in?next=%2Faccount");
    expect((await thief.submit("/account/keys", { act: "make", csrf, label: "late" })).status).toBe(303);
    expect((await thief.open("/account/jobs/live")).status).toBe(401);
  });

  it("ends with the key that opened it", async () => {
    const { key, accountId } = await gateway.account();
    const shown = await gateway.admin("GET", `/admin/v1/accounts/${accountId}`);
    const [primary] = shown.json.keys as { id: string }[];
    const one = new Person(gateway.url);
    await one.signIn(key);
    expect((await one.open("/account")).status).toBe(200);
    await gateway.admin("POST", `/admin/v1/accounts/${accountId}/keys/${primary?.id}/rotate`);
    expect((await one.open("/account")).status).toBe(303);
  });
});

describe("the playground", () => {
  const ask = async (headers: Record<string, string>) =>
    person.open("/try/chat", {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ model: "core/cheap", messages: [{ role: "user", content: "Hi" }] }),
    });

  it("answers with play money, and the account of real money is charged nothing", async () => {
    const csrf = await person.csrf("/account");
    const { balance_cents: before } = await own("/api/v1/account");
    const answer = await ask({ "x-csrf-token": csrf, "x-tollgate-sandbox": "1" });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-tollgate-sandbox")).toBe("1");
    expect((await own("/api/v1/account")).balance_cents).toBe(before);
    const { json } = await gateway.admin("GET", "/admin/v1/usage?by=account&sandbox=1");
    const names = (json.usage as { account_name: string }[]).map(({ account_name }) => account_name);
    expect(names).toContain("playground of test");
  });

  it("takes no call without the session's token, and asks for real money where nothing says sandbox", async () => {
    expect((await ask({ "x-tollgate-sandbox": "1" })).status).toBe(401);
    const live = await ask({ "x-csrf-token": await person.csrf("/account") });
    // No provider is configured here: the live catalog refuses.
    expect(live.headers.get("x-tollgate-sandbox")).toBeNull();
    expect(live.status).toBeGreaterThanOrEqual(400);
  });
});

describe("the console", () => {
  it("opens for the admin token alone, and sets a strict cookie", async () => {
    expect((await operator({ token: "tg_admin_wrong" })).response.status).toBe(401);
    const { response, look } = await operator({ next: "//evil.example/" });
    expect(response.headers.get("location")).toBe("/console");
    expect(response.headers.get("set-cookie")).toMatch(/HttpOnly; SameSite=Strict/);
    expect((await look("/console")).status).toBe(200);
    expect((await fetch(`${gateway.adminUrl}/console`, { redirect: "manual" })).status).toBe(303);
  });

  it("changes money when it was asked twice, by a form of its own alone, and writes down who did it", async () => {
    const { send, csrf, look } = await operator();
    const token = await csrf();
    const path = `/console/accounts/${account.accountId}`;
    const fields = { act: "credit", dollars: "2", reference: "ticket 7" };
    const balance = async () => (await own("/api/v1/account")).balance_cents;
    const before = Number(await balance());
    expect((await send(path, { ...fields, csrf: token, sure: "yes" }, "https://evil.example")).status).toBe(403);
    expect((await send(path, { ...fields, csrf: "guessed", sure: "yes" })).status).toBe(403);
    expect(await (await send(path, { ...fields, csrf: token })).text()).toContain("Give $2 to the account");
    const odd = await send(path, { ...fields, dollars: "0x10", csrf: token });
    expect(odd.status).toBe(400);
    expect(await odd.text()).toContain("Dollars: must be an amount");
    expect(await balance()).toBe(before);
    expect((await send(path, { ...fields, csrf: token, sure: "yes" })).status).toBe(303);
    // The same form once more, through the back button.
    expect((await send(path, { ...fields, csrf: token, sure: "yes" })).status).toBe(409);
    expect(await balance()).toBe(before + 200);
    const log = await (await look("/console/log")).text();
    expect(log).toContain("ada");
    expect(log).toContain("ticket 7");
  });

  it("lets no one in after the sign-out", async () => {
    const { send, csrf, look } = await operator();
    const token = await csrf();
    expect((await send("/console/sign-out", { csrf: token })).headers.get("set-cookie")).toMatch(/Max-Age=0/);
    expect((await look("/console")).status).toBe(303);
  });
});
