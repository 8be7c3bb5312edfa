// Performs the steps of a scene with mouse and keyboard events, as a person would. Scripts that we run in the page are all our own.
import type { CDPSession } from "puppeteer-core";
import { pause } from "../../../core/clock.ts";
import { type BrowserPage, RecordingFault } from "./browser-page.ts";
import type { Step } from "./storyboard.ts";

const LOAD_MS_MAX = 15_000;
/** Images and fonts may change a page after it has loaded. */
const SETTLE_MS = 400;
const AFTER_STEP_MS = 350;
/** The isolated world that keeps our scripts apart from the page's. */
const WORLD = "tollgate";

const LOADING = ["Page.frameRequestedNavigation", "Page.frameStartedLoading"] as const;
/** The page has loaded, or will not: a navigation within the page, or a denied download. */
const LOADED = [
  "Page.loadEventFired",
  "Page.frameStoppedLoading",
  "Page.navigatedWithinDocument",
  "Page.downloadWillBegin",
] as const;

async function pauseUntil(then: Promise<void> | null, ms: number, signal: AbortSignal): Promise<void> {
  await (then === null ? pause(ms, signal) : Promise.race([pause(ms, signal), then]));
  if (signal.aborted)
    throw signal.reason instanceof RecordingFault ? signal.reason : new RecordingFault("its time was over");
}

/** Runs in the page: finds the element with these words and the least other text, scrolls to it, and returns its centre or null. */
const FIND = `(words, kind) => {
  const wanted = words.trim().toLowerCase();
  const of = kind === "field" ? "input, textarea, select, [contenteditable=true]" : "a, button, [role=button], [role=tab], [role=menuitem], summary, label, input[type=submit], input[type=button]";
  const said = (one) => (kind === "field"
    ? [one.placeholder, one.name, one.id, one.getAttribute("aria-label"), ...[...(one.labels ?? [])].map((label) => label.textContent)]
    : [one.innerText, one.value, one.getAttribute("aria-label"), one.title]
  ).map((text) => String(text ?? "").trim().toLowerCase()).filter((text) => text.includes(wanted));
  const seen = (one) => { const box = one.getBoundingClientRect(); return box.width > 0 && box.height > 0 && getComputedStyle(one).visibility !== "hidden"; };
  const found = [...document.querySelectorAll(of)].slice(0, 5000)
    .flatMap((one) => { const [text] = said(one); return text === undefined || !seen(one) ? [] : [{ one, length: text.length }]; })
    .sort((a, b) => a.length - b.length)[0];
  if (found === undefined) return null;
  found.one.scrollIntoView({ block: "center", inline: "center" });
  if (found.one.target === "_blank") found.one.target = "_self";
  const box = found.one.getBoundingClientRect();
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}`;
const SCROLL = `(by) => window.scrollBy({ top: by, behavior: "smooth" })`;

/** Runs in every document of the page: shows the caption, in a shadow root apart from the page's styles. */
function captionScript(caption: string): string {
  return `(() => {
  if (window !== window.top) return;
  const show = () => {
    const host = document.createElement("div");
    host.style.cssText = "all: initial; position: fixed; left: 0; right: 0; bottom: 0; z-index: 2147483647; pointer-events: none";
    const line = document.createElement("div");
    line.style.cssText = "font: 600 24px/1.3 sans-serif; color: white; background: rgb(0 0 0 / 75%); padding: 14px 24px; text-align: center; overflow-wrap: anywhere";
    line.textContent = ${JSON.stringify(caption)};
    host.attachShadow({ mode: "closed" }).append(line);
    document.documentElement.append(host);
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", show, { once: true });
  else show();
})()`;
}

export class ShownPage {
  readonly session: CDPSession;
  readonly #signal: AbortSignal;
  #isLoading = false;
  #onLoaded: () => void = () => {};

  private constructor(session: CDPSession, signal: AbortSignal) {
    this.session = session;
    this.#signal = signal;
    for (const event of LOADING) {
      session.on(event, () => {
        this.#isLoading = true;
      });
    }
    for (const event of LOADED) {
      session.on(event, () => {
        this.#isLoading = false;
        this.#onLoaded();
      });
    }
    session.on("Page.javascriptDialogOpening", () => {
      void session.send("Page.handleJavaScriptDialog", { accept: false }).catch(() => {});
    });
  }

  /** A page that shows `caption` in every document; empty: none. `signal` ends every wait. */
  static async prepared({ session, gone }: BrowserPage, caption: string, signal: AbortSignal): Promise<ShownPage> {
    const page = new ShownPage(session, AbortSignal.any([signal, gone]));
    await session.send("Page.enable");
    if (caption !== "") {
      const source = captionScript(caption);
      await session.send("Page.addScriptToEvaluateOnNewDocument", { source, worldName: WORLD });
    }
    return page;
  }

  pause(ms: number): Promise<void> {
    return pauseUntil(null, ms, this.#signal);
  }

  async goTo(url: string): Promise<void> {
    const { errorText = "" } = await this.session.send("Page.navigate", { url });
    if (errorText !== "") throw new RecordingFault(`${url} could not be opened: ${errorText.slice(0, 100)}`);
    await this.#settled();
  }

  /** Performs one step. Rejects with a RecordingFault where that is impossible. */
  async do(step: Step): Promise<void> {
    switch (step.do) {
      case "goto":
        return this.goTo(step.url);
      case "click":
        await this.#click(step.on, "button");
        return this.#settled();
      case "type":
        await this.#click(step.into, "field");
        for (const letter of step.text) {
          await this.session.send("Input.insertText", { text: letter });
          await this.pause(40);
        }
        return this.pause(AFTER_STEP_MS);
      case "scroll":
        await this.#call(SCROLL, [step.by]);
        return this.pause(2 * AFTER_STEP_MS);
      case "wait":
        return this.pause(step.seconds * 1_000);
    }
  }

  async #settled(): Promise<void> {
    await this.pause(AFTER_STEP_MS);
    if (this.#isLoading) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onLoaded = resolve;
      await pauseUntil(promise, LOAD_MS_MAX, this.#signal);
    }
    await this.pause(SETTLE_MS);
  }

  /** Calls one of our functions in the page, apart from its scripts. The arguments are data. */
  async #call(functionDeclaration: string, given: readonly unknown[]): Promise<unknown> {
    const { frameTree } = await this.session.send("Page.getFrameTree");
    const world = { frameId: frameTree.frame.id, worldName: WORLD };
    const { executionContextId } = await this.session.send("Page.createIsolatedWorld", world);
    const called = await this.session.send("Runtime.callFunctionOn", {
      functionDeclaration,
      executionContextId,
      arguments: given.map((value) => ({ value })),
      returnByValue: true,
    });
    return called.result.value ?? null;
  }

  async #click(words: string, kind: "field" | "button"): Promise<void> {
    const centre = (await this.#call(FIND, [words, kind])) as { readonly x: number; readonly y: number } | null;
    if (centre === null)
      throw new RecordingFault(`there is no ${kind === "field" ? "field" : "link or button"} "${words}"`);
    const pressed = { ...centre, button: "left", clickCount: 1 } as const;
    await this.session.send("Input.dispatchMouseEvent", { type: "mouseMoved", ...centre });
    await this.pause(AFTER_STEP_MS);
    await this.session.send("Input.dispatchMouseEvent", { type: "mousePressed", ...pressed });
    await this.session.send("Input.dispatchMouseEvent", { type: "mouseReleased", ...pressed });
    // The answer comes after the page's events, so a navigation is known by then, however busy the machine is.
    await this.session.send("Runtime.evaluate", { expression: "0" }).catch(() => {});
  }
}
