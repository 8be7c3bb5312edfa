// The addresses in a page: makes them absolute, resolves lazy images, and lists links for crawling a site.
import { documentOf, tagsOf } from "./page-dom.ts";
import type { PageElement } from "./page-tree.ts";

const LINKS_MAX = 2_000;
/** Longer addresses cannot be requested. */
const LINK_CHARS_MAX = 2_048;
/** Bounds the sum of all links, which go back to the event loop. */
const ALL_LINKS_CHARS_MAX = 262_144;
/** Attributes that hold the address of a lazy image, best first. */
const LAZY = ["data-src", "data-original", "data-lazy-src", "data-hi-res-src", "data-url"];
const LAZY_SETS = ["data-srcset", "data-lazy-srcset", "srcset"];

function absolute(value: string | null, base: string): string | null {
  const url = value === null ? null : URL.parse(value.trim(), base);
  return url !== null && /^(https?|mailto|tel|data):$/.test(url.protocol) ? url.href : null;
}

function firstOf(set: string | null): string | null {
  const address = set?.trim().split(/[\s,]/, 1)[0] ?? "";
  return address === "" ? null : address;
}

/** Gives a lazy image its real source; until then it has none, or a one-pixel placeholder. */
function resolveLazy(image: PageElement): void {
  const source = image.getAttribute("src");
  if (source !== null && source !== "" && !source.startsWith("data:")) return;
  const candidates = [image, ...(image.closest("picture")?.querySelectorAll("source") ?? [])];
  const said = candidates.flatMap((one) => [
    ...LAZY.map((name) => one.getAttribute(name)),
    ...LAZY_SETS.map((name) => firstOf(one.getAttribute(name))),
  ]);
  const found = said.find((one) => one !== null && one !== "" && !one.startsWith("data:"));
  if (found != null) image.setAttribute("src", found);
}

export function makeAddressesAbsolute(document: PageElement, url: string): void {
  const base = absolute(document.querySelector("base[href]")?.getAttribute("href") ?? null, url);
  // Ignore a base that is not a web address.
  const from = base?.startsWith("http") === true ? base : url;
  for (const image of document.querySelectorAll("img")) resolveLazy(image);
  for (const [selector, name] of [
    ["a[href]", "href"],
    ["img[src]", "src"],
  ] as const) {
    for (const element of document.querySelectorAll(selector)) {
      const address = absolute(element.getAttribute(name), from);
      if (address === null) element.removeAttribute(name);
      else element.setAttribute(name, address);
    }
  }
}

function linksOf(document: PageElement): readonly string[] {
  const links = new Set<string>();
  let chars = 0;
  for (const element of document.querySelectorAll("a[href]")) {
    const link = (element.getAttribute("href") ?? "").replace(/#.*$/s, "");
    if (!/^https?:/.test(link) || link.length > LINK_CHARS_MAX || links.has(link)) continue;
    chars += link.length;
    if (links.size === LINKS_MAX || chars > ALL_LINKS_CHARS_MAX) break;
    links.add(link);
  }
  return [...links];
}

/** The first links of a page, absolute and without fragments. Throws where the page cannot be parsed. */
export function linksIn(html: string, url: string): readonly string[] {
  const document = documentOf(html, tagsOf(html));
  makeAddressesAbsolute(document, url);
  return linksOf(document);
}
