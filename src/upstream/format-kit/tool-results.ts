// The text of a tool result in formats without an error flag.
import type { Json } from "../../core/json.ts";
import { rawObject } from "../../core/raw-json.ts";

/** Keeps text that is not a JSON object under `raw_arguments`, so that nothing is lost. */
export function argumentsOf(text: string): Json {
  // A model that was cut off may leave half an object, and the caller sends it back in the history.
  return text.trim() === "" ? {} : (rawObject(text) ?? { raw_arguments: text });
}

const SAYS_SO = /^\W*(?:\w+ ?)?(?:error|failed|failure)\b/i;
/** The number of leading characters to search. */
const BEGINNING = 64;

/** Prefixes a failed result with `Error:`, unless its text already says so. */
export function resultText(text: string, isError: boolean): string {
  if (!isError || SAYS_SO.test(text.slice(0, BEGINNING))) return text;
  return text.trim() === "" ? "Error" : `Error: ${text}`;
}
