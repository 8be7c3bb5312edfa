// A real headless browser for page tests: Debian's chromium, installed where it is missing if possible.
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
/** Time for the installation, which happens once on a machine. */
export const BROWSER_MS_MAX = INSTALLED_MS_MAX;

const START_MS_MAX = 120_000;

const findBrowser = () => PLACES.find((place) => existsSync(place));

/** The program, installed where it is missing. */
export const browserPath = () => installed(findBrowser, "browser", "chromium");

/** Starts a new browser with an empty profile. */
export async function openBrowser(...more: readonly string[]): Promise<Browser> {
  return puppeteer.launch({
    executablePath: await browserPath(),
    // Chromium's own sandbox does not run as root, and tests in a container run as root.
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", ...more],
    // Half a minute is too short on a machine under other load.
    timeout: START_MS_MAX,
  });
}

/** The browser that this process's test files share. */
let shared: Promise<Browser> | null = null;

/** An empty profile in the browser that this process's test files share. */
export async function openProfile(): Promise<BrowserContext> {
  shared ??= openBrowser().then((browser) => {
    const child = browser.process();
    if (child !== null) endWithTests(child);
    return browser;
  });
  return (await shared).createBrowserContext();
}
