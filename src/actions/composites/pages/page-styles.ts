// What a page's own style sheets certainly say about an element: enough to find text hidden by a class.
import type { PageElement } from "./page-tree.ts";

/** Bounds on what is read of all sheets: characters, braces, and characters per rule. */
const [SHEET_CHARS_MAX, BRACES_MAX, RULE_CHARS_MAX] = [256 * 1024, 10_000, 2_000];
/** Rules without any of these properties do not matter. */
const HIDES_OR_COLOURS =
  /(?:display|visibility|opacity|font-size|color|background|left|top|text-indent|margin-left|width|height|overflow)\s*:/;
/** Properties that scripts toggle, so that a sheet's value does not show what readers will see. */
const TURNED_ON = /^(?:display|visibility|content-visibility|opacity|height|max-height|width|max-width)$/;
const SIMPLE = /^[.#]?[a-z][\w-]*$/i;
const DATA_SCRIPT = /json|text\/(?:plain|template)/i;

type Declarations = ReadonlyMap<string, string>;

/** `color: RED; left: 0` as `color` and `red`, `left` and `0`. */
export function declarationsOf(style: string): Declarations {
  const all = new Map<string, string>();
  for (const part of style.slice(0, RULE_CHARS_MAX).toLowerCase().split(";")) {
    const colon = part.indexOf(":");
    if (colon > 0)
      all.set(
        part.slice(0, colon).trim(),
        part
          .slice(colon + 1)
          .replace(/\s+/g, "")
          .replace("!important", ""),
      );
  }
  return all;
}

interface Rules {
  /** By `.class`, `#id` or `tag`. */
  readonly simple: ReadonlyMap<string, Declarations>;
  /** Names that a longer or conditional selector also matches, so that their style is uncertain. */
  readonly touched: ReadonlySet<string>;
}

function namesIn(selector: string): readonly string[] {
  return selector.slice(0, RULE_CHARS_MAX).match(/[.#]?[a-z][\w-]*/gi) ?? [];
}

function withoutComments(sheet: string): string {
  const [first = "", ...rest] = sheet.split("/*");
  const after = rest.map((part) => {
    const end = part.indexOf("*/");
    return end < 0 ? "" : part.slice(end + 2);
  });
  return [first, ...after].join(" ");
}

class ReadRules implements Rules {
  readonly simple = new Map<string, Map<string, string>>();
  readonly touched = new Set<string>();

  /** `isConditional`: within a block such as `@media`, which may not apply. */
  take(selectors: string, body: string, isConditional: boolean): void {
    if (!HIDES_OR_COLOURS.test(body)) return;
    for (const selector of selectors.slice(-RULE_CHARS_MAX).split(",")) {
      const name = selector.trim();
      if (!isConditional && SIMPLE.test(name)) this.#simple(name, declarationsOf(body));
      else for (const one of namesIn(name)) this.touched.add(one);
    }
  }

  #simple(name: string, declared: Declarations): void {
    const before = this.simple.get(name) ?? new Map<string, string>();
    for (const [property, value] of declared) before.set(property, value);
    this.simple.set(name, before);
  }
}

/** Parses a sheet from brace to brace, in linear time. */
function rulesOf(sheet: string): Rules {
  const rules = new ReadRules();
  const open: string[] = [];
  let [at, count] = [0, 0];
  for (const { 0: brace, index } of sheet.matchAll(/[{}]/g)) {
    const text = sheet.slice(Math.max(at, index - RULE_CHARS_MAX), index);
    at = index + 1;
    if (++count > BRACES_MAX) break;
    if (brace === "{") {
      open.push(text.trim());
      continue;
    }
    const selectors = open.pop();
    if (selectors !== undefined && !selectors.startsWith("@")) rules.take(selectors, text, open.length > 0);
  }
  return rules;
}

function namesOf(element: PageElement): readonly string[] {
  const classes = (element.getAttribute("class") ?? "").slice(0, RULE_CHARS_MAX).split(/\s+/).filter(Boolean);
  const id = element.getAttribute("id");
  return [element.localName, ...classes.map((one) => `.${one}`), ...(id === null ? [] : [`#${id}`])];
}

export class PageStyles {
  /** The page has no styles: black on white. */
  readonly isBare: boolean;
  /** Whether the page's sheets can hide elements, so that each must be checked. */
  readonly hasRules: boolean;
  readonly #rules: Rules;
  readonly #hasScripts: boolean;
  readonly #hasOtherSheets: boolean;

  constructor(document: PageElement) {
    const sheets = [...document.querySelectorAll("style")].map((one) => one.textContent ?? "");
    const sheet = withoutComments(sheets.join("\n").slice(0, SHEET_CHARS_MAX));
    this.#rules = rulesOf(sheet);
    this.hasRules = this.#rules.simple.size > 0;
    this.#hasOtherSheets = document.querySelector("link[rel~=stylesheet]") !== null || sheet.includes("@import");
    this.isBare = sheets.length === 0 && !this.#hasOtherSheets;
    this.#hasScripts = [...document.querySelectorAll("script")].some(
      (one) => !DATA_SCRIPT.test(one.getAttribute("type") ?? ""),
    );
  }

  /** The element's style attribute, and what the sheets say with certainty: what no other rule and no script can override. */
  of(element: PageElement): Declarations {
    const all = new Map<string, string>();
    for (const name of this.hasRules ? namesOf(element) : []) {
      if (this.#rules.touched.has(name)) continue;
      for (const [property, value] of this.#rules.simple.get(name) ?? []) {
        const isCertain =
          !(this.#hasScripts && TURNED_ON.test(property)) && !(this.#hasOtherSheets && property === "color");
        if (isCertain) all.set(property, value);
      }
    }
    for (const [property, value] of declarationsOf(element.getAttribute("style") ?? "")) all.set(property, value);
    return all;
  }

  /** Whether rules that are not evaluated may set the element's background. */
  isUncertain(element: PageElement): boolean {
    return this.hasRules && namesOf(element).some((name) => this.#rules.touched.has(name));
  }
}
