// Evidence: the answers of all kinds of sources in one shape. Merges results for the same page, and ranks them.
import type { Place, SourceSpec } from "../../catalog/facets.ts";
import { atPointer, isRecord } from "../../upstream/json-pointer.ts";
import { isBelow } from "./pages/page-url.ts";

export interface Evidence {
  readonly facet: string;
  readonly title: string | null;
  readonly url: string | null;
  readonly snippet: string | null;
  readonly content?: string;
  readonly format?: "markdown" | "html" | "text";
  readonly truncated?: true;
  readonly published_at?: string;
  /** The adapter that found it. */
  readonly source: string;
  readonly transaction_id: string;
  /** Other sources that found the same page. */
  readonly also?: readonly Cited[];
}

type Cited = Pick<Evidence, "facet" | "source" | "transaction_id">;

export type Answered = Cited;

const SNIPPET_CHARS = 1_000;
const TITLE_CHARS = 300;
const CONTENT_CHARS = 100_000;
/** Of one list; later items are of no use. */
const ITEMS_MAX = 100;
/** The constant of reciprocal rank fusion (Cormack and others, 2009). */
const RANK_OFFSET = 60;

function textAt(item: Readonly<Record<string, unknown>>, place: Place | undefined, charsMax: number): string | null {
  if (place === undefined) return null;
  const found = typeof place === "string" ? atPointer(item, place) : place(item);
  if (typeof found !== "string" && typeof found !== "number") return null;
  const text = String(found).trim();
  return text === "" ? null : text.slice(0, charsMax);
}

/** Cuts content to the size of evidence, and marks where it was cut. */
export function contentOf(text: string, format: "markdown" | "html" | "text") {
  const truncated = text.length > CONTENT_CHARS ? ({ truncated: true } as const) : {};
  return { content: text.slice(0, CONTENT_CHARS), format, ...truncated };
}

/** A date or time as ISO 8601; null where the text is neither. */
function momentOf(text: string | null): string | null {
  if (text === null) return null;
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return text;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}

function evidenceOf(item: unknown, places: SourceSpec, answered: Answered): Evidence | null {
  if (!isRecord(item)) return null;
  const url = textAt(item, places.url, 2_048);
  const title = textAt(item, places.title, TITLE_CHARS);
  const content = textAt(item, places.content, CONTENT_CHARS + 1);
  const snippet = textAt(item, places.snippet, SNIPPET_CHARS);
  const publishedAt = momentOf(textAt(item, places.publishedAt, 100));
  if (url === null || URL.parse(url) === null) return null;
  return {
    facet: answered.facet,
    title,
    url,
    snippet: snippet ?? content?.slice(0, SNIPPET_CHARS) ?? null,
    ...(content === null ? {} : contentOf(content, "markdown")),
    ...(publishedAt === null ? {} : { published_at: publishedAt }),
    source: answered.source,
    transaction_id: answered.transaction_id,
  };
}

export function evidenceIn(data: unknown, places: SourceSpec, answered: Answered): readonly Evidence[] {
  const list = places.listAt === "" ? data : atPointer(data, places.listAt);
  if (!Array.isArray(list)) return [];
  return list.slice(0, ITEMS_MAX).flatMap((item) => evidenceOf(item, places, answered) ?? []);
}

function isWithin(url: string | null, domains: readonly string[]): boolean {
  return isBelow(URL.parse(url ?? "")?.hostname ?? "", domains);
}

export interface Limits {
  readonly domains: readonly string[];
  readonly excludeDomains: readonly string[];
  /** YYYY-MM-DD; null: any age. */
  readonly since: string | null;
}

/** Applies the caller's limits again, because sources may ignore them. Keeps evidence without a date. */
export function within(evidence: readonly Evidence[], { domains, excludeDomains, since }: Limits): readonly Evidence[] {
  return evidence.filter(
    ({ url, published_at }) =>
      (domains.length === 0 || isWithin(url, domains)) &&
      !isWithin(url, excludeDomains) &&
      (since === null || published_at === undefined || published_at.slice(0, 10) >= since),
  );
}

/** The same for all URLs of one page. */
function pageKey(url: string): string {
  const parsed = new URL(url);
  for (const name of [...parsed.searchParams.keys()]) {
    if (/^(utm_\w+|gclid|fbclid|ref|ref_src)$/.test(name)) parsed.searchParams.delete(name);
  }
  const path = parsed.pathname.replace(/(?<!\/)\/+$/, "");
  return `${parsed.hostname.replace(/^www\./, "")}${path}?${parsed.searchParams}`;
}

interface Ranked {
  readonly evidence: Evidence;
  readonly also: Cited[];
  score: number;
}

/** Merges ranked lists, best first (reciprocal rank fusion): pages that several lists rank high lead. */
export function merged(lists: readonly (readonly Evidence[])[], countMax: number): readonly Evidence[] {
  const byPage = new Map<string, Ranked>();
  for (const list of lists) {
    const seen = new Set<string>();
    for (const [at, one] of list.entries()) {
      const key = pageKey(one.url ?? "");
      if (seen.has(key)) continue;
      seen.add(key);
      const score = 1 / (RANK_OFFSET + at + 1);
      const known = byPage.get(key);
      if (known === undefined) {
        byPage.set(key, { evidence: one, also: [], score });
        continue;
      }
      known.score += score;
      known.also.push({ facet: one.facet, source: one.source, transaction_id: one.transaction_id });
    }
  }
  const ranked = [...byPage.values()].sort((a, b) => b.score - a.score).slice(0, countMax);
  return ranked.map(({ evidence, also }) => (also.length === 0 ? evidence : { ...evidence, also }));
}
