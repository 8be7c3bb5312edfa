// Citations: the URLs in a model's text that a hosted tool found, or all that it found where the text names none.
import type { Json } from "../../core/json.ts";
import type { Source } from "../../core/neutral.ts";

/** Marks our own citations in neutral form; each wire writes them its own way. */
export const CITED = "tollgate";

const CITATIONS_MAX = 20;
/** The most citations for sources that the text does not name. */
const UNNAMED_MAX = 10;
const QUOTE_CHARS = 150;

/** One citation, with the range of characters that it covers. */
export interface Citation extends Json {
  readonly url: string;
  readonly title: string;
  readonly quote: string;
  readonly start: number;
  readonly end: number;
}

function citation({ url, title, text }: Source, start: number, end: number): Citation {
  return { url, title, quote: text.slice(0, QUOTE_CHARS), start, end };
}

/** The citations of a text whose first character is at offset `from` of what the caller reads. */
export function citationsIn(text: string, sources: readonly Source[], from: number): readonly Citation[] {
  const byUrl = new Map(sources.map((source) => [source.url, source]));
  const found: Citation[] = [];
  for (const source of byUrl.values()) {
    const at = text.indexOf(source.url);
    if (at >= 0) found.push(citation(source, from + at, from + at + source.url.length));
  }
  if (found.length > 0) return found.sort((a, b) => a.start - b.start).slice(0, CITATIONS_MAX);
  const end = from + text.length;
  return [...byUrl.values()].slice(0, UNNAMED_MAX).map((source) => citation(source, end, end));
}
