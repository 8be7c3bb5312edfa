// How pages are read, as data: rung by rung, until one gives what is readable.
import { z } from "zod";
import { actionId, cents, domain, fn, type JsonObject, place, type Said, some, tag, words } from "./said.ts";

/** What one call of a rung is to read. */
export interface PagesWanted {
  readonly urls: readonly string[];
  readonly format: "markdown" | "html";
  /** Without navigation and what else is on every page of the site. */
  readonly mainContent: boolean;
}

/** Where the answer of a rung's action has what a page row says: JSON pointers, from the item of the page where there is a list. */
const rungAnswer = z.strictObject({
  /** The list of pages, each with its address at `urlAt`; left out where the answer is of one page. */
  listAt: place.optional(),
  urlAt: place.optional(),
  contentAt: place,
  /** What is there: `page` is the HTML as it came, of which we give the text where markdown was asked for. */
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

/** One way to read a page. */
const rung = z.strictObject({
  /** What rows name it by. */
  tag,
  /** What a deep job pays for a page that this rung has read; of several pages in one call, for the call. */
  cents,
  /** It gets past walls, and only deep jobs go so far. */
  hard: z.literal(true).optional(),
  /** How many pages one call reads at the most. Default 1. */
  pagesMax: z.int().min(1).max(50).optional(),
  /** The action for each format that it has; neither: our own fetch. */
  markdown: rungCall.optional(),
  html: rungCall.optional(),
});

export const pageLadder = z.strictObject({
  kind: z.literal("page-ladder"),
  rungs: some(rung, "has no rung").refine(
    (rungs) => new Set(rungs.map((one) => one.tag)).size === rungs.length,
    "names a tag twice",
  ),
  /** The action that lists the pages of a site; where it is not served, we read the site's own map. */
  map: z.strictObject({ action: actionId, cents, linksAt: place, urlAt: place }),
  /** Domains, with all below them, whose pages are posts and profiles: other actions sell those. */
  socialDomains: z.array(domain),
  /** Endings of paths that are documents and no pages. */
  documentEndings: z.array(z.string().regex(/^\.[a-z0-9]+$/)),
  /** Media types that are. */
  documentTypes: z.array(words),
});

export type RungAnswer = Said<z.infer<typeof rungAnswer>>;
export type RungCall = Said<z.infer<typeof rungCall>>;
export type RungSpec = Said<z.infer<typeof rung>>;
export type PageLadderSpec = Said<z.infer<typeof pageLadder>>;
