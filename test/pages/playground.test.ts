// The playground in a real Chromium: conversations, files, tools with consent, refusals, and actions from the catalog.
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "puppeteer-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { violationsIn } from "../support/axe.ts";
import { BROWSER_MS_MAX, openProfile } from "../support/browser.ts";
import { startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";
import { removeFolder } from "../support/remove-folder.ts";

let gateway: TestGateway;
let account: TestAccount;
let page: Page;
let complaints: string[];
let visitors = 0;

beforeAll(async () => {
  gateway = await startTestGateway({ ADDRESS_REQUESTS_PER_MINUTE: "100000", TRUST_PROXY: "1" });
  account = await gateway.account({ kind: "sandbox", creditCents: 1_000 });
}, BROWSER_MS_MAX);

afterAll(async () => {
  await gateway?.stop();
});

beforeEach(async () => {
  complaints = [];
  page = await (await openProfile()).newPage();
  visitors += 1;
  // One address may sign in ten times a minute.
  await page.setExtraHTTPHeaders({ "x-forwarded-for": `10.1.0.${visitors}` });
  page.on("pageerror", (error) => complaints.push(String(error)));
});

afterEach(async () => {
  await page.browserContext().close();
  expect(complaints).toEqual([]);
});

async function open(path: string, key = account.key): Promise<void> {
  await page.goto(`${gateway.url}${path}`);
  await page.type("#key", key);
  await Promise.all([page.waitForNavigation(), page.click("main button")]);
}

const text = (selector = "#answers") => page.$eval(selector, (one) => one.textContent ?? "");
const cards = () => page.$$eval("#answers > .card", (all) => all.map((one) => one.textContent ?? ""));
const set = (selector: string, value: string) =>
  page.$eval(selector, (one, words) => Object.assign(one, { value: words }), value);
const press = (words: string) => page.locator(`#answers ::-p-text(${words})`).click();

/** Waits until each model has answered and its conversation has this number of messages. */
const answered = (models: number, messages: number) =>
  page.waitForSelector(`#answers > :nth-child(${models}):last-child:not(:has(~ *))`).then(async () => {
    for (let at = 1; at <= models; at += 1)
      await page.waitForSelector(`#answers > :nth-child(${at})[data-done="${messages}"]`);
  });

it("continues four conversations side by side, by keyboard alone", async () => {
  await open("/try?model=core/cheap&model=core/mid&model=core/best&model=openai/gpt-5.4-nano");
  await page.focus("#prompt");
  await page.keyboard.type(" [[say: one]]");
  const sendByKey = async () => {
    await page.keyboard.down("Control");
    await page.keyboard.press("Enter");
    await page.keyboard.up("Control");
  };
  await sendByKey();
  await answered(4, 2);
  await page.keyboard.type("And [[say: two]]");
  await sendByKey();
  await answered(4, 4);
  for (const card of await cards()) {
    expect(card).toMatch(/one\d+ tokens\/s.*And \[\[say: two\]\]two\d+ tokens\/s/s);
    expect(card.match(/answered, \d+ ms/g)).toHaveLength(2);
  }
  expect(await violationsIn(page)).toEqual([]);
});

it("attaches images, PDFs and texts, and keeps their names but not their bytes", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-playground-"));
  const files = ["red.png", "report.pdf", "notes.txt"].map((name) => join(folder, name));
  const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
  const bytes = [Buffer.from(png, "base64"), "%PDF-1.4\n%%EOF\n", "the notes say seven"];
  for (const [at, path] of files.entries()) writeFileSync(path, bytes[at] ?? "");
  await open("/try?model=core/best");
  const bodies: string[] = [];
  page.on("request", (request) => bodies.push(request.postData() ?? ""));
  const [chooser] = await Promise.all([page.waitForFileChooser(), page.click("#files")]);
  await chooser.accept(files);
  await page.click(".composer button");
  await answered(1, 2);
  removeFolder(folder);
  const sent = bodies.join("\n");
  expect(sent).toContain(`data:image/png;base64,${png}`);
  expect(sent).toContain('"filename":"report.pdf","file_data":"data:application/pdf;base64,');
  expect(sent).toContain("notes.txt:\\nthe notes say seven");
  expect(await text()).toContain("Attached: red.png, report.pdf, notes.txt");
  await page.reload();
  await page.click("#kept summary");
  await page.click("#kept li button");
  expect(await text()).toContain("Attached: red.png, report.pdf, notes.txt");
  await set("#prompt", "And now?");
  bodies.length = 0;
  await page.click(".composer button");
  await answered(1, 4);
  expect(bodies.join("\n")).toContain("(no longer attached: red.png, report.pdf, notes.txt)");
});

it("runs an action that a model calls only once the person agrees, and returns its result to the model", async () => {
  await open("/try?model=core/cheap");
  await page.click("#tools summary");
  await page.waitForSelector('#actions option[value="brave/search"]');
  await set("#tool-0", "brave/search");
  await set("#prompt", '[[call: brave__search {"q": "tides", "count": 1}]]');
  const runs: string[] = [];
  page.on("request", (request) =>
    runs.push(...(request.url().includes("/try/run/") ? [request.postData() ?? ""] : [])),
  );
  await page.click(".composer button");
  await page.waitForSelector("#answers .asked .buttons");
  expect(await text()).toContain("brave/search");
  expect(runs).toEqual([]);
  // A second click, before the answer, runs nothing.
  await page.$eval("#answers .asked button", (yes) => {
    for (let clicks = 0; clicks < 2; clicks++) (yes as unknown as { click(): void }).click();
  });
  await answered(1, 4);
  expect(runs.map((body) => JSON.parse(body))).toEqual([{ q: "tides", count: 1, max_cost_cents: 1 }]);
  expect(await text("#answers details")).toContain("tides.example");
  // A declined call is not run, and the model learns of it.
  await page.click("#clear");
  await set("#prompt", '[[call: brave__search {"q": "tolls"}]]');
  await page.click(".composer button");
  await page.waitForSelector("#answers .asked .buttons");
  await press("Decline");
  await answered(1, 4);
  expect(runs).toHaveLength(1);
  expect(await text("#answers details")).toContain("declined");
  // The person answers for a function of their own.
  await page.click("#clear");
  await set("#functions", '[{"name": "add", "parameters": {"type": "object"}}]');
  await set("#prompt", '[[call: add {"a": 1, "b": 2}]]');
  await page.click(".composer button");
  await page.waitForSelector("#answers textarea");
  await set("#answers textarea", "three");
  await press("Send the result");
  await answered(1, 4);
  expect(await text("#answers details")).toContain("three");
  expect(runs).toHaveLength(1);
});

it("can be stopped and cleared while calls of one answer wait for consent, and is usable after that", async () => {
  await open("/try?model=core/cheap");
  await set("#functions", '[{"name": "add", "parameters": {"type": "object"}}]');
  for (const button of ["#stop", "#clear"]) {
    await set("#prompt", '[[call: add {"a": 1}]] [[call: add {"a": 2}]]');
    await page.click(".composer button");
    await page.waitForSelector("#answers .asked .buttons");
    await page.click(button);
    await page.waitForSelector("#stop[disabled]");
    expect(await page.$("#answers .asked .buttons")).toBeNull();
  }
  await page.reload();
  await set("#prompt", "[[say: fine]]");
  await page.click(".composer button");
  await answered(1, 2);
  expect(await text()).toContain("fine");
});

it("says what to do about a refusal: where to top up, which action is unknown, which field is not JSON", async () => {
  const { key, accountId } = await gateway.account({ kind: "sandbox", creditCents: 0 });
  await open("/try?model=core/cheap", key);
  await page.click(".composer button");
  const refusal = await page.waitForSelector("#answers .problem");
  expect(await refusal?.evaluate((one) => one.textContent)).toMatch(/^402: .*Top up.*Balance and budgets.*Try again$/s);
  await gateway.admin("POST", `/admin/v1/accounts/${accountId}/credits`, { cents: 100, reference: "topped-up" });
  await press("Try again");
  await answered(1, 2);
  expect(await page.$("#answers .problem")).toBeNull();
  await set("#tool-0", "no/such");
  await set("#prompt", "Hello");
  await page.click(".composer button");
  await page.waitForSelector("#answers > .problem");
  expect(await text("#answers > .problem")).toBe("There is no action no/such. Choose one from the list.");
  await page.click("details details:has(#schema) > summary");
  await page.type("#schema", "{no");
  expect(
    await page.$eval("#schema", (one) => (one as unknown as { validationMessage: string }).validationMessage),
  ).toBe("This is not JSON.");
});

it("tries an action from its card of the catalog, with a form made from its schema, and a row of a table too", async () => {
  await page.goto(`${gateway.url}/catalog?q=brave/search`);
  await Promise.all([page.waitForNavigation(), page.click('[aria-label="Try brave/search"]')]);
  await page.type("#key", account.key);
  await Promise.all([page.waitForNavigation(), page.click("main button")]);
  await page.click("form details details summary");
  await page.select("#p-safesearch", "strict");
  await set("#p-q", "tides");
  await page.click(".composer button");
  await page.waitForSelector("#answers .card[data-done]");
  expect(await text()).toMatch(/\d+ ms; \$0\.01.*tides\.example/s);
  expect(await text("[data-code=curl]")).toContain('"safesearch": "strict"');
  expect(await violationsIn(page)).toEqual([]);
  await page.goto(`${gateway.url}/catalog?q=subtitles`);
  const row = await page.$eval('.entry[id*=" "]', (one) => one.id.split(" ")[1] ?? "");
  await Promise.all([page.waitForNavigation(), page.click(`[aria-label$=" ${row}"]`)]);
  await page.click(".composer button");
  await page.waitForSelector("#answers .card[data-done]");
  expect(await text()).toMatch(/\d+ ms; \$0\.\d+/);
  expect(await text("[data-code=curl]")).toContain(row);
});

it("without scripts shows the call to send from a shell", async () => {
  await page.setJavaScriptEnabled(false);
  await open("/try?action=brave/search");
  expect(await text("noscript + form, .problem")).toContain("send the call below from a shell");
  expect(await text("[data-code=curl]")).toContain(`curl ${gateway.url}/api/run/brave/search`);
});
