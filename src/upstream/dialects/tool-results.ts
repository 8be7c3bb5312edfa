// The text of a tool's result in wires that have no field for whether the tool has failed.

const SAYS_SO = /^\W*(?:\w+ ?)?(?:error|failed|failure)\b/i;
/** How far into a text is looked for that. */
const BEGINNING = 64;

/** A failure is told in words, where its own text does not begin with them. */
export function resultText(text: string, isError: boolean): string {
  if (!isError || SAYS_SO.test(text.slice(0, BEGINNING))) return text;
  return text.trim() === "" ? "Error" : `Error: ${text}`;
}
