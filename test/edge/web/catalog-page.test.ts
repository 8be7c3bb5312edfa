import { execFile } from "node:child_process";
import { request } from "node:http";
import { promisify } from "node:util";
import type { BrowserContext, HTTPResponse, Page } from "puppeteer-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { FOUND_MAX } from "../../../src/edge/web/catalog-view.ts";
import { violationsIn } from "../../support/axe.ts";
import { BROWSER_MS_MAX, openProfile } from "../../support/browser.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { manyActions } from "./catalog-actions.ts";

/** The parts of a browser that functions in the page use; the project itself has no such types. */
interface InPage {
  readonly textContent: string | null;
  readonly scrollWidth: number;
  checkVisibility(): boolean;
  getAttribute(name: string): string | null;
}
declare const document: {
  readonly documentElement: InPage;
  readonly activeElement: InPage | null;
  querySelector(selector: string): InPage | null;
};
/** What `main` shows after loading. */
interface Shown extends InPage {
  readonly dataset: { readonly shows?: string };
}
declare const innerWidth: number;
declare const navigator: { readonly clipboard: { readText(): Promise<string> } };
declare function getComputedStyle(one: InPage): { readonly maskImage: string };

let gateway: TestGateway;
let browser: BrowserContext;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  gateway = await startTestGateway({ ADDRESS_REQUESTS_PER_MINUTE: "100000" });
  browser = await openProfile();
}, BROWSER_MS_MAX);

afterAll(async () => {
  await browser?.close();
  await gateway?.stop();
});

beforeEach(async () => {
  complaints = [];
  page = await browser.newPage();
  page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("requestfailed", (request) => {
    // The page aborts its own search request when the user types on.
    if (request.failure()?.errorText !== "net::ERR_ABORTED") complaints.push(`failed: ${request.url()}`);
  });
  page.on("response", (response: HTTPResponse) => {
    if (response.status() >= 400) complaints.push(`${response.status()}: ${response.url()}`);
  });
});

afterEach(async () => {
  await page.close();
  expect(complaints).toEqual([]);
});

const open = (rest = "") => page.goto(`${gateway.url}/catalog${rest}`);
/** The visible text of the elements that a selector finds. */
const seen = (selector: string) =>
  page.$$eval(selector, (all) =>
    all.filter((one) => one.checkVisibility()).map((one) => one.id || (one.textContent ?? "")),
  );
const ENTRIES = ".entry, #language-models .row";
const entries = () => seen(ENTRIES);
const SEARCH = "input[type=search]";
/** The page alone, which is all that a later visit loads; and with its font, style and script. */
const BYTES_MAX = 40_000;
const FIRST_BYTES_MAX = 150_000;

/** Waits until the page shows the search of an address. */
const shows = (address: string) =>
  page.waitForFunction(
    (wanted) => (document.querySelector("main") as Shown | null)?.dataset.shows === wanted,
    {},
    address,
  );

async function search(words: string): Promise<void> {
  await page.type(SEARCH, words);
  await shows(`/catalog?${new URLSearchParams({ q: words })}`);
}

async function json<T>(path: string): Promise<T> {
  return (await (await fetch(`${gateway.url}${path}`)).json()) as T;
}

async function actionIds(): Promise<string[]> {
  const { data } = await json<{ data: { service: string; action: string }[] }>("/api/run");
  return data.map(({ service, action }) => `${service}/${action}`).sort();
}

interface PriceRow {
  readonly model: string;
  readonly available: boolean;
  readonly kind: string;
  readonly long_prompts?: readonly object[];
}

async function pricing() {
  return json<{ models: PriceRow[]; tiers: Record<string, string[]> }>("/api/llm/v1/pricing");
}

/** The bytes of an answer on the wire, headers included, for a client that accepts `coding`. */
function wireBytes(url: string, coding: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent: false, headers: { "accept-encoding": coding } }, (response) => {
      const { socket } = response;
      response.resume();
      response.on("end", () => resolve(socket.bytesRead));
    });
    asked.on("error", reject);
    asked.end();
  });
}

const run = promisify(execFile);

/** Runs a copied call in a shell and returns its result. */
async function runCopied(call: string, key: string): Promise<unknown> {
  const env = { PATH: process.env.PATH, TOLLGATE_API_KEY: key };
  const { stdout, stderr } = await run("sh", ["-c", call.replace("curl ", "curl -sS ")], { env });
  expect(stderr, call).toBe("");
  return JSON.parse(stdout);
}

describe("the catalog's page", () => {
  test("says whose it is, and how one comes by a key", async () => {
    await open();
    expect(await seen(".brand")).toEqual(["Tollgate"]);
    await page.click("#key summary");
    const help = await page.$eval("#key[open]", (one) => one.textContent ?? "");
    expect(help).toContain("account create");
    expect(help).toContain("export TOLLGATE_API_KEY=");
  });

  test("gives calls that work as they are copied: of actions, models and tiers, and to sign up", async () => {
    const openGateway = await startTestGateway({ SIGNUP: "open" });
    try {
      await page.goto(`${openGateway.url}/catalog`);
      const [signup = ""] = await page.$$eval("#key pre", (all) => all.map((one) => one.textContent ?? ""));
      expect(signup).toContain("/api/v1/signup");
      expect(await runCopied(signup, "")).toHaveProperty("api_key");
      const { key } = await openGateway.account();
      for (const path of [
        "actions/core/discover",
        "actions/tavily/search",
        "tiers/cheap",
        "models/openai/gpt-5.4-mini",
        "models/openai/text-embedding-3-small",
      ]) {
        await page.goto(`${openGateway.url}/catalog/${path}`);
        const call = await page.$eval("main pre", (one) => one.textContent ?? "");
        expect(await runCopied(call, key), call).not.toHaveProperty("error");
      }
    } finally {
      await openGateway.stop();
    }
  });

  test("shows every action, every model and every tier", async () => {
    await open();
    const { models, tiers } = await pricing();
    const all = [
      ...(await actionIds()),
      ...models.map(({ model }) => model),
      ...Object.keys(tiers).map((id) => `core/${id}`),
    ];
    expect((await entries()).sort()).toEqual(all.sort());
  });

  test("finds what core/discover finds, in its order, and opens up again", async () => {
    const { key } = await gateway.account({ kind: "personal" });
    await open();
    const all = await entries();
    for (const query of ["search recent news", "serch"]) {
      const response = await postAs(key, `${gateway.url}/api/run/core/discover`, { query, limit: 50 });
      const { data } = (await response.json()) as {
        data: { service: string; action: string; params?: Record<string, string> }[];
      };
      await search(query);
      // The page lists endpoints in a section of their own.
      const actions = data.filter(({ service }) => service !== "llm" && service !== "account").slice(0, FOUND_MAX);
      const found = actions.map(({ service, action, params }) => {
        return [`${service}/${action}`, ...Object.values(params ?? {})].join(" ");
      });
      expect(found.length).toBeGreaterThan(5);
      expect(await seen("#actions .entry")).toEqual(found);
      await page.focus(SEARCH);
      await page.keyboard.press("Escape");
      await shows("/catalog");
      expect(await entries()).toEqual(all);
    }
    await search("zzzzqqqq");
    expect(await entries()).toEqual([]);
    expect(await seen(".none")).toHaveLength(1);
  });

  test("finds models by their names, however they are written, before the actions", async () => {
    await open();
    await search("gpt5 mini");
    expect(await seen("#language-models .row")).toContain("openai/gpt-5.4-mini");
    expect((await entries())[0]).toContain("gpt-5");
  });

  test("finds the rows of a table, and says what each takes", async () => {
    await open("?q=subtitles");
    const found = await seen("#actions .entry");
    const row = found.find((id) => id.includes(" "));
    expect(row).toMatch(/subtitle|caption/);
    await Promise.all([page.waitForNavigation(), page.click(`[id="${row}"] .row`)]);
    expect(await seen("h1")).toEqual([row]);
    expect((await seen("[aria-label=Params]"))[0]).toContain("required");
    const [, name = ""] = String(row).split(" ");
    expect(await page.$eval("main a.button", (one) => decodeURIComponent(one.getAttribute("href") ?? ""))).toContain(
      name,
    );
  });

  test("keeps the search in the address", async () => {
    await open();
    await search("search recent news");
    const found = await entries();
    await page.reload();
    expect(await page.$eval(SEARCH, (one) => one.value)).toBe("search recent news");
    expect(await entries()).toEqual(found);
  });

  test("counts what a filter leaves, section by section", async () => {
    await open();
    const counts = async () =>
      Promise.all(
        (await page.$$("main > section")).map((section) =>
          section.evaluate((one) => {
            const rows = one.querySelectorAll(".row").length;
            return `${rows} ${one.querySelector("h2 small")?.textContent}`;
          }),
        ),
      );
    for (const count of await counts()) expect(count).toMatch(/^(\d+) \1$/);
    await page.click("input[type=checkbox]");
    await shows("/catalog?configured=1");
    for (const count of await counts()) expect(count).toMatch(/^(\d+) \1( of \d+)?$/);
    const left = await entries();
    const { models } = await pricing();
    expect(left).toContain("core/discover");
    expect(left.length).toBeLessThan((await actionIds()).length);
    expect(left.filter((id) => models.some(({ model, available }) => model === id && !available))).toEqual([]);
    expect(await page.$eval(".count", (one) => one.textContent)).toMatch(new RegExp(`^${left.length} of \\d+$`));
  });

  test("a card has a price and a button to try it, and a category its number of entries", async () => {
    await open();
    const [card] = await page.$$eval('[id="tavily/search"]', (all) => all.map((one) => one.textContent ?? ""));
    expect(card).toMatch(/tavily\/search.*¢.*Try$/s);
    expect(await page.$eval('[id="tavily/search"] .logo', (one) => getComputedStyle(one).maskImage)).toContain(
      "data:image/svg",
    );
    expect(await seen('[id="core/discover"] .logo')).toEqual(["co"]);
    expect(await page.$eval('[aria-label="Try tavily/search"]', (one) => one.getAttribute("href"))).toBe(
      "/try?action=tavily%2Fsearch",
    );
    const { data } = await json<{ data: { category: string }[] }>("/api/run");
    const [core] = await seen('.chips [href="/catalog?category=core"]');
    expect(core).toBe(`core ${data.filter(({ category }) => category === "core").length}`);
  });

  test("shows one category", async () => {
    await open();
    await Promise.all([page.waitForNavigation(), page.click('.chips [href="/catalog?category=core"]')]);
    expect(await seen("main > section")).toHaveLength(1);
    expect((await entries()).every((id) => id.startsWith("core/"))).toBe(true);
    await page.type(SEARCH, "search");
    await shows("/catalog?q=search&category=core");
    expect((await entries()).every((id) => id.startsWith("core/"))).toBe(true);
    await Promise.all([page.waitForNavigation(), page.click('.chips [href="/catalog?q=search"]')]);
    await page.focus(SEARCH);
    await page.keyboard.press("Escape");
    await shows("/catalog");
    expect((await seen("main > section")).length).toBeGreaterThan(5);
  });

  test("tells once what is not configured, and is no wall of warnings", async () => {
    await open();
    expect(await seen(".notice")).toHaveLength(1);
    expect((await seen(".notice"))[0]).toMatch(/Sandbox keys can call all/);
    const wide = await page.$$eval("main .off", (all) => all.filter((one) => one.getBoundingClientRect().width > 12));
    expect(wide).toEqual([]);
    expect(await page.$$eval("main .off", (all) => all.length)).toBeGreaterThan(50);
  });

  test("an action has a page with its price, params, and a call that copies", async () => {
    await browser.setPermission(gateway.url, { permission: { name: "clipboard-read" }, state: "granted" });
    await open();
    await Promise.all([page.waitForNavigation(), page.click('[id="core/discover"] .row')]);
    const text = await page.$eval("main", (one) => one.textContent ?? "");
    expect(text).toContain("query");
    expect(text).toContain("required");
    expect(text).toContain("Free");
    await page.bringToFront();
    await page.click(".copy");
    await page.waitForFunction(() => document.querySelector(".copy")?.textContent === "Copied");
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toContain(`curl ${gateway.url}/api/run/core/discover`);
    expect(copied).toContain('Bearer $TOLLGATE_API_KEY"');
    expect(copied).toContain('{"query":');
  });

  test("a model has a page with its prices, cached and stepped ones too, what it takes, its providers, and a call", async () => {
    const { models } = await pricing();
    const stepped = models.find(({ kind, long_prompts }) => kind === "chat" && long_prompts !== undefined);
    const id = String(stepped?.model);
    await open(`?q=${id}`);
    await Promise.all([page.waitForNavigation(), page.click(`[id="${id}"]`)]);
    const text = await page.$eval("main", (one) => one.textContent ?? "");
    expect(text).toContain("Cached input");
    expect(text).toMatch(/Prompts up to [\d,]+ tokens/);
    expect(text).toMatch(/Prompts above [\d,]+ tokens/);
    expect(text).toContain(`curl ${gateway.url}/api/llm/v1/chat/completions`);
    expect(text).toContain(`{"model":"${id}"`);
    expect(text).toMatch(/Takestext(, \w+)*Givestext/);
    expect(text).toContain("No provider that is configured here serves it.");
    expect(await seen(".copy")).toEqual(["Copy"]);
  });

  test("tiers stand from the best to the cheap, each with how many of its candidates are configured", async () => {
    const configured = await startTestGateway({ OPENAI_API_KEY: "k" });
    try {
      await page.goto(`${configured.url}/catalog`);
      expect((await seen("main > section")).slice(0, 3)).toEqual(["core", "tiers", "language-models"]);
      expect(await (await fetch(`${configured.url}/catalog/models/openai/gpt-5.4-mini`)).text()).toMatch(
        /Providers in order.*data-of="openai"[^>]*><\/span> OpenAI</s,
      );
      expect(await seen("#tiers .entry")).toEqual(["core/best", "core/mid", "core/cheap"]);
      const { models, tiers } = (await (await fetch(`${configured.url}/api/llm/v1/pricing`)).json()) as Awaited<
        ReturnType<typeof pricing>
      >;
      const isConfigured = (slug: string) => models.some(({ model, available }) => model === slug && available);
      const expected = ["best", "mid", "cheap"].map((id) => {
        const slugs = tiers[id] ?? [];
        return `${slugs.filter(isConfigured).length} of ${slugs.length} configured`;
      });
      expect(await seen("#tiers .price")).toEqual(expected);
      await Promise.all([page.waitForNavigation(), page.click('[id="core/best"] .row')]);
      expect(await seen("main .row")).toContain(tiers.best?.[0]);
    } finally {
      await configured.stop();
    }
  });

  test("the points of all prices in a column stand below each other", async () => {
    for (const path of ["", "/models", "/models?sort=output"]) {
      await page.goto(`${gateway.url}/catalog${path}`);
      for (const column of [2, 3]) {
        const prices = await seen(`td:nth-child(${column}) .money`);
        expect(prices.length).toBeGreaterThan(50);
        // All are aligned to the right, and every character after the point is as wide as a digit.
        expect(new Set(prices.map((price) => price.length - price.indexOf("."))).size, path).toBe(1);
      }
    }
  });

  test("is used with the keyboard alone", async () => {
    await open();
    await page.keyboard.press("/");
    await page.keyboard.type("which action");
    await shows("/catalog?q=which+action");
    expect((await entries())[0]).toBe("core/discover");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowUp");
    expect(await page.evaluate(() => document.activeElement?.getAttribute("type"))).toBe("search");
    await page.keyboard.press("ArrowDown");
    await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
    expect(await seen("h1")).toEqual(["core/discover"]);
  });

  test("works without scripts: every entry leads to a page of its own, and the search is a form", async () => {
    await page.setJavaScriptEnabled(false);
    await open();
    const html = await page.content();
    for (const id of await actionIds()) expect(html).toContain(`id="${id}"`);
    await Promise.all([page.waitForNavigation(), page.click('[id="core/discover"] .row')]);
    expect(page.url()).toBe(`${gateway.url}/catalog/actions/core/discover`);
    expect(await seen("h1")).toEqual(["core/discover"]);
    expect((await seen("[aria-label=Params]"))[0]).toContain("query");
    expect(await seen(".copy")).toEqual([]);
    await open();
    await page.type(SEARCH, "serch recent news");
    await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
    expect(await seen("#actions .entry")).toContain("brave/news");
  });

  test("says who is meant where nothing has the name", async () => {
    for (const [path, nearest] of [
      ["/catalog/actions/core/discovr", "core/discover"],
      ["/catalog/models/openai/gpt-5-mni", "openai/gpt-5.4-mini"],
      ["/catalog/tiers/chep", "cheap"],
    ] as const) {
      const response = await fetch(`${gateway.url}${path}`);
      expect(response.status).toBe(404);
      expect(await response.text()).toContain(nearest);
    }
  });

  test("is less than 150 kB on the wire at the first visit and 40 kB at a later one, also with a thousand actions", async () => {
    const large = await startTestGateway({}, { actions: manyActions(1_000) });
    try {
      for (const one of [gateway, large]) {
        for (const coding of ["gzip", "gzip, br"])
          expect(await wireBytes(`${one.url}/catalog`, coding)).toBeLessThan(BYTES_MAX);
      }
      const session = await page.createCDPSession();
      await session.send("Network.enable");
      let bytes = 0;
      session.on("Network.loadingFinished", ({ encodedDataLength }) => {
        bytes += encodedDataLength;
      });
      await page.goto(`${large.url}/catalog`, { waitUntil: "networkidle0" });
      expect(bytes).toBeGreaterThan(5_000);
      expect(bytes).toBeLessThan(FIRST_BYTES_MAX);
      bytes = 0;
      await page.goto(`${large.url}/catalog?later=1`, { waitUntil: "networkidle0" });
      expect(bytes).toBeGreaterThan(5_000);
      expect(bytes).toBeLessThan(BYTES_MAX);
      const shown = await entries();
      expect(shown.length).toBeGreaterThan(300);
      // The search also finds what is not among the first lines.
      const beyond = (await (await fetch(`${large.url}/api/run`)).json()) as {
        data: { service: string; action: string }[];
      };
      const id = beyond.data.map(({ service, action }) => `${service}/${action}`).find((one) => !shown.includes(one));
      await page.type(SEARCH, String(id));
      await shows(`/catalog?${new URLSearchParams({ q: String(id) })}`);
      expect(await entries()).toContain(id);
      await page.goto(`${large.url}/catalog`);
      await Promise.all([page.waitForNavigation(), page.click("#search .all a")]);
      const { data } = (await (await fetch(`${large.url}/api/run`)).json()) as { data: { category: string }[] };
      expect(await entries()).toHaveLength(data.filter(({ category }) => category === "search").length);
    } finally {
      await large.stop();
    }
  });

  test.each([
    ["a desk", 1280, 900],
    ["a phone", 360, 740],
  ])("fits %s", async (_, width, height) => {
    await page.setViewport({ width, height });
    await open();
    const squeezed = await page.$$eval(".entry :is(.name, .says)", (all) =>
      all.filter((one) => one.getBoundingClientRect().width < 200).map((one) => one.textContent),
    );
    expect(squeezed).toEqual([]);
    for (const path of ["", "/actions/files/upload", "/models", "/models/openai/gpt-5.4-mini", "/tiers/best"]) {
      await open(path);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(overflow, path).toBeLessThanOrEqual(0);
    }
  });

  test.each(["light", "dark"])("has no violation that axe knows in the %s", async (value) => {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value }]);
    for (const path of [
      "",
      "?q=zzzzqqqq",
      "/actions/brave/search",
      "/models",
      "/models/openai/gpt-5.4-mini",
      "/tiers/best",
    ]) {
      await open(path);
      expect(await violationsIn(page), path).toEqual([]);
    }
  });

  test("loads nothing from elsewhere", async () => {
    const requests: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    const response = await open();
    expect(requests).toContain(`${gateway.url}/catalog`);
    expect(requests.filter((url) => !url.startsWith("data:") && !url.startsWith(`${gateway.url}/`))).toEqual([]);
    expect(response?.headers()["content-security-policy"]).toContain("default-src 'none'");
  });
});
