// Removes what readers of a page do not see, and reports text that is hidden in ways meant for machines alone.
import { charsOf } from "./page-dom.ts";
import type { PageStyles } from "./page-styles.ts";
import type { PageElement } from "./page-tree.ts";

const NEVER_SEEN = "script,style,noscript,template,svg,iframe,object,embed,link,meta";
/** Hidden until a reader selects it, so part of the page: tab panels, and what a summary opens. */
const CHOSEN = "[role=tabpanel],.tab-pane,.tab-content,.tabcontent,.tabs__item,details";
const WITH_STYLE = "[style],[hidden],[aria-hidden=true],font[color]";
/** Shorter hidden texts are icons, counters and heading anchors. */
const HIDDEN_CHARS_MIN = 30;
const LEVELS_MAX = 30;

const NOT_SHOWN = /(?:^|;)(?:display:none|visibility:hidden|content-visibility:hidden)/;
/** Styles that lay text out but make it invisible, which serves no reader. */
const SHRUNK =
  /(?:^|;)(?:font-size:0(?:\.0)?(?:px|pt|em|rem|%)?(?:;|!|$)|opacity:0(?:\.0)?(?:;|!|$)|(?:text-indent|left|top|margin-left):-\d{4})/;
/** Class names of frameworks for text that only screen readers present. */
const SPOKEN = /sr-only|screen-?reader|visually-?hidden|assistive/i;
const NO_ROOM = /(?:^|;)(?:width|height|max-height|max-width):[01](?:px)?(?:;|!|$)/;
const WHITE = "#ffffff";

/** Declarations in the form that the patterns above match. */
function styleOf(element: PageElement, styles: PageStyles): string {
  return [...styles.of(element)].map(([name, value]) => `${name}:${value}`).join(";");
}

function colourOf(value: string | null): string | null {
  if (value === null) return null;
  const named: Readonly<Record<string, string>> = { white: WHITE, black: "#000000" };
  const short = /^#([\da-f])([\da-f])([\da-f])$/.exec(value);
  if (short !== null)
    return `#${short
      .slice(1)
      .map((digit) => digit + digit)
      .join("")}`;
  const parts = /^rgba?\((\d{1,3}),(\d{1,3}),(\d{1,3})/.exec(value);
  if (parts === null) return named[value] ?? value;
  return `#${parts
    .slice(1)
    .map((part) => Number(part).toString(16).padStart(2, "0"))
    .join("")}`;
}

function groundOf(element: PageElement, styles: PageStyles): string | null {
  let at: PageElement | null = element;
  for (let level = 0; at !== null && level < LEVELS_MAX; level++, at = at.parentElement) {
    const style = styles.of(at);
    const said = style.get("background-color") ?? style.get("background") ?? at.getAttribute("bgcolor");
    const colour = colourOf(said?.toLowerCase() ?? null);
    if (colour !== null && colour !== "transparent" && colour !== "none") return colour;
    if (styles.isUncertain(at)) return null;
  }
  // A page without styles is black on white.
  return styles.isBare ? WHITE : null;
}

type Hiding = "not_shown" | "hidden_text";

function hidingOf(element: PageElement, styles: PageStyles): Hiding | null {
  const declared = styles.of(element);
  const style = styleOf(element, styles);
  if (NOT_SHOWN.test(style) || element.hasAttribute("hidden")) {
    const isLater = element.matches(CHOSEN) && charsOf(element, 1) > 0;
    return isLater ? null : "not_shown";
  }
  if (element.getAttribute("aria-hidden") === "true") {
    // Frameworks hide inactive dialogs, and the drawing beside a formula's text, this way.
    const isUsual =
      element.hasAttribute("role") || /modal|dialog|katex|mjx|icon|anchor/i.test(element.getAttribute("class") ?? "");
    return isUsual ? "not_shown" : "hidden_text";
  }
  const hidden = SPOKEN.test(element.getAttribute("class") ?? "") ? "not_shown" : "hidden_text";
  if (SHRUNK.test(style)) return hidden;
  if (NO_ROOM.test(style) && /overflow(?:-[xy])?:(?:hidden|clip)/.test(style)) return hidden;
  const ink = colourOf(declared.get("color") ?? element.getAttribute("color")?.toLowerCase() ?? null);
  if (ink === "transparent") return "hidden_text";
  return ink !== null && ink === groundOf(element, styles) ? "hidden_text" : null;
}

/** Removes it from `body`. Returns whether any of it was text for machines alone. */
export function removeUnseen(body: PageElement, styles: PageStyles): boolean {
  let hasHiddenText = false;
  for (const element of body.querySelectorAll(NEVER_SEEN)) element.remove();
  const looked = styles.hasRules ? `${WITH_STYLE},[class],[id]` : WITH_STYLE;
  for (const element of body.querySelectorAll(looked)) {
    const hiding = hidingOf(element, styles);
    if (hiding === null) continue;
    if (hiding === "hidden_text" && charsOf(element, HIDDEN_CHARS_MIN) >= HIDDEN_CHARS_MIN) hasHiddenText = true;
    element.remove();
  }
  return hasHiddenText;
}
