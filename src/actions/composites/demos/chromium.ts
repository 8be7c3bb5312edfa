// Starts the operator's Chromium for one recording: an empty profile, none of our environment, and no network but the proxy.
import { rm } from "node:fs/promises";
import type { Browser } from "puppeteer-core";
import { openPublicProxy, type PublicProxyOptions } from "../../../upstream/public-proxy.ts";
import { CONNECTION, RecordingFault, type StartedBrowser } from "./browser-page.ts";
import { type Bounds, endGroup, watchGroup } from "./process-group.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const END_MS_MAX = 5_000;
/** On a busy machine a start takes far longer than any answer after it. */
const START_MS_MAX = 60_000;

/** Closes all ways past the proxy: the proxy resolves names, and UDP is disabled. */
const FLAGS = [
  "--headless=new",
  "--remote-debugging-pipe",
  "--no-first-run",
  "--no-default-browser-check",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-default-apps",
  "--disable-extensions",
  "--disable-sync",
  "--disable-quic",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--hide-scrollbars",
  "--mute-audio",
  // Bounds on a page's scripts and cache. A page hits these before the browser hits its own.
  "--js-flags=--max-old-space-size=512",
  "--disk-cache-size=67108864",
  "--proxy-bypass-list=<-loopback>",
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
  "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
  "--webrtc-ip-handling-policy=disable_non_proxied_udp",
];

export interface OpenBrowser extends StartedBrowser {
  close(): Promise<void>;
}

export interface ChromiumOptions extends PublicProxyOptions {
  /** A browser that uses more is killed. */
  readonly bounds: Bounds;
}

/** Rejects with a RecordingFault where it does not start. The caller closes it. */
export async function openChromium(path: string, options: ChromiumOptions): Promise<OpenBrowser> {
  const profile = await temporaryFolder();
  const proxy = await openPublicProxy(options);
  const drop = async () => {
    await proxy.close();
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const browser = await started(path, profile, proxy.url);
    return watched(browser, { folder: profile, bounds: options.bounds, drop });
  } catch (cause) {
    await drop();
    throw new RecordingFault("the browser did not start", { cause });
  }
}

async function started(path: string, profile: string, proxyUrl: string): Promise<Browser> {
  const puppeteer = await import("puppeteer-core");
  return puppeteer.launch({
    ...CONNECTION,
    executablePath: path,
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: profile, LANG: "C.UTF-8" },
    ignoreDefaultArgs: true,
    args: [...FLAGS, `--proxy-server=${proxyUrl}`, `--user-data-dir=${profile}`, "about:blank"],
    pipe: true,
    timeout: START_MS_MAX,
    waitForInitialPage: false,
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  });
}

interface Watched {
  readonly folder: string;
  readonly bounds: Bounds;
  readonly drop: () => Promise<void>;
}

/** Kills the browser's whole process group where it uses too much or does not close. */
function watched(browser: Browser, { folder, bounds, drop }: Watched): OpenBrowser {
  const killed = new AbortController();
  const group = browser.process()?.pid;
  if (group === undefined) throw new Error("a browser that was launched has no process");
  const kill = () => endGroup(group);
  const stopWatch = watchGroup({ group, folder }, bounds, (why) => {
    killed.abort(why);
    kill();
  });
  return {
    browser,
    killed: killed.signal,
    async close() {
      stopWatch();
      const late = setTimeout(kill, END_MS_MAX);
      await browser.close().catch(() => {});
      clearTimeout(late);
      // Where the program is a script, its child processes may still run.
      kill();
      await drop();
    },
  };
}
