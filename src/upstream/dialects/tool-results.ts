// The text of a tool result in formats without an error flag.

const SAYS_SO = /^\W*(?:\w+ ?)?(?:error|failed|failure)\b/i;
/** The number of leading characters to search. */
const BEGINNING = 64;

/** Prefixes a failed result with `Error:`, unless its text already says so. */
export function resultText(text: string, isError: boolean): string {
  if (!isError || SAYS_SO.test(text.slice(0, BEGINNING))) return text;
  return text.trim() === "" ? "Error" : `Error: ${text}`;
}
