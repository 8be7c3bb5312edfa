// Starts the operator's Chromium for one recording: an empty profile, none of our environment, and no network but the proxy.
import { rm } from "node:fs/promises";
import type { Browser } from "puppeteer-core";
import { openPublicProxy, type PublicProxyOptions } from "../../../upstream/public-proxy.ts";
import { CONNECTION, RecordingFault } from "./browser-page.ts";
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

export interface ChromiumOptions extends PublicProxyOptions {
  /** A browser that uses more is killed. */
  readonly bounds: Bounds;
}

/** Rejects with a RecordingFault where it does not start. The caller closes it. */
export async function openChromium(path: string, options: ChromiumOptions) {
  const folder = await temporaryFolder();
  const proxy = await openPublicProxy(options);
  const drop = async () => {
    await proxy.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  const browser = await started(path, folder, proxy.url).catch(async (cause: unknown) => {
    await drop();
    throw new RecordingFault("the browser did not start", { cause });
  });
  const group = browser.process()?.pid;
  if (group === undefined) throw new Error("a browser that was launched has no process");
  const killed = new AbortController();
  // The whole process group: where the program is a script, its child processes may run on.
  const kill = () => endGroup(group);
  const stopWatch = watchGroup({ group, folder }, options.bounds, (why) => {
    killed.abort(why);
    kill();
  });
  return {
    browser,
    /** Aborted with a RecordingFault where the browser used too much and was killed. */
    killed: killed.signal,
    async close(): Promise<void> {
      stopWatch();
      const late = setTimeout(kill, END_MS_MAX);
      await browser.close().catch(() => {});
      clearTimeout(late);
      kill();
      await drop();
    },
  };
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
