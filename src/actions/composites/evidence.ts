// Evidence: what sources of any kind answer, in one shape; joined where two have found the same page, and ranked.
import type { Place, SourceSpec } from "../../catalog/facets.ts";
import { atPointer, isRecord } from "../../upstream/json-pointer.ts";

export interface Evidence {
  readonly facet: string;
  readonly title: string | null;
  readonly url: string | null;
  readonly snippet: string | null;
  readonly content?: string;
  /** What the content is. */
  readonly format?: "markdown" | "html" | "text";
  /** The content was longer. */
  readonly truncated?: true;
  readonly published_at?: string;
  /** The adapter that has found it. */
  readonly source: string;
  /** The leg of the call that has found it. */
  readonly transaction_id: string;
  /** Others that have found the same page. */
  readonly also?: readonly Cited[];
}

type Cited = Pick<Evidence, "facet" | "source" | "transaction_id">;

/** Who has answered. */
export type Answered = Cited;

const SNIPPET_CHARS = 1_000;
const TITLE_CHARS = 300;
const CONTENT_CHARS = 100_000;
/** Of one list; what comes after is of no use to anybody. */
const ITEMS_MAX = 100;
/** As reciprocal rank fusion has it (Cormack and others, 2009). */
const RANK_OFFSET = 60;

function textAt(item: Readonly<Record<string, unknown>>, place: Place | undefined, charsMax: number): string | null {
  if (place === undefined) return null;
  const found = typeof place === "string" ? atPointer(item, place) : place(item);
  if (typeof found !== "string" && typeof found !== "number") return null;
  const text = String(found).trim();
  return text === "" ? null : text.slice(0, charsMax);
}

/** The content as it goes into evidence: bounded, and told where it was cut. */
export function contentOf(text: string, format: "markdown" | "html" | "text") {
  const truncated = text.length > CONTENT_CHARS ? ({ truncated: true } as const) : {};
  return { content: text.slice(0, CONTENT_CHARS), format, ...truncated };
}

/** A day or a moment as ISO 8601; null where it is neither. */
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

/** What an answer says as evidence, in its order. */
export function evidenceIn(data: unknown, places: SourceSpec, answered: Answered): readonly Evidence[] {
  const list = places.listAt === "" ? data : atPointer(data, places.listAt);
  if (!Array.isArray(list)) return [];
  return list.slice(0, ITEMS_MAX).flatMap((item) => evidenceOf(item, places, answered) ?? []);
}

/** Whether a host is one of these domains or below one. */
function isWithin(url: string | null, domains: readonly string[]): boolean {
  const { hostname } = URL.parse(url ?? "") ?? { hostname: "" };
  return domains.some((domain) => hostname === domain || hostname.endsWith(`.${domain}`));
}

export interface Limits {
  readonly domains: readonly string[];
  readonly excludeDomains: readonly string[];
  /** YYYY-MM-DD; null: of any age. */
  readonly since: string | null;
}

/** Without what the caller does not want, whatever the source made of its filters. What has no date is left in. */
export function within(evidence: readonly Evidence[], { domains, excludeDomains, since }: Limits): readonly Evidence[] {
  return evidence.filter(
    ({ url, published_at }) =>
      (domains.length === 0 || isWithin(url, domains)) &&
      !isWithin(url, excludeDomains) &&
      (since === null || published_at === undefined || published_at.slice(0, 10) >= since),
  );
}

/** What two addresses of one page have in common. */
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

/** The lists as one, best first: what several have found, and found early, leads (reciprocal rank fusion). */
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
