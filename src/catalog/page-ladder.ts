// How to read web pages, as data: the rungs are tried in order until one returns readable content.
import { z } from "zod";
import { actionId, cents, domain, fn, type JsonObject, place, type Said, some, tag, words } from "./said.ts";

export interface PagesWanted {
  readonly urls: readonly string[];
  readonly format: "markdown" | "html";
  /** Without navigation and other content that repeats on every page of the site. */
  readonly mainContent: boolean;
}

/** Where the answer of a rung's action has the fields of a page row: JSON pointers, relative to the page's item if there is a list. */
const rungAnswer = z.strictObject({
  /** The list of pages, each with its address at `urlAt`; absent if the answer has one page. */
  listAt: place.optional(),
  urlAt: place.optional(),
  contentAt: place,
  /** The content's format: `page` is the raw HTML, which we convert to text if markdown was requested. */
  holds: z.enum(["markdown", "html", "text", "page"]),
  titleAt: place.optional(),
  finalUrlAt: place.optional(),
});

const rungCall = z.strictObject({
  /** `<adapter id>/<action>`. */
  action: actionId,
  params: fn<(wanted: PagesWanted) => JsonObject>(),
  answer: rungAnswer,
});

const rung = z.strictObject({
  tag,
  /** What a deep job pays per page that this rung reads, or per call if a call reads several. */
  cents,
  /** It gets past anti-bot walls; only deep jobs use it. */
  hard: z.literal(true).optional(),
  /** The maximum number of pages per call. Default 1. */
  pagesMax: z.int().min(1).max(50).optional(),
  /** The action for each supported format; without any, our own fetch. */
  markdown: rungCall.optional(),
  html: rungCall.optional(),
});

export const pageLadder = z.strictObject({
  kind: z.literal("page-ladder"),
  rungs: some(rung, "has no rung").refine(
    (rungs) => new Set(rungs.map((one) => one.tag)).size === rungs.length,
    "names a tag twice",
  ),
  /** The action that lists a site's pages; if it is unavailable, we read the sitemap. */
  map: z.strictObject({ action: actionId, cents, linksAt: place, urlAt: place }),
  /** Domains, including subdomains, whose pages are posts and profiles: other actions sell those. */
  socialDomains: z.array(domain),
  /** Path extensions of documents that are not pages. */
  documentEndings: z.array(z.string().regex(/^\.[a-z0-9]+$/)),
  documentTypes: z.array(words),
});

export type RungAnswer = Said<z.infer<typeof rungAnswer>>;
export type RungCall = Said<z.infer<typeof rungCall>>;
export type RungSpec = Said<z.infer<typeof rung>>;
export type PageLadderSpec = Said<z.infer<typeof pageLadder>>;
