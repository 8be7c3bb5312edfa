// Does the steps of a scene on a page, as a person would: what is clicked and typed are events of mouse and keys. All scripts are ours.
import { isRecord, numberOf } from "../../../core/json.ts";
import { type Devtools, RecordingFault } from "./devtools.ts";
import type { Step } from "./storyboard.ts";

const LOAD_MS_MAX = 15_000;
/** A page that has come goes on to settle: pictures, letters. */
const SETTLE_MS = 400;
const AFTER_STEP_MS = 350;
/** A name of its own keeps our scripts apart from the page's. */
const WORLD = "tollgate";

export interface ShownPage {
  readonly devtools: Devtools;
  readonly session: string;
  /** Its time is over, or its browser has gone. */
  readonly signal: AbortSignal;
  /** Below the picture; empty: nothing. */
  readonly caption: string;
  readonly load: PageLoad;
}

/** It is there, or it will not come: a place of the same page, or a download, which is denied. */
const ENDS_OF_LOADING = [
  "Page.loadEventFired",
  "Page.frameStoppedLoading",
  "Page.navigatedWithinDocument",
  "Page.downloadWillBegin",
];

/** Whether the page is on its way to another one. */
export class PageLoad {
  #isUnderWay = false;
  #done: () => void = () => {};

  constructor(devtools: Devtools) {
    for (const began of ["Page.frameRequestedNavigation", "Page.frameStartedLoading"]) {
      devtools.on(began, () => {
        this.#isUnderWay = true;
      });
    }
    for (const ended of ENDS_OF_LOADING) devtools.on(ended, () => this.end());
  }

  end(): void {
    this.#isUnderWay = false;
    this.#done();
  }

  /** Until what is under way has come, for so long as that may take. */
  async come(signal: AbortSignal): Promise<void> {
    if (!this.#isUnderWay) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#done = resolve;
    await pauseUntil(promise, LOAD_MS_MAX, signal);
  }
}

const NEVER = new Promise<void>(() => {});

/** Waits so long, or until then; rejects as soon as the job is to end, or the browser has. */
async function pauseUntil(then: Promise<void>, ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = () => resolve();
  const timer = setTimeout(end, ms);
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  await Promise.race([promise, then]);
  clearTimeout(timer);
  signal.removeEventListener("abort", end);
  if (signal.aborted)
    throw signal.reason instanceof RecordingFault ? signal.reason : new RecordingFault("its time was over");
}

/** Waits, or rejects as soon as there is nothing to wait for. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return pauseUntil(NEVER, ms, signal);
}

/** In the page, by its text: what shows these words, the one that says least beside them, brought into view; its middle, or null. */
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

/** In each document that the page comes to: the caption, apart from the page's own styles. */
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

/** Ready to be shown: its caption is there on every page, and nothing it opens or asks stands in the way. */
export async function preparePage({ devtools, session, caption }: ShownPage): Promise<void> {
  const ask = (method: string, params: Readonly<Record<string, unknown>> = {}) => devtools.ask(method, params, session);
  devtools.on("Page.javascriptDialogOpening", () => {
    void ask("Page.handleJavaScriptDialog", { accept: false }).catch(() => {});
  });
  await ask("Page.enable");
  if (caption !== "") {
    const source = captionScript(caption);
    await ask("Page.addScriptToEvaluateOnNewDocument", { source, worldName: WORLD });
  }
}

/** Until the page that is on its way is there, and stands still. */
async function settled({ load, signal }: ShownPage): Promise<void> {
  await pause(AFTER_STEP_MS, signal);
  await load.come(signal);
  await pause(SETTLE_MS, signal);
}

async function goTo(page: ShownPage, url: string): Promise<void> {
  const came = await page.devtools.ask("Page.navigate", { url }, page.session);
  if (typeof came.errorText === "string" && came.errorText !== "") {
    throw new RecordingFault(`${url} could not be opened: ${came.errorText.slice(0, 100)}`);
  }
  await settled(page);
}

/** Calls one of our own functions in the page, beside its scripts. What is given to it is data. */
async function inPage({ devtools, session }: ShownPage, declaration: string, given: readonly unknown[]) {
  const tree = await devtools.ask("Page.getFrameTree", {}, session);
  const frame = isRecord(tree.frameTree) && isRecord(tree.frameTree.frame) ? tree.frameTree.frame : {};
  const world = { frameId: frame.id, worldName: WORLD };
  const made = await devtools.ask("Page.createIsolatedWorld", world, session);
  const called = await devtools.ask(
    "Runtime.callFunctionOn",
    {
      functionDeclaration: declaration,
      executionContextId: made.executionContextId,
      arguments: given.map((value) => ({ value })),
      returnByValue: true,
    },
    session,
  );
  return isRecord(called.result) ? called.result.value : null;
}

async function find(page: ShownPage, words: string, kind: "field" | "button") {
  const at = await inPage(page, FIND, [words, kind]);
  const [x, y] = isRecord(at) ? [numberOf(at.x), numberOf(at.y)] : [];
  if (x === undefined || y === undefined)
    throw new RecordingFault(`there is no ${kind === "field" ? "field" : "link or button"} "${words}"`);
  return { x, y };
}

async function click(page: ShownPage, words: string, kind: "field" | "button"): Promise<void> {
  const { devtools, session, signal } = page;
  const { x, y } = await find(page, words, kind);
  const mouse = (type: string, more = {}) => devtools.ask("Input.dispatchMouseEvent", { type, x, y, ...more }, session);
  await mouse("mouseMoved");
  await pause(AFTER_STEP_MS, signal);
  const pressed = { button: "left", clickCount: 1 };
  await mouse("mousePressed", pressed);
  await mouse("mouseReleased", pressed);
  // What a page answers comes behind what it has told: that it goes to another one is known by now, however busy the machine is.
  await devtools.ask("Runtime.evaluate", { expression: "0" }, session).catch(() => {});
}

/** Does one step. Rejects with a RecordingFault where that is not possible. */
export async function doStep(page: ShownPage, step: Step): Promise<void> {
  const { devtools, session, signal } = page;
  switch (step.do) {
    case "goto":
      return goTo(page, step.url);
    case "click":
      await click(page, step.on, "button");
      return settled(page);
    case "type":
      await click(page, step.into, "field");
      for (const letter of step.text) {
        await devtools.ask("Input.insertText", { text: letter }, session);
        await pause(40, signal);
      }
      return pause(AFTER_STEP_MS, signal);
    case "scroll":
      await inPage(page, SCROLL, [step.by]);
      return pause(2 * AFTER_STEP_MS, signal);
    case "wait":
      return pause(step.seconds * 1_000, signal);
  }
}

/** The page that a scene begins at. */
export function openPage(page: ShownPage, url: string): Promise<void> {
  return goTo(page, url);
}
