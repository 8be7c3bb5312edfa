// The pages in a real Chromium: six tasks in at most four clicks, strangers' text shown as text, and no violation that axe knows.
// forms.test.ts tests what a user may do by a form, and what another site's page may not.
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "puppeteer-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { violationsIn } from "../support/axe.ts";
import { BROWSER_MS_MAX, openProfile } from "../support/browser.ts";
import { eventually, startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";
import { postAs } from "../support/keyed-fetch.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { startVendor, type VendorServer } from "../support/vendor-server.ts";

/** What a page costs on the wire: on the first visit with its font, style and scripts, and once the browser has those. */
const FIRST_BYTES_MAX = 150_000;
const LATER_BYTES_MAX = 40_000;
/** More than a list shows on one page. */
const KEYS = 52;
const ACCOUNTS = 52;
const CLICKS_MAX = 4;
/** Strangers' text where a page shows it. It would reveal itself if it ran. */
const XSS = [
  `<script>alert(1)</script>`,
  `"><img src=x onerror=alert(1)>`,
  `' autofocus onfocus=alert(1) x='`,
  `</textarea><svg onload=alert(1)>`,
  `javascript:alert(1)`,
];

/** The parts of a browser that functions in the page use. */
declare const document: {
  readonly documentElement: { readonly scrollWidth: number };
  querySelector(selector: string): { readonly textContent: string | null } | null;
};
declare const innerWidth: number;
declare const performance: { getEntries(): { name: string; entryType: string; encodedBodySize?: number }[] };

let gateway: TestGateway;
let account: TestAccount;
let page: Page;
let receiver: Server;
/** A provider whose every word is a stranger's: its errors and, on request, its answers contain them. */
let vendor: VendorServer;
let clicks = 0;
let complaints: string[];
const heard: string[] = [];
const shots = process.env.TOLLGATE_SCREENSHOTS;

async function post(path: string, body: unknown, headers: Record<string, string> = {}, key = account.key) {
  const response = await postAs(key, `${gateway.url}${path}`, body, headers);
  return (await response.json()) as Record<string, unknown>;
}

const chat = (model: string, tag: string, key = account.key) =>
  post(
    "/v1/chat/completions",
    { model, messages: [{ role: "user", content: XSS[0] }] },
    { "x-tollgate-tags": tag },
    key,
  );

/** A job that has succeeded. */
let finished: string;
let visitors = 0;
type Job = { readonly data: { readonly job_id: string; readonly status: string } };
const isOver = async (job_id: string) =>
  ((await post("/api/run/core/result", { job_id })) as unknown as Job).data.status === "succeeded";

/** With real money, at the provider. */
let live: TestAccount;
const SAYS = "say it";

async function startStranger(): Promise<VendorServer> {
  const started = await startVendor();
  started.answers((response, { text: asked, url }) => {
    if (!asked.includes(SAYS)) {
      response.writeHead(url.startsWith("/refuses") ? 401 : 503, { "content-type": "application/json" });
      return void response.end(JSON.stringify({ error: { message: XSS[1], type: XSS[0] } }));
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const choice = { index: 0, delta: { role: "assistant", content: XSS.join(" ") }, finish_reason: "stop" };
    const usage = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 };
    const chunk = { id: "x", object: "chat.completion.chunk", created: 1, model: "x", choices: [choice], usage };
    response.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
  });
  return started;
}

beforeAll(async () => {
  vendor = await startStranger();
  const provider = {
    OPENAI_API_KEY: "sk-test-of-a-stranger",
    OPENAI_BASE_URL: `${vendor.url}/v1`,
    GROQ_API_KEY: "gsk-that-is-refused",
    GROQ_BASE_URL: `${vendor.url}/refuses/v1`,
  };
  // Each test has another address, as behind a proxy: one address may sign in ten times a minute.
  const settings = { ADDRESS_REQUESTS_PER_MINUTE: "100000", TRUST_PROXY: "1", WEBHOOKS_PRIVATE: "1", ...provider };
  gateway = await startTestGateway(settings);
  receiver = createServer((request, response) => {
    heard.push(String(request.headers["webhook-id"]));
    response.end(XSS[0]);
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/${encodeURIComponent(XSS[1] ?? "")}`;
  await gateway.admin("POST", "/admin/v1/webhooks", { url });
  const opened = await gateway.admin("POST", "/admin/v1/accounts", {
    name: XSS[1],
    kind: "sandbox",
    credit_cents: 1_000,
  });
  account = {
    ...(await gateway.account()),
    accountId: String(opened.json.account_id),
    key: String(opened.json.api_key),
  };
  await post("/api/v1/webhooks", { url });
  for (const name of XSS) await post("/api/v1/groups", { name, ceiling_cents: 100 });
  const keys = await Promise.all(XSS.map((label) => post("/api/v1/agents", { label, ceiling_cents: 100 })));
  for (const [at, key] of keys.entries())
    await chat("core/cheap", `team=${XSS[at]?.replace(/[,=]/g, "")}`, String(key.api_key));
  for (let at = 0; at < KEYS; at += 1) {
    const { api_key } = await post("/api/v1/agents", { label: `agent ${at}`, ceiling_cents: 100 });
    await chat("core/cheap", "team=blue", String(api_key));
    await chat("sandbox/503", "team=blue", String(api_key));
  }
  for (let at = 0; at < ACCOUNTS; at += 1)
    await gateway.admin("POST", "/admin/v1/accounts", { name: `customer ${at}`, kind: "sandbox" });
  await chat("sandbox/503", "team=red");
  await chat(XSS[1] ?? "", "team=red");
  await post("/api/run/files/upload_from_url", {
    url: "https://example.com/",
    filename: "<img src=x onerror=alert(1)>.html",
    note: XSS[0],
  });
  await post("/api/v1/runs", { id: "night", budget_cents: 100, label: XSS[0] });
  await post("/api/v1/runs", { id: "child", budget_cents: 100, label: XSS[1], parent: "night" });
  for (const run of ["night", "child", "child", "child"]) await chat("core/cheap", "team=red", `${account.key}+${run}`);
  live = await gateway.account({ kind: "personal" });
  // The route fails until it rests, and so does another one.
  for (const model of [...Array(6).fill("openai/gpt-5.4-nano"), "openai/gpt-5.4-mini", "openai/gpt-oss-120b"])
    await chat(String(model), "team=red", live.key);
  const deep = async (...urls: string[]) =>
    ((await post("/api/run/core/onescrape-deep", { urls })) as unknown as Job).data.job_id;
  finished = await deep("https://example.com/");
  await eventually(async () => ((await isOver(finished)) ? true : undefined), "the end of the job");
  await post("/api/run/core/cancel", { job_id: await deep("https://example.com/", "https://example.com/about") });
  await gateway.admin("POST", "/admin/v1/certificates/openai", {
    ...{ at: "2026-11-22T10:00:00.000Z", version: "0.1.0", fine: 3, not_asked: 1 },
    differs: [{ asked: XSS[2], kind: "whole", status: 200, detail: XSS[1] }],
  });
});

afterAll(async () => {
  receiver?.close();
  await gateway?.stop();
  await vendor?.close();
});

beforeEach(async () => {
  complaints = [];
  clicks = 0;
  page = await (await openProfile()).newPage();
  visitors += 1;
  await page.setExtraHTTPHeaders({ "x-forwarded-for": `10.0.0.${visitors}` });
  page.on("dialog", (dialog) => {
    complaints.push(`a script of a stranger ran: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (line) => {
    if (["error", "warn"].includes(line.type())) complaints.push(line.text());
  });
});

afterEach(async () => {
  await page.browserContext().close();
  expect(complaints).toEqual([]);
});

async function signIn(key = account.key): Promise<void> {
  await page.goto(`${gateway.url}/account`);
  await page.type("#key", key);
  await Promise.all([page.waitForNavigation(), page.click("main button")]);
}

async function signInAsOperator(): Promise<void> {
  await page.goto(`${gateway.adminUrl}/console`);
  await page.type("#token", gateway.adminToken);
  await page.type("#name", XSS[1] ?? "");
  await Promise.all([page.waitForNavigation(), page.click("main button")]);
}

/** One click of a task, which leads to another page. */
async function click(selector: string): Promise<void> {
  clicks += 1;
  await Promise.all([page.waitForNavigation(), page.click(selector)]);
}

const text = (selector = "main") => page.$eval(selector, (one) => one.textContent ?? "");

const violations = (rule?: string) => violationsIn(page, rule);

const OF_ACCOUNT = [
  "",
  "/transactions",
  "/transactions?status=failed",
  "/transactions?status=refused",
  "/runs",
  "/keys",
  "/budgets",
  "/events",
  "/jobs",
  "/files",
  "/start",
  "/find?q=on",
].map((path) => `/account${path}`);
const OF_OPERATOR = [
  "",
  "/accounts",
  "/calls",
  "/calls?status=failed",
  "/routes",
  "/running",
  "/prices",
  "/events",
  "/doctor",
  "/log",
  "/find?q=on",
].map((path) => `/console${path}`);

/** The bytes that the open page took on the wire, also those that came from the browser's cache this time. */
async function bytesSent() {
  const sent = await page.evaluate(() =>
    performance
      .getEntries()
      .filter(({ entryType }) => ["navigation", "resource"].includes(entryType))
      .map(({ name, encodedBodySize = 0 }) => ({ isAsset: name.includes("/assets/"), bytes: encodedBodySize })),
  );
  const sumOf = (all: typeof sent) => all.reduce((sum, { bytes }) => sum + bytes, 0);
  return { first: sumOf(sent), later: sumOf(sent.filter(({ isAsset }) => !isAsset)) };
}

async function look(base: string, path: string): Promise<void> {
  const response = await page.goto(`${base}${path}`);
  expect(response?.status(), path).toBe(200);
  const { first, later } = await bytesSent();
  expect(first, path).toBeLessThan(FIRST_BYTES_MAX);
  expect(later, path).toBeLessThan(LATER_BYTES_MAX);
  for (const [width, look] of [
    [1_440, "light"],
    [390, "dark"],
  ] as const) {
    await page.setViewport({ width, height: 900 });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: look }]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), path).toBeLessThanOrEqual(0);
    // Dark mode changes only the contrast.
    expect(await violations(look === "light" ? undefined : "color-contrast"), `${path}, ${look}`).toEqual([]);
    if (shots !== undefined) {
      const name = path
        .replace(/acct_\w+/, "one")
        .replace(/\W+/g, "-")
        .slice(1);
      await page.screenshot({ path: `${shots}/all-${name}-${look}-${width}.png`, fullPage: true });
    }
  }
}

/** The page of the first row of a list. */
async function rowOf(list: string): Promise<string> {
  await page.goto(list);
  return page.$eval("tbody .row", (one) => one.getAttribute("href") ?? "");
}

describe("every page", () => {
  it(
    "of an account shows what strangers wrote as text, fits a phone, and has no violation that axe knows",
    async () => {
      await page.goto(`${gateway.url}/sign-in`);
      expect(await violations()).toEqual([]);
      await signIn();
      for (const path of [...OF_ACCOUNT, "/account/runs/night", "/try", "/try?action=brave/search"])
        await look(gateway.url, path);
      await look(gateway.url, await rowOf(`${gateway.url}/account/transactions?status=failed`));
      await look(gateway.url, await rowOf(`${gateway.url}/account/transactions`));
      await page.goto(`${gateway.url}/account/keys`);
      for (const label of XSS) expect(await text()).toContain(label);
      const more = await page.$eval('a[aria-label^="More about"]', (one) => one.getAttribute("href") ?? "");
      await look(gateway.url, more.replace(/#.*/, ""));
    },
    BROWSER_MS_MAX,
  );

  it(
    "of the operator too",
    async () => {
      await page.goto(`${gateway.adminUrl}/console/sign-in`);
      expect(await violations()).toEqual([]);
      await signInAsOperator();
      for (const path of [...OF_OPERATOR, `/console/accounts/${account.accountId}`]) await look(gateway.adminUrl, path);
      expect(await text("h1")).toBe(XSS[1]);
      await look(gateway.adminUrl, await rowOf(`${gateway.adminUrl}/console/calls?status=failed`));
      await look(gateway.adminUrl, await rowOf(`${gateway.adminUrl}/console/calls`));
      await page.goto(`${gateway.adminUrl}/console/routes`);
      expect(await page.$$eval("q", (all) => all.map((one) => one.textContent))).toContain(XSS[1]);
      expect(await text(".problem")).toContain(
        `GROQ_API_KEY; put a good one there and start again. It said 401: ${XSS[1]}`,
      );
    },
    BROWSER_MS_MAX,
  );
});

describe("every page of a gateway on which nothing has happened", () => {
  it(
    "has no violation that axe knows",
    async () => {
      const bare = await startTestGateway({ ADDRESS_REQUESTS_PER_MINUTE: "100000" });
      try {
        const { key } = await bare.account({ kind: "personal" });
        await page.goto(`${bare.url}/account`);
        await page.type("#key", key);
        await Promise.all([page.waitForNavigation(), page.click("main button")]);
        for (const path of OF_ACCOUNT) await look(bare.url, path);
        await page.goto(`${bare.adminUrl}/console`);
        await page.type("#token", bare.adminToken);
        await page.type("#name", "ada");
        await Promise.all([page.waitForNavigation(), page.click("main button")]);
        for (const path of OF_OPERATOR) await look(bare.adminUrl, path);
      } finally {
        await bare.stop();
      }
    },
    BROWSER_MS_MAX,
  );
});

it("what an operator's form leads to has no violation that axe knows either", async () => {
  await signInAsOperator();
  for (const path of ["/console/routes", "/console/doctor"]) {
    await page.goto(`${gateway.adminUrl}${path}`);
    await click("main form button");
    expect(await violations(), path).toEqual([]);
  }
});

it("the bar of a job that has succeeded is not in the colour of a warning", async () => {
  await signIn();
  await page.goto(`${gateway.url}/account/jobs`);
  const rows = await page.$$eval("tbody tr", (all) => all.map(({ outerHTML }) => outerHTML));
  const row = rows.find((one) => one.includes(finished)) ?? "";
  expect(row).toContain(">succeeded<");
  expect(row).toMatch(/1 of 1.*class="bar"/s);
  expect(row).not.toContain("bar high");
});

describe("in at most four clicks after the sign-in", () => {
  afterEach(() => expect(clicks).toBeLessThanOrEqual(CLICKS_MAX));

  it("an operator sees who spent most yesterday", async () => {
    await signInAsOperator();
    await click(`[aria-label="Day"] a:nth-child(2)`);
    const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    expect(await text()).toContain(`Who spent what on ${yesterday}`);
    expect(await text()).toContain(`Nothing was spent on ${yesterday}`);
    await click(`[aria-label="Day"] a:nth-child(1)`);
    expect(await text(".grid > .card:last-child .shares li:first-child")).toContain(XSS[1]);
  });

  it("an account's person stops a key", async () => {
    await signIn();
    await click(`.side a[href="/account/keys"]`);
    await click(`button[aria-label="Pause: ${XSS[4]}"]`);
    expect(await text(".told")).toContain("paused");
    const { agents } = (await (
      await fetch(`${gateway.url}/api/v1/agents`, { headers: { authorization: `Bearer ${account.key}` } })
    ).json()) as { agents: { label: string; paused: boolean }[] };
    expect(agents.filter(({ paused }) => paused).map(({ label }) => label)).toEqual([XSS[4]]);
  });

  it.each([true, false])(
    "an account's person creates a key (scripts: %s), and sees its secret once",
    async (scripts) => {
      await page.setJavaScriptEnabled(scripts);
      await signIn();
      await click(`.side a[href="/account/keys"]`);
      await (scripts ? page.click("[data-opens]") : click("[data-opens]"));
      if (scripts) {
        expect(await violations()).toEqual([]);
        await page.type("#new-label", "wrong");
        await page.type("#new-ceiling", "a lot");
        await page.keyboard.press("Enter");
        await page.waitForSelector("dialog .problem");
        await page.$eval("#new-ceiling", (one) => Object.assign(one, { value: "" }));
        await page.$eval("#new-label", (one) => Object.assign(one, { value: "" }));
      }
      await page.type("#new-label", `made ${scripts}`);
      await page.type("#new-ceiling", "2");
      if (scripts) await page.keyboard.press("Enter");
      else await click("dialog form[action] button");
      await page.waitForSelector("main .call");
      const shown = await text(scripts ? "dialog" : "main");
      const secret = await text("main .call code");
      expect(secret).toMatch(/^tg_sk_\w+$/);
      for (const word of [
        `made ${scripts}`,
        "export TOLLGATE_API_KEY=",
        "curl",
        "Python",
        "TypeScript",
        "ANTHROPIC_BASE_URL",
      ])
        expect(shown).toContain(word);
      const known = await fetch(`${gateway.url}/api/v1/agents`, { headers: { authorization: `Bearer ${secret}` } });
      expect(known.status).not.toBe(401);
      await click(scripts ? "dialog a.button" : "main a.button");
      expect(await text()).not.toContain(secret);
      await page.goto(`${gateway.url}/account/keys?q=made+${scripts}`);
      expect(await text("table")).toContain("of $2.00 a day");
      // The browser's console names the wrong field's answer.
      complaints = complaints.filter((line) => !line.includes("status of 400"));
    },
  );

  it("an account's person sees why a call failed", async () => {
    await signIn();
    await click(`.side a[href="/account/transactions"]`);
    await page.select("#status", "failed");
    await page.type("#model", "sandbox/503");
    await click("main form button");
    await click("tbody .row");
    expect(await text("h1")).toBe("Failed call");
    expect(await text()).toContain("provider_overloaded");
    expect(await text()).toContain("What to do");
    expect(await violations()).toEqual([]);
  });

  it("an operator sees what the provider said about a failed call", async () => {
    await signInAsOperator();
    await click(`.side a[href="/console/calls"]`);
    await page.select("#status", "failed");
    await page.type("#account", live.accountId);
    await click("main form button");
    await click("tbody tr:last-child .row");
    expect(await page.$$eval("q", (all) => all.map((one) => one.textContent))).toContain(XSS[1]);
    expect(await page.$(`main a[href="/console/accounts/${live.accountId}"]`)).not.toBeNull();
    expect(await violations()).toEqual([]);
  });

  it("two models are tried side by side, each with its first token, cost and routes", async () => {
    await signIn();
    await click(`.side a[href="/try"]`);
    expect(await text("#price")).toMatch(/^About \$0\.\d+ at most\.$/);
    clicks += 1;
    await page.click("main form button");
    await page.waitForFunction(() => document.querySelector("#answers .card:nth-child(2)[data-done]") !== null);
    await page.waitForFunction(() => document.querySelector("#answers .card:nth-child(1)[data-done]") !== null);
    for (const at of [1, 2]) {
      const told = await text(`#answers .card:nth-child(${at})`);
      expect(told).toMatch(
        /\d+ tokens\/s; first token after \d+ ms, all after \d+ ms; \d+ tokens in, \d+ out; \$0\.\d+/,
      );
      expect(told).toMatch(/answered, \d+ ms/);
    }
    expect(await text("[data-code=Python]")).toContain("/api/llm/v1/chat/completions");
    // The browser keeps what was asked and what came, and shows it again after a reload.
    await page.goto(`${gateway.url}/try?model=core/best`);
    expect(await page.$eval("#model-0", (one) => one.getAttribute("value"))).toBe("core/best");
    await page.click("#kept summary");
    await page.click("#kept li button");
    expect(await page.$eval("#model-0", (one) => Object(one).value)).toBe("core/cheap");
    expect(await text("#answers .card:nth-child(2)")).toContain("tokens/s");
    await page.click("#kept > button");
    expect(await page.$$("#kept li")).toEqual([]);
  });

  it("an operator gives back two dollars, asked twice, and the log says who", async () => {
    await signInAsOperator();
    await click(`.side a[href="/console/accounts"]`);
    await page.type("#q", account.accountId);
    await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
    await click(`main a[href="/console/accounts/${account.accountId}"]`);
    const before = await gateway.admin("GET", `/admin/v1/accounts/${account.accountId}`);
    await click("main .grid .card:first-child button");
    expect(await text(".told")).toContain("Give $2 to the account");
    expect((await gateway.admin("GET", `/admin/v1/accounts/${account.accountId}`)).json.granted_cents).toBe(
      before.json.granted_cents,
    );
    await click("main form button");
    const after = await gateway.admin("GET", `/admin/v1/accounts/${account.accountId}`);
    expect(Number(after.json.granted_cents) - Number(before.json.granted_cents)).toBe(200);
    const { json } = await gateway.admin("GET", "/admin/v1/log?limit=1");
    expect(json.log).toMatchObject([
      { by: XSS[1], method: "POST", path: `/admin/v1/accounts/${account.accountId}/credits`, status: 200 },
    ]);
  });

  it("an operator sends a webhook again", async () => {
    await eventually(() => (heard.length > 0 ? heard : undefined), "an event");
    await signInAsOperator();
    await click(`.side a[href="/console/events"]`);
    const label = await page.$eval(
      "button[aria-label^='Send again: event']",
      (one) => one.getAttribute("aria-label") ?? "",
    );
    const [, id = ""] = /event (\S+) to/.exec(label) ?? [];
    const before = heard.filter((one) => one === id).length;
    await click("button[aria-label^='Send again: event']");
    await eventually(() => (heard.filter((one) => one === id).length > before ? true : undefined), "the event again");
    expect(await text(".told")).toContain("sent again");
  });
});

it("what a model says in the playground is text, whatever it is, and real money is asked for by a switch alone", async () => {
  await signIn(live.key);
  await page.goto(`${gateway.url}/try`);
  expect(await text(".told")).toContain("Sandbox");
  await click(".switch a:nth-child(2)");
  expect(await text(".told.warn")).toContain("your account pays");
  await page.$eval("#prompt", (one, words) => Object.assign(one, { value: words }), SAYS);
  await page.$eval("#model-0", (one) => Object.assign(one, { value: "openai/gpt-5.4-nano" }));
  await page.$eval("#model-1", (one) => Object.assign(one, { value: "" }));
  await page.click("main form button");
  await page.waitForSelector("#answers .card[data-done]");
  expect(await text("#answers")).toContain(XSS.join(" "));
});

it("a file is sent from the page of files, whatever it is called", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-pages-"));
  const path = join(folder, "<img src=x onerror=alert(1)>.txt");
  writeFileSync(path, "seven b");
  await signIn();
  await page.goto(`${gateway.url}/account/files`);
  await click("main p > a.button");
  const [chooser] = await Promise.all([page.waitForFileChooser(), page.click("#file")]);
  await chooser.accept([path]);
  await page.click("main form button");
  await page.waitForSelector("#answers .card[data-done]");
  expect(await text("#answers")).toContain("7 bytes were sent");
  await page.goto(`${gateway.url}/account/files`);
  expect(await text("tbody tr:first-child")).toContain("<img src=x onerror=alert(1)>.txt");
  expect(await text("tbody tr:first-child")).toContain("7 B");
  removeFolder(folder);
});

it("a sign-out in one tab ends the others, the way back shows nothing, and times are told in the reader's own as well", async () => {
  await page.emulateTimezone("Asia/Kathmandu");
  await signIn();
  await page.goto(`${gateway.url}/account/keys`);
  const [utc, own] = await page.$eval("time", (one) => [one.getAttribute("datetime"), one.getAttribute("title")]);
  const minutes = new Date(utc ?? "").getUTCMinutes();
  // Nepal is 5 hours and 45 minutes ahead.
  expect(own).toContain(`:${String((minutes + 45) % 60).padStart(2, "0")}:`);
  const other = await page.browserContext().newPage();
  await other.goto(`${gateway.url}/account`);
  await Promise.all([other.waitForNavigation(), other.click(".side > form button")]);
  await page.bringToFront();
  await click(`button[aria-label="Revoke: ${XSS[3]}"]`);
  expect(new URL(page.url()).pathname).toBe("/sign-in");
  await page.goBack();
  await page.waitForSelector("#key");
  expect(await text()).not.toContain(XSS[3]);
  const { agents } = (await (
    await fetch(`${gateway.url}/api/v1/agents`, { headers: { authorization: `Bearer ${account.key}` } })
  ).json()) as { agents: { label: string }[] };
  expect(agents.map(({ label }) => label)).toContain(XSS[3]);
});

it("what is live is told anew while the page is open", async () => {
  await signInAsOperator();
  await page.goto(`${gateway.adminUrl}/console/running`);
  await page.waitForSelector("[data-live][data-told]");
  expect(await text("[data-live]")).toContain("Calls");
});

/** The screenshots of docs/guides/web-pages.md, where a folder for them is set: `TOLLGATE_SCREENSHOTS=docs/images`. */
it.runIf(shots !== undefined)(
  "has its picture taken with an account that has called",
  async () => {
    // The others' texts are strangers'; these are for the guide.
    const overloaded = await startVendor();
    overloaded.answers((response) => {
      response.writeHead(503, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: "The engine is overloaded, please try again later" } }));
    });
    const strange = gateway;
    const provider = { OPENAI_API_KEY: "sk-test-of-the-guide", OPENAI_BASE_URL: `${overloaded.url}/v1` };
    gateway = await startTestGateway({ ADDRESS_REQUESTS_PER_MINUTE: "100000", TRUST_PROXY: "1", ...provider });
    const failing = await gateway.account({ kind: "personal" });
    const shown = await gateway.account({ creditCents: 5_000 });
    const makeKey = async (label: string) =>
      String((await post("/api/v1/agents", { label, ceiling_cents: 50 }, {}, shown.key)).api_key);
    const [assistant, nightly] = [await makeKey("assistant"), await makeKey("nightly report")];
    const asked = [
      ["core/best", "team=research", assistant],
      ["core/best", "team=research", assistant],
      ["core/mid", "team=support", nightly],
      ["core/cheap", "team=support", shown.key],
    ] as const;
    for (const [model, tag, key] of asked) await chat(model, tag, key);
    await post("/api/run/core/onescrape", { urls: ["https://example.com/"] }, {}, nightly);
    await page.setViewport({ width: 1_120, height: 800 });
    await signIn(shown.key);
    await page.screenshot({ path: `${shots}/account.png` });
    await page.goto(`${gateway.url}/try`);
    await page.click("main form button");
    await page.waitForFunction(() => document.querySelector("#answers .card:nth-child(2)[data-done]") !== null);
    await page.screenshot({ path: `${shots}/try.png` });
    await page.goto(`${gateway.url}/catalog`);
    await page.screenshot({ path: `${shots}/catalog.png` });
    await signInAsOperator();
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
    await page.goto(`${gateway.adminUrl}/console/accounts/${shown.accountId}`);
    await page.screenshot({ path: `${shots}/console.png` });
    await chat("openai/gpt-5.4-mini", "team=support", failing.key);
    await page.goto(`${gateway.adminUrl}${await rowOf(`${gateway.adminUrl}/console/calls?status=failed`)}`);
    await page.setViewport({ width: 1_120, height: 640 });
    await page.screenshot({ path: `${shots}/failure.png` });
    await page.setViewport({ width: 390, height: 844 });
    await page.goto(`${gateway.url}/account`);
    await page.screenshot({ path: `${shots}/phone.png` });
    await gateway.stop();
    await overloaded.close();
    gateway = strange;
  },
  BROWSER_MS_MAX,
);

it("Ctrl K finds a page, a key and an action by a part of the name, and a call by its id; without scripts the form does", async () => {
  await signIn();
  await page.keyboard.down("Control");
  await page.keyboard.press("k");
  await page.keyboard.up("Control");
  await page.waitForSelector("dialog[open]");
  await page.keyboard.type("transac");
  await page.waitForFunction(() => document.querySelector("dialog .hits")?.textContent?.includes("Page Transactions"));
  expect(await violations()).toEqual([]);
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  expect(page.url()).toBe(`${gateway.url}/account/transactions`);
  const id = (await page.$eval("tbody .row", (one) => one.getAttribute("href") ?? "")).split("/").at(-1) ?? "";
  await page.setJavaScriptEnabled(false);
  const found = async (words: string) => {
    await page.goto(`${gateway.url}/account`);
    await page.type(".side .find input", words);
    await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
    return text();
  };
  expect(await found(id)).toContain(`Transaction ${id}`);
  const { transactions } = (await (
    await fetch(`${gateway.url}/api/v1/transactions?status=failed`, {
      headers: { authorization: `Bearer ${account.key}` },
    })
  ).json()) as { transactions: { request_id: string }[] };
  const failed = transactions[0]?.request_id ?? "";
  expect(await found(failed)).toContain(`Transaction ${failed}`);
  expect(await found("onerror")).toContain(XSS[1]);
  expect(await found("search the web")).toContain("Action brave/search");
  expect(await found("no-such-key-or-call-0123")).not.toContain("Key ");
});

it("the arrow keys move through a chart's days and show the figures of each", async () => {
  await signIn();
  await page.focus("[data-chart]");
  await page.keyboard.press("ArrowLeft");
  const today = new Date().toISOString().slice(0, 10);
  const shown = await page.$eval(".cols > li:focus .tip", (one) => one.textContent ?? "");
  expect(shown).toMatch(new RegExp(`^${today}\\$\\d`));
  expect(shown).toContain("core/onescrape-deep");
});
