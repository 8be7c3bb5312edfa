// Puts into a page what its framework would show a reader: shadow roots, streamed parts, formulas, and images under other element names.
import { TASK } from "./markdown.ts";
import { COMMENT, elementOf, PageElement, type PageNode } from "./page-tree.ts";

/** Nested roots beyond this depth are left alone. */
const ROUNDS_MAX = 5;
/** Bounds the work of placing parts; real pages have a few dozen. */
const PARTS_MAX = 300;

/** Opens declarative shadow roots: the host's children go into the slots that name them. */
function openShadows(document: PageElement): void {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const all = [...document.querySelectorAll("template[shadowrootmode],template[shadowroot]")];
    const templates = all.slice(0, PARTS_MAX);
    if (templates.length === 0) return;
    for (const template of templates) openShadow(template);
  }
}

function openShadow(template: PageElement): void {
  const shown = elementOf("div");
  for (const node of template.childNodes) shown.append(node);
  const host = template.parentElement;
  const slots = [...shown.querySelectorAll("slot")];
  template.replaceWith(shown);
  if (host === null || slots.length === 0) return;
  const bySlot = Map.groupBy(
    [...host.childNodes].filter((node) => node !== shown),
    (node) => slotOf(node) ?? "",
  );
  for (const slot of slots) {
    const name = slot.getAttribute("name") ?? "";
    const own = bySlot.get(name);
    if (own === undefined) continue;
    bySlot.delete(name);
    for (const node of own) slot.append(node);
  }
}

const slotOf = (node: PageNode) => (node instanceof PageElement ? node.getAttribute("slot") : null);

/** Frameworks that stream a page send parts hidden at its end. React puts `S:0` in the place of `B:0`, and removes the fallback there. */
function openStreamed(document: PageElement): void {
  const parts = [...document.querySelectorAll("div[hidden][id^='S:']")].slice(0, PARTS_MAX);
  if (parts.length === 0) return;
  const places = new Map(
    [...document.querySelectorAll("template[id^='B:']")].map((one) => [one.getAttribute("id"), one]),
  );
  for (const part of parts) {
    const id = `B:${(part.getAttribute("id") ?? "").slice(2)}`;
    const place = places.get(id);
    if (place === undefined || part.contains(place)) continue;
    part.removeAttribute("hidden");
    places.delete(id);
    for (const waiting of waitingAfter(place)) waiting.remove();
    place.replaceWith(part);
  }
}

/** The fallback after a placeholder: everything up to the comment that ends it. */
function waitingAfter(place: PageElement): readonly PageNode[] {
  const waiting: PageNode[] = [];
  let open = 0;
  for (let node = place.nextSibling; node !== null; node = node.nextSibling) {
    if (node.nodeType === COMMENT && /^\$[?!~]?$/.test(node.textContent)) open += 1;
    if (node.nodeType === COMMENT && node.textContent === "/$" && --open < 0) return waiting;
    waiting.push(node);
  }
  return [];
}

/** Restores the source of formulas that a script would draw, or that are hidden behind a picture. */
function openFormulas(document: PageElement): void {
  for (const script of document.querySelectorAll('script[type^="math/tex"]')) {
    const mark = /display/.test(script.getAttribute("type") ?? "") ? "$$" : "$";
    const formula = elementOf("code");
    formula.textContent = `${mark}${script.textContent ?? ""}${mark}`;
    script.replaceWith(formula);
  }
  for (const math of document.querySelectorAll("[style] > math")) {
    const hidden = math.parentElement;
    if (hidden !== null && hidden.children.length === 1 && /display:\s*none/.test(hidden.getAttribute("style") ?? ""))
      hidden.replaceWith(math);
  }
}

/** Restores images that a script would create, or that stand in `noscript` only. */
function openImages(document: PageElement): void {
  for (const image of document.querySelectorAll("amp-img,amp-anim")) {
    const shown = elementOf("img");
    for (const name of ["src", "srcset", "alt"]) {
      const said = image.getAttribute(name);
      if (said !== null) shown.setAttribute(name, said);
    }
    image.replaceWith(shown);
  }
  for (const figure of document.querySelectorAll("figure")) {
    const written = figure.querySelector("noscript");
    if (written === null || figure.querySelector("img") !== null) continue;
    const shown = elementOf("div");
    shown.innerHTML = written.textContent?.includes("<img") ? written.textContent : written.innerHTML;
    const image = shown.querySelector("img");
    if (image !== null) written.replaceWith(image);
  }
}

function openTasks(document: PageElement): void {
  for (const box of document.querySelectorAll(
    "li > input[type=checkbox][disabled],li > p > input[type=checkbox][disabled]",
  ))
    box.closest("li")?.setAttribute(TASK, box.hasAttribute("checked") ? "x" : " ");
}

/** Call before addresses are made absolute and hidden parts removed. */
export function openParts(document: PageElement): void {
  openShadows(document);
  openStreamed(document);
  openFormulas(document);
  openImages(document);
  openTasks(document);
}
