// One page of a browser, controlled through the DevTools protocol. Avoids Puppeteer's `Page`, which listens to the page's
// console: a hostile page can make one message as large as our memory.
import type { Browser, CDPSession } from "puppeteer-core";
import type { Size } from "./clip.ts";

/** A recording cannot be made. The payer sees its message. */
export class RecordingFault extends Error {}

export interface BrowserPage {
  readonly session: CDPSession;
  /** Aborted with a RecordingFault once the browser has gone. */
  readonly gone: AbortSignal;
}

const ANSWER_MS_MAX = 30_000;
const CONNECT_MS_MAX = 30_000;
const MESSAGE_BYTES_MAX = 32 * 1_048_576;

export const CONNECTION = { protocolTimeout: ANSWER_MS_MAX, defaultViewport: null } as const;

async function openSession(browser: Browser, { width, height }: Size): Promise<CDPSession> {
  const root = await browser.target().createCDPSession();
  const { targetId } = await root.send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await root.send("Target.attachToTarget", { targetId, flatten: true });
  const session = root.connection()?.session(sessionId) ?? null;
  if (session === null) throw new RecordingFault("the browser has gone");
  await root.send("Browser.setDownloadBehavior", { behavior: "deny" });
  await session.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
  return session;
}

export interface StartedBrowser {
  readonly browser: Browser;
  /** Aborted with a RecordingFault where we kill the browser. */
  readonly killed?: AbortSignal;
}

/** Runs `work` with a new page of the browser. Rejects with a RecordingFault where the browser fails. */
export async function withPage<T>(
  { browser, killed }: StartedBrowser,
  size: Size,
  work: (page: BrowserPage) => Promise<T>,
): Promise<T> {
  const { PuppeteerError } = await import("puppeteer-core");
  const gone = new AbortController();
  killed?.addEventListener("abort", () => gone.abort(killed.reason), { once: true });
  browser.once("disconnected", () => gone.abort(new RecordingFault("the browser has gone")));
  try {
    return await work({ session: await openSession(browser, size), gone: gone.signal });
  } catch (cause) {
    if (cause instanceof RecordingFault) throw cause;
    if (gone.signal.aborted) throw gone.signal.reason;
    if (!(cause instanceof PuppeteerError)) throw cause;
    throw new RecordingFault(cause.message.slice(0, 200), { cause });
  }
}

/** Connects to a vendor's browser. Rejects with a RecordingFault. */
export async function connectTo(address: string): Promise<Browser> {
  if (!/^wss?:\/\//.test(address)) throw new RecordingFault("the browser has no address");
  const puppeteer = await import("puppeteer-core");
  const wsOptions = { handshakeTimeout: CONNECT_MS_MAX, maxPayload: MESSAGE_BYTES_MAX };
  return puppeteer.connect({ ...CONNECTION, browserWSEndpoint: address, wsOptions }).catch((cause: unknown) => {
    throw new RecordingFault("the browser could not be reached", { cause });
  });
}
