// Asks one rung of the ladder once, for one page or several.
import type { InnerCalls } from "../../../catalog/local-action.ts";
import type { PageLadderSpec, PagesWanted, RungAnswer, RungCall, RungSpec } from "../../../catalog/page-ladder.ts";
import { atPointer } from "../../../upstream/json-pointer.ts";
import { type DirectLeg, OWN_FETCH } from "./direct.ts";
import type { PageReading } from "./extractor.ts";
import type { JudgedPage, PageOrder, Read } from "./page-tasks.ts";
import { isDocument } from "./page-url.ts";
import { yieldOf } from "./yield.ts";

export interface RungPage extends JudgedPage {
  readonly url: string;
  readonly format: "markdown" | "html" | "text";
  readonly finalUrl: string | null;
}

export type SkipReason = "not_configured" | "format" | "robots" | "busy" | "off" | "cost_bound" | "time";

export type RungOutcome =
  /** Pages with any content, by the requested address. */
  | { readonly kind: "read"; readonly action: string; readonly id: string | null; readonly pages: readonly RungPage[] }
  | { readonly kind: "failed"; readonly action: string; readonly id: string | null; readonly why: string }
  | { readonly kind: "skipped"; readonly action: string; readonly why: SkipReason }
  /** The server says that it is not a page, so no rung can read it. */
  | {
      readonly kind: "no_page";
      readonly action: string;
      readonly id: string | null;
      readonly why: "onescrape_document" | "unsupported_type";
    };

export interface RungParts {
  /** Null: DIRECT_FETCH=0. */
  readonly direct: DirectLeg | null;
  readonly reading: PageReading;
  readonly ladder: PageLadderSpec;
  /** Whether a configured vendor serves an action, for the caller's audience. */
  isServed(action: string): boolean;
  readonly call: InnerCalls["call"];
}

const PAGE_TYPES = /^(text\/html|application\/xhtml\+xml|$)/;
const TEXT_TYPES = /^(text\/|application\/(json|xml|[\w.+-]+\+(json|xml)|javascript|yaml|x-ndjson))/;

function textAt(data: unknown, pointer: string | undefined): string | null {
  const value = pointer === undefined ? undefined : atPointer(data, pointer);
  return typeof value === "string" && value !== "" ? value : null;
}

async function directly(wanted: PagesWanted, signal: AbortSignal, parts: RungParts): Promise<RungOutcome> {
  const [url = ""] = wanted.urls;
  const action = OWN_FETCH;
  if (parts.direct === null) return { kind: "skipped", action, why: "off" };
  const { answer, id } = await parts.direct.fetch(url, signal);
  if (answer.kind === "skipped") return { kind: "skipped", action, why: answer.why };
  if (answer.kind === "failed") return { kind: "failed", action, id, why: answer.why };
  const { status, finalUrl, page: came } = answer;
  const type = came.contentType.toLowerCase().trim();
  if (isDocument(type, parts.ladder) || Buffer.from(came.bytes.subarray(0, 5)).toString("latin1") === "%PDF-")
    return { kind: "no_page", action, id, why: "onescrape_document" };
  const isPage = PAGE_TYPES.test(type);
  if (!isPage && !TEXT_TYPES.test(type)) return { kind: "no_page", action, id, why: "unsupported_type" };
  const { format, mainContent } = wanted;
  const order = { url: finalUrl, format, mainContent, status, hasRun: false };
  const { reading } = parts;
  const read = await (isPage ? reading.page(came, order, signal) : reading.text(came, status, signal));
  if (read === "busy") return { kind: "skipped", action, why: "busy" };
  if (read === null) return { kind: "failed", action, id, why: "the page cannot be taken apart" };
  return { kind: "read", action, id, pages: [{ ...read, url, format: isPage ? format : "text", finalUrl }] };
}

type ReadHtml = (html: string, order: PageOrder) => Promise<Read<JudgedPage>>;

async function pageIn(
  item: unknown,
  answer: RungAnswer,
  { url, format: wanted, mainContent: isMain }: Omit<PagesWanted, "urls"> & { readonly url: string },
  read: ReadHtml,
): Promise<Read<RungPage>> {
  const content = textAt(item, answer.contentAt);
  if (content === null) return null;
  const finalUrl = textAt(item, answer.finalUrlAt);
  const title = textAt(item, answer.titleAt);
  const { holds } = answer;
  if (holds === "markdown" || holds === "text") {
    const judged = yieldOf({ content, title, facts: null, status: null });
    return { url, content, format: holds, title, finalUrl, judged, details: {} };
  }
  // HTML becomes text where Markdown was requested. Do not cut again what the vendor has cut to the main part already.
  const format = wanted === "markdown" ? "text" : "html";
  const order = { url, format, mainContent: holds === "page" && isMain, status: null, hasRun: true } as const;
  const page = await read(content, order);
  if (page === null || page === "busy") return page;
  return { ...page, url, format, title: title ?? page.title, finalUrl };
}

async function byAction(
  rungCall: RungCall,
  wanted: PagesWanted,
  signal: AbortSignal,
  parts: RungParts,
): Promise<RungOutcome> {
  const { action, answer: places } = rungCall;
  const answer = await parts.call({ action, params: rungCall.params(wanted) });
  if (!answer.ok) {
    const { code, message } = answer.error;
    if (code === "upstream_not_configured") return { kind: "skipped", action, why: "not_configured" };
    if (code === "over_budget") return { kind: "skipped", action, why: "cost_bound" };
    return { kind: "failed", action, id: answer.id, why: message };
  }
  const list: unknown = places.listAt === undefined ? [answer.data] : atPointer(answer.data, places.listAt);
  const items: readonly unknown[] = Array.isArray(list) && !answer.isMiss ? list : [];
  const pages: RungPage[] = [];
  const read = (html: string, order: PageOrder) => parts.reading.page(html, order, signal);
  for (const url of wanted.urls) {
    const item = places.urlAt === undefined ? items[0] : items.find((one) => isOf(textAt(one, places.urlAt), url));
    const page = item === undefined ? null : await pageIn(item, places, { ...wanted, url }, read);
    // This is not a wall: the page came, but there is no room to read it.
    if (page === "busy") return { kind: "failed", action, id: answer.id, why: "too many pages are being read" };
    if (page !== null) pages.push(page);
  }
  return { kind: "read", action, id: answer.id, pages };
}

/** Whether two addresses are the same but for a trailing slash, which vendors may add or drop. */
function isOf(said: string | null, url: string): boolean {
  return said !== null && said.replace(/\/$/, "") === url.replace(/\/$/, "");
}

const isOwn = ({ markdown, html }: RungSpec) => markdown === undefined && html === undefined;

/** The actions of which one must be served for these rungs to read a page; null where our own fetch suffices. */
export function neededBy(
  rungs: readonly RungSpec[],
  { readsDirectly }: { readonly readsDirectly: boolean },
): readonly string[] | null {
  if (readsDirectly && rungs.some(isOwn)) return null;
  return rungs.flatMap(({ markdown, html }) => [markdown, html].flatMap((one) => one?.action ?? []));
}

/** What a rung asks for a format: an action, or our own fetch. */
export function rungAction(rung: RungSpec, format: PagesWanted["format"]): string {
  return (rung[format] ?? rung.markdown ?? rung.html)?.action ?? OWN_FETCH;
}

/** Why a rung cannot be tried at all; null where it can. */
export function cannotAsk(rung: RungSpec, format: PagesWanted["format"], parts: RungParts): RungOutcome | null {
  const action = rungAction(rung, format);
  if (isOwn(rung)) return parts.direct === null ? { kind: "skipped", action, why: "off" } : null;
  const rungCall = rung[format];
  if (rungCall === undefined) return { kind: "skipped", action, why: "format" };
  return parts.isServed(rungCall.action) ? null : { kind: "skipped", action, why: "not_configured" };
}

/** Rejects only where `call` does. */
export async function readRung(
  rung: RungSpec,
  wanted: PagesWanted,
  signal: AbortSignal,
  parts: RungParts,
): Promise<RungOutcome> {
  const cannot = cannotAsk(rung, wanted.format, parts);
  if (cannot !== null) return cannot;
  const rungCall = rung[wanted.format];
  return rungCall === undefined ? directly(wanted, signal, parts) : byAction(rungCall, wanted, signal, parts);
}
