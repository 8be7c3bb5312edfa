// A subset of CSS selectors: names, classes, ids, attributes; descendant, child and adjacent combinators. Parsed once.
import { getOrMake } from "../../../core/maps.ts";

export interface Selected {
  readonly localName: string;
  readonly parentElement: Selected | null;
  readonly previousElementSibling: Selected | null;
  getAttribute(name: string): string | null;
}

export type Matcher = (element: Selected) => boolean;

const NAME = /^[a-z][a-z0-9-]*$/;
const STEP = /\s+(?:([>+])\s+)?/;
const PART = /(\*|[a-z][a-z0-9-]*)|\.([\w-]+)|#([\w-]+)|\[([a-z-]+)(?:([~^]?=)["']?([^"'\]]*)["']?)?\]/gy;

const wordsOf = (text: string | null) => text?.split(/\s+/) ?? [];

/** Attribute values are compared case-insensitively. */
function attributeMatcher(name: string, how: string | undefined, value: string): Matcher {
  const wanted = value.toLowerCase();
  if (how === undefined) return (element) => element.getAttribute(name) !== null;
  if (how === "=") return (element) => element.getAttribute(name)?.toLowerCase() === wanted;
  if (how === "^=") return (element) => element.getAttribute(name)?.toLowerCase().startsWith(wanted) === true;
  return (element) => wordsOf(element.getAttribute(name)).includes(value);
}

/** `input[type=email]` */
function compoundMatcher(compound: string): Matcher {
  const all: Matcher[] = [];
  let end = 0;
  for (const { 0: text, 1: name, 2: className, 3: id, 4: attribute, 5: how, 6: value = "" } of compound.matchAll(
    PART,
  )) {
    end += text.length;
    if (name !== undefined && name !== "*") all.push((element) => element.localName === name);
    if (className !== undefined) all.push((element) => wordsOf(element.getAttribute("class")).includes(className));
    if (id !== undefined) all.push((element) => element.getAttribute("id") === id);
    if (attribute !== undefined) all.push(attributeMatcher(attribute, how, value));
  }
  if (end !== compound.length || compound === "") throw new SyntaxError(`no selector that is read here: ${compound}`);
  const [only = () => true, ...others] = all;
  return others.length === 0 ? only : (element) => all.every((one) => one(element));
}

/** `ul > li p` */
function complexMatcher(selector: string): Matcher {
  const [first = "", ...steps] = selector.split(STEP);
  let matcher = compoundMatcher(first);
  for (let at = 0; at < steps.length; at += 2) {
    const [how, before, own] = [steps[at], matcher, compoundMatcher(steps[at + 1] ?? "")];
    if (how === ">") matcher = (element) => own(element) && isMatched(element.parentElement, before);
    else if (how === "+") matcher = (element) => own(element) && isMatched(element.previousElementSibling, before);
    else matcher = (element) => own(element) && isWithin(element, before);
  }
  return matcher;
}

const isMatched = (element: Selected | null, matcher: Matcher) => element !== null && matcher(element);

function isWithin(element: Selected, matcher: Matcher): boolean {
  for (let at = element.parentElement; at !== null; at = at.parentElement) if (matcher(at)) return true;
  return false;
}

function listMatcher(selector: string): Matcher {
  const list = selector.split(",").map((one) => one.trim());
  const names = new Set(list.filter((one) => NAME.test(one)));
  const others = list.filter((one) => !NAME.test(one)).map(complexMatcher);
  if (others.length === 0) return ({ localName }) => names.has(localName);
  return (element) => names.has(element.localName) || others.some((one) => one(element));
}

/** Never evicted: all selectors are ours, a few dozen. */
const known = new Map<string, Matcher>();

/** Throws SyntaxError for a selector outside the subset. */
export function matcherOf(selector: string): Matcher {
  return getOrMake(known, selector, listMatcher);
}
