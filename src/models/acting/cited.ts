// Where a model's words come from: the addresses that it names of what a hosted tool has found, or all that was found where it names none.
import type { Json } from "../../core/json.ts";
import type { Source } from "../../core/neutral.ts";

/** How citations of ours are told to the wires; each writes them in its own way. */
export const CITED = "tollgate";

const CITATIONS_MAX = 20;
/** Of what was found and is not named. */
const UNNAMED_MAX = 10;
const QUOTE_CHARS = 150;

/** One citation, with the characters of the text that it stands at. */
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

/** The citations of a text that begins at the character `from` of what its caller reads. */
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
