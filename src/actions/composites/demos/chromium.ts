// A Chromium of the operator's for one recording: an empty profile, nothing of our environment, and no way out but the proxy.
import { type ChildProcess, spawn } from "node:child_process";
import { rm } from "node:fs/promises";
import { Readable, Writable } from "node:stream";
import { openPublicProxy, type PublicProxyOptions } from "../../../upstream/public-proxy.ts";
import { Devtools, type Line, RecordingFault } from "./devtools.ts";
import { type Bounds, endGroup, watchGroup } from "./process-group.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** One message; a frame of a recording is a fraction of it. */
const MESSAGE_BYTES_MAX = 32 * 1_048_576;
const END_MS_MAX = 5_000;
/** On a machine with much to do it takes far longer than any answer after it. */
const START_MS_MAX = 60_000;

/** What a stranger's page could reach past the proxy is turned off: names are asked for there, and there is no way by UDP. */
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
  // What a page's scripts may hold, and what is kept of what it loads: a page meets these before the whole browser meets its bounds.
  "--js-flags=--max-old-space-size=512",
  "--disk-cache-size=67108864",
  "--proxy-bypass-list=<-loopback>",
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
  "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
  "--webrtc-ip-handling-policy=disable_non_proxied_udp",
];

export interface OpenBrowser {
  readonly devtools: Devtools;
  close(): Promise<void>;
}

/** Texts over the third and fourth file of a process, a zero byte behind each. */
function pipeLine(child: ChildProcess): Line {
  // Where there are no files left to open, the process has none at all.
  const [, , , to, from] = child.stdio ?? [];
  if (!(to instanceof Writable) || !(from instanceof Readable)) throw new RecordingFault("the browser has no pipes");
  to.on("error", () => {});
  return {
    send: (text) => void to.write(`${text}\0`),
    listen(onText, onClosed) {
      let parts: Buffer[] = [];
      let length = 0;
      from.on("error", () => {});
      from.on("close", onClosed);
      from.on("data", (bytes: Buffer) => {
        let at = 0;
        for (let end = bytes.indexOf(0, at); end >= 0; end = bytes.indexOf(0, at)) {
          onText(Buffer.concat([...parts, bytes.subarray(at, end)]).toString("utf8"));
          parts = [];
          length = 0;
          at = end + 1;
        }
        const rest = bytes.subarray(at);
        length += rest.length;
        if (length > MESSAGE_BYTES_MAX) from.destroy();
        else if (rest.length > 0) parts.push(rest);
      });
    },
    // A Chromium whose pipe is closed ends, as it does where this process dies.
    close: () => void to.destroy(),
  };
}

export interface ChromiumOptions extends PublicProxyOptions {
  /** Whatever it takes beyond these ends it. */
  readonly bounds: Bounds;
}

/** Rejects with a RecordingFault where it does not start. To be closed. */
export async function openChromium(path: string, options: ChromiumOptions): Promise<OpenBrowser> {
  const profile = await temporaryFolder();
  const proxy = await openPublicProxy(options);
  const drop = async () => {
    await proxy.close();
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    return await started(path, { profile, proxyUrl: proxy.url, bounds: options.bounds, drop });
  } catch (error) {
    await drop();
    throw error;
  }
}

/** Where a Chromium lives, and what takes that away. */
interface Home {
  readonly profile: string;
  readonly proxyUrl: string;
  readonly bounds: Bounds;
  readonly drop: () => Promise<void>;
}

async function started(path: string, { profile, proxyUrl, bounds, drop }: Home): Promise<OpenBrowser> {
  const env = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: profile, LANG: "C.UTF-8" };
  const flags = [...FLAGS, `--proxy-server=${proxyUrl}`, `--user-data-dir=${profile}`, "about:blank"];
  // All that it starts is of one group, its own.
  const child = spawn(path, flags, {
    env,
    cwd: profile,
    stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
    detached: true,
  });
  const { pid } = child;
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  const devtools = new Devtools(pipeLine(child));
  void ended.then(() => devtools.close());
  const endAll = () => {
    if (pid !== undefined) endGroup(pid);
  };
  const stopWatch =
    pid === undefined
      ? () => {}
      : watchGroup({ group: pid, folder: profile }, bounds, (why) => {
          devtools.close(why);
          endAll();
        });
  const end = async () => {
    stopWatch();
    devtools.close();
    const late = setTimeout(endAll, END_MS_MAX);
    await ended;
    clearTimeout(late);
    // What it has started may be there still, where it was a script that started it.
    endAll();
  };
  try {
    await devtools.ask("Browser.getVersion", {}, null, START_MS_MAX);
  } catch (error) {
    await end();
    throw error;
  }
  return { devtools, close: () => end().then(drop) };
}
