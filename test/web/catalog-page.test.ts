import type { Browser, HTTPResponse, Page } from "puppeteer-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { BROWSER_MS_MAX, openBrowser } from "../support/browser.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";

/** What the functions that run inside the page use of a browser; the project itself has no such things. */
interface InPage {
  readonly className: string;
  readonly tagName: string;
  readonly textContent: string | null;
  readonly parentElement: InPage | null;
  readonly scrollWidth: number;
  checkVisibility(): boolean;
  getAttribute(name: string): string | null;
}
declare const document: {
  readonly documentElement: InPage;
  readonly activeElement: InPage | null;
  querySelector(selector: string): InPage | null;
};
declare const innerWidth: number;
declare const navigator: { readonly clipboard: { readText(): Promise<string> } };
declare function getComputedStyle(one: InPage): { readonly color: string; readonly backgroundColor: string };

let gateway: TestGateway;
let browser: Browser;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  gateway = await startTestGateway({ ADDRESS_REQUESTS_PER_MINUTE: "100000" });
  browser = await openBrowser();
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
  page.on("requestfailed", (request) => complaints.push(`failed: ${request.url()}`));
  page.on("response", (response: HTTPResponse) => {
    if (response.status() >= 400) complaints.push(`${response.status()}: ${response.url()}`);
  });
});

afterEach(async () => {
  await page.close();
  expect(complaints).toEqual([]);
});

const open = (rest = "") => page.goto(`${gateway.url}/catalog${rest}`);
/** What people see of what a selector finds. */
const seen = (selector: string) =>
  page.$$eval(selector, (all) =>
    all.filter((one) => one.checkVisibility()).map((one) => one.id || (one.textContent ?? "")),
  );
const entries = () => seen(".list > details");
const SEARCH = "input[type=search]";

async function actionIds(): Promise<string[]> {
  const { data } = (await (await fetch(`${gateway.url}/api/run`)).json()) as {
    data: { service: string; action: string }[];
  };
  return data.map(({ service, action }) => `${service}/${action}`).sort();
}

describe("the catalog's page", () => {
  test("shows every action and every model", async () => {
    await open();
    expect((await entries()).sort()).toEqual(await actionIds());
    const { models } = (await (await fetch(`${gateway.url}/api/llm/v1/pricing`)).json()) as { models: unknown[] };
    expect(await seen("#models tbody tr")).toHaveLength(models.length);
    expect((await seen("#tiers tbody tr")).length).toBeGreaterThan(2);
  });

  test("narrows down as one types, and opens up again", async () => {
    await open();
    const all = await entries();
    await page.type(SEARCH, "core discover");
    expect(await entries()).toEqual(["core/discover"]);
    expect(await seen("main > section")).toHaveLength(1);
    expect(await page.$eval(".count", (one) => one.textContent)).toMatch(/^1 of \d+$/);
    await page.keyboard.press("Escape");
    expect(await entries()).toEqual(all);
    await page.type(SEARCH, "zzzz");
    expect(await entries()).toEqual([]);
    expect(await seen(".none")).toHaveLength(1);
  });

  test("finds the rows of a table and shows those that match", async () => {
    await open("?q=subtitles");
    const rows = await seen(".rows li");
    expect(rows.length).toBeGreaterThan(0);
    for (const row of rows) expect(row.toLowerCase()).toContain("subtitle");
  });

  test("keeps the search in the address", async () => {
    await open();
    await page.type(SEARCH, "core discover");
    await page.reload();
    expect(await page.$eval(SEARCH, (one) => one.value)).toBe("core discover");
    expect(await entries()).toEqual(["core/discover"]);
  });

  test("shows one category, and what is configured alone", async () => {
    await open();
    await page.click('.chips a[href="#core"]');
    expect(await seen("main > section")).toHaveLength(1);
    expect((await entries()).every((id) => !id.startsWith("sec"))).toBe(true);
    await page.click('.chips a[href="#all"]');
    await page.click("input[type=checkbox]");
    const configured = await entries();
    expect(configured).toContain("core/discover");
    expect(configured.length).toBeLessThan((await actionIds()).length);
    expect(await seen(".list .off")).toEqual([]);
  });

  test("opens what the address names: price, params, and a call that copies", async () => {
    await browser.defaultBrowserContext().setPermission(gateway.url, {
      permission: { name: "clipboard-read" },
      state: "granted",
    });
    await open("#core/discover");
    const inside = await seen('[id="core/discover"] .inside');
    expect(inside[0]).toContain("query");
    expect(inside[0]).toContain("required");
    expect(inside[0]).toContain("Free");
    await page.bringToFront();
    await page.click('[id="core/discover"] .copy');
    await page.waitForFunction(() => document.querySelector('[id="core/discover"] .copy')?.textContent === "Copied");
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toContain(`curl ${gateway.url}/api/run/core/discover`);
    expect(copied).toContain('{"query":');
  });

  test("is used with the keyboard alone", async () => {
    await open();
    await page.keyboard.press("/");
    await page.keyboard.type("core discover");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    expect(await seen('[id="core/discover"] .inside')).toHaveLength(1);
    await page.keyboard.press("ArrowUp");
    expect(await page.evaluate(() => document.activeElement?.getAttribute("type"))).toBe("search");
  });

  test("shows all of it without scripts, and no box that does nothing", async () => {
    await page.setJavaScriptEnabled(false);
    await open();
    const html = await page.content();
    for (const id of await actionIds()) expect(html).toContain(`id="${id}"`);
    await page.click('[id="core/discover"] summary');
    const shown = await page.$eval('[id="core/discover"] .inside', (one) => one.checkVisibility());
    expect(shown).toBe(true);
    expect(await page.$eval(SEARCH, (one) => one.checkVisibility())).toBe(false);
  });

  test.each([
    ["a desk", 1280, 900],
    ["a phone", 360, 740],
  ])("fits %s", async (_, width, height) => {
    await page.setViewport({ width, height });
    await open();
    const squeezed = await page.$$eval(".name, .says", (all) =>
      all.filter((one) => one.getBoundingClientRect().width < 200).map((one) => one.textContent),
    );
    expect(squeezed).toEqual([]);
    await page.$$eval(".list > details", (all) => {
      for (const one of all) one.open = true;
    });
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(overflow).toBeLessThanOrEqual(0);
  });

  test.each(["light", "dark"])("can be read in the %s", async (value) => {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value }]);
    await open("#core/discover");
    const poor = await page.$$eval(
      "h1, .lead, .name, .says, .price, .off, td, th, pre code, .chips a, .facts dt",
      (all) => {
        const lightness = (color: string) => {
          const parts = (color.match(/[\d.]+/g) ?? []).slice(0, 3).map((part) => {
            const share = Number(part) / 255;
            return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
          });
          return 0.2126 * (parts[0] ?? 0) + 0.7152 * (parts[1] ?? 0) + 0.0722 * (parts[2] ?? 0);
        };
        const behind = (one: InPage | null): string => {
          if (one === null) return "rgb(255, 255, 255)";
          const color = getComputedStyle(one).backgroundColor;
          return /rgba\(.*, 0\)|transparent/.test(color) ? behind(one.parentElement) : color;
        };
        return all
          .filter((one) => one.checkVisibility())
          .map((one) => {
            const both = [lightness(getComputedStyle(one).color), lightness(behind(one))].sort((a, b) => b - a);
            const contrast = ((both[0] ?? 0) + 0.05) / ((both[1] ?? 0) + 0.05);
            return { what: `${one.className || one.tagName} ${one.textContent?.slice(0, 20)}`, contrast };
          })
          .filter(({ contrast }) => contrast < 4.5);
      },
    );
    expect(poor).toEqual([]);
  });

  test("loads nothing from anywhere", async () => {
    const requests: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    const response = await open();
    expect(requests.filter((url) => !url.startsWith("data:"))).toEqual([`${gateway.url}/catalog`]);
    expect(response?.headers()["content-security-policy"]).toContain("default-src 'none'");
  });
});
