// A Chromium of the operator's for one recording: an empty profile, nothing of our environment, and no way out but the proxy.
import { type ChildProcess, spawn } from "node:child_process";
import { rm } from "node:fs/promises";
import { Readable, Writable } from "node:stream";
import { openPublicProxy, type PublicProxyOptions } from "../../upstream/public-proxy.ts";
import { Devtools, type Line, RecordingFault } from "./devtools.ts";
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
  // What a page's scripts may hold, and what is kept of what it loads; all of a browser is bounded by the operator's machine (docs/composites.md).
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

/** Rejects with a RecordingFault where it does not start. To be closed. */
export async function openChromium(path: string, options: PublicProxyOptions): Promise<OpenBrowser> {
  const profile = await temporaryFolder();
  const proxy = await openPublicProxy(options);
  const drop = async () => {
    await proxy.close();
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    return await started(path, { profile, proxyUrl: proxy.url, drop });
  } catch (error) {
    await drop();
    throw error;
  }
}

/** Where a Chromium lives, and what takes that away. */
interface Home {
  readonly profile: string;
  readonly proxyUrl: string;
  readonly drop: () => Promise<void>;
}

async function started(path: string, { profile, proxyUrl, drop }: Home): Promise<OpenBrowser> {
  const env = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: profile, LANG: "C.UTF-8" };
  const flags = [...FLAGS, `--proxy-server=${proxyUrl}`, `--user-data-dir=${profile}`, "about:blank"];
  const child = spawn(path, flags, { env, cwd: profile, stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  const devtools = new Devtools(pipeLine(child));
  void ended.then(() => devtools.close());
  const end = async () => {
    devtools.close();
    const late = setTimeout(() => child.kill("SIGKILL"), END_MS_MAX);
    await ended;
    clearTimeout(late);
  };
  try {
    await devtools.ask("Browser.getVersion", {}, null, START_MS_MAX);
  } catch (error) {
    await end();
    throw error;
  }
  return { devtools, close: () => end().then(drop) };
}
