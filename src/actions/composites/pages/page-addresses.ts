// The addresses within a page: made absolute, those of images that a script was to load put in their place, and listed for the walk of a site.
import { documentOf, tagsOf } from "./page-dom.ts";
import type { PageElement } from "./page-tree.ts";

const LINKS_MAX = 2_000;
/** A longer one is no address that anybody can ask. */
const LINK_CHARS_MAX = 2_048;
/** Of all links together: they go back to the event loop. */
const ALL_LINKS_CHARS_MAX = 262_144;
/** Where pages keep the address of an image until it is scrolled to, best first. */
const LAZY = ["data-src", "data-original", "data-lazy-src", "data-hi-res-src", "data-url"];
const LAZY_SETS = ["data-srcset", "data-lazy-srcset", "srcset"];

function absolute(value: string | null, base: string): string | null {
  const url = value === null ? null : URL.parse(value.trim(), base);
  return url !== null && /^(https?|mailto|tel|data):$/.test(url.protocol) ? url.href : null;
}

/** The first of several addresses in a `srcset`. */
function firstOf(set: string | null): string | null {
  const address = set?.trim().split(/[\s,]/, 1)[0] ?? "";
  return address === "" ? null : address;
}

/** An image as it will be once it is seen: what stands there until then is a dot of one pixel, or nothing. */
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
  // A base that is no place of the web says nothing.
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

/** The links of a page, absolute, without fragments; the first of them. Throws where the page cannot be taken apart. */
export function linksIn(html: string, url: string): readonly string[] {
  const document = documentOf(html, tagsOf(html));
  makeAddressesAbsolute(document, url);
  return linksOf(document);
}
