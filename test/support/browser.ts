// A real headless browser for tests of pages: Debian's chromium, installed where it is missing and that is possible.
import { existsSync } from "node:fs";
import puppeteer, { type Browser, type BrowserContext } from "puppeteer-core";
import { INSTALLED_MS_MAX, installed } from "./apt-install.ts";
import { endWithTests } from "./end-with-tests.ts";

const PLACES = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
];
/** Room for the installation, which happens once on a machine. */
export const BROWSER_MS_MAX = INSTALLED_MS_MAX;

const START_MS_MAX = 120_000;

const findBrowser = () => PLACES.find((place) => existsSync(place));

/** The program, installed where it is missing. */
export const browserPath = () => installed(findBrowser, "browser", "chromium");

/** Starts a browser of its own, with an empty profile. */
export async function openBrowser(...more: readonly string[]): Promise<Browser> {
  return puppeteer.launch({
    executablePath: await browserPath(),
    // Chromium's own sandbox does not run for root, which tests in a container are.
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", ...more],
    // Half a minute is not enough where others load the machine as well.
    timeout: START_MS_MAX,
  });
}

/** The browser that files of this process share. */
let shared: Promise<Browser> | null = null;

/** An empty profile in a browser that files of this process share. */
export async function openProfile(): Promise<BrowserContext> {
  shared ??= openBrowser().then((browser) => {
    const child = browser.process();
    if (child !== null) endWithTests(child);
    return browser;
  });
  return (await shared).createBrowserContext();
}
