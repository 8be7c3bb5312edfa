// Metadata of a page: its author, date, language and site, and a product's price and rating.
import { isRecord, type Json, parsedJson } from "../../../core/json.ts";
import type { PageElement } from "./page-tree.ts";
import { isSaidPaid } from "./paywall-marks.ts";

/** Fields of a row beyond the contract's; absent where the page does not state them. */
export interface PageDetails {
  readonly byline?: string;
  readonly published_at?: string;
  readonly language?: string;
  readonly site?: string;
  readonly price?: { readonly amount: string; readonly currency?: string };
  readonly rating?: { readonly value: string; readonly count?: string };
}

const FIELD_CHARS_MAX = 300;
const FACTS_CHARS_MAX = 200_000;
const THINGS_MAX = 50;
const ARTICLE = /Article|Posting|Report|WebPage|Recipe|HowTo|Review/;

function plain(value: unknown): string | undefined {
  const text =
    typeof value === "number" ? String(value) : typeof value === "string" ? value.replace(/\s+/g, " ").trim() : "";
  return text === "" ? undefined : text.slice(0, FIELD_CHARS_MAX);
}

/** The page's JSON-LD objects; skips unreadable blocks. */
function thingsOf(document: PageElement): readonly Json[] {
  const things: Json[] = [];
  for (const script of document.querySelectorAll('script[type="application/ld+json"]')) {
    const text = script.textContent ?? "";
    if (text.length > FACTS_CHARS_MAX || things.length >= THINGS_MAX) continue;
    // Many pages have truncated or badly escaped blocks.
    for (const one of [parsedJson(text)].flat())
      things.push(...(isRecord(one) && Array.isArray(one["@graph"]) ? one["@graph"] : [one]).filter(isRecord));
  }
  return things.slice(0, THINGS_MAX);
}

const typeOf = (thing: Json) => [thing["@type"]].flat().join(" ");
const first = (value: unknown): unknown => (Array.isArray(value) ? value[0] : value);

function nameOf(value: unknown): string | undefined {
  const one = first(value);
  return plain(isRecord(one) ? one.name : one);
}

function priceOf(things: readonly Json[]): PageDetails["price"] {
  for (const thing of things.filter((one) => /Product/.test(typeOf(one)))) {
    const offer = first(thing.offers);
    if (!isRecord(offer)) continue;
    const specified = first(offer.priceSpecification);
    const from = isRecord(specified) && offer.price === undefined ? specified : offer;
    const amount = plain(from.price) ?? plain(offer.lowPrice);
    const currency = plain(from.priceCurrency) ?? plain(offer.priceCurrency);
    if (amount !== undefined) return currency === undefined ? { amount } : { amount, currency };
  }
  return undefined;
}

function ratingOf(things: readonly Json[]): PageDetails["rating"] {
  for (const { aggregateRating } of things) {
    if (!isRecord(aggregateRating)) continue;
    const value = plain(aggregateRating.ratingValue);
    const count = plain(aggregateRating.reviewCount) ?? plain(aggregateRating.ratingCount);
    if (value !== undefined) return count === undefined ? { value } : { value, count };
  }
  return undefined;
}

/** The first value of each name. Collected once, in a single pass. */
function metasOf(document: PageElement): ReadonlyMap<string, string> {
  const metas = new Map<string, string>();
  for (const one of document.querySelectorAll("meta[content]")) {
    const name = one.getAttribute("property") ?? one.getAttribute("name") ?? one.getAttribute("itemprop");
    const said = plain(one.getAttribute("content"));
    if (name !== null && said !== undefined && !metas.has(name)) metas.set(name, said);
  }
  return metas;
}

export interface SaidOfItself {
  readonly details: PageDetails;
  /** Whether its readers must pay; null where the page does not say. */
  readonly paid: boolean | null;
}

export function detailsOf(document: PageElement): SaidOfItself {
  const things = thingsOf(document);
  const article = things.find((one) => ARTICLE.test(typeOf(one)));
  const metas = metasOf(document);
  const meta = (...names: readonly string[]) => names.map((name) => metas.get(name)).find((one) => one !== undefined);
  const details = {
    byline:
      nameOf(article?.author) ??
      meta("author", "article:author") ??
      plain(document.querySelector("[rel=author]")?.textContent),
    published_at: plain(article?.datePublished) ?? meta("article:published_time", "datePublished", "date"),
    language: plain(document.querySelector("html")?.getAttribute("lang")) ?? meta("og:locale"),
    site: meta("og:site_name", "application-name") ?? nameOf(article?.publisher),
    price: priceOf(things),
    rating: ratingOf(things),
  };
  const told = Object.fromEntries(Object.entries(details).filter(([, value]) => value !== undefined));
  return { details: told, paid: isSaidPaid(things, meta("article:content_tier", "content_tier")) };
}
