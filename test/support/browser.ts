// A real headless browser for tests of pages: Debian's chromium, installed where it is missing and that is possible.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import puppeteer, { type Browser } from "puppeteer-core";

const run = promisify(execFile);
const PLACES = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
];
const INSTALL_MS_MAX = 280_000;
/** Room for the installation, which happens once on a machine. */
export const BROWSER_MS_MAX = 300_000;

const findBrowser = () => PLACES.find((place) => existsSync(place));

async function install(): Promise<void> {
  const environment = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const options = { env: environment, timeout: INSTALL_MS_MAX };
  await run("apt-get", ["update"], options);
  await run("apt-get", ["install", "-y", "--no-install-recommends", "chromium"], options);
}

async function browserPath(): Promise<string> {
  const there = findBrowser();
  if (there !== undefined) return there;
  const byHand = "no browser was found; run: apt-get install -y chromium";
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) throw new Error(byHand);
  await install().catch((cause: unknown) => {
    throw new Error(byHand, { cause });
  });
  return findBrowser() ?? Promise.reject(new Error(byHand));
}

/** Starts a browser of its own, with an empty profile. */
export async function openBrowser(): Promise<Browser> {
  return puppeteer.launch({
    executablePath: await browserPath(),
    // Chromium's own sandbox does not run for root, which tests in a container are.
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
  });
}
