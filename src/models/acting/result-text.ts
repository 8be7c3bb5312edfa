// An action's result or error as text for the model, cut to a bound.
import type { GatewayError } from "../../core/errors.ts";

/** The most characters of one result, including the note on what was cut. */
export const RESULT_CHARS_MAX = 20_000;
const REFUSAL_CHARS_MAX = 2_000;

/** Never splits a surrogate pair. */
function wholeCharacters(text: string, chars: number): string {
  const last = text.charCodeAt(chars - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? chars - 1 : chars);
}

/** The text, cut where needed, with a note about the cut at its end. */
export function cutText(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const note = `\n[cut: the first ${charsMax} of ${text.length} characters, this line included]`;
  return wholeCharacters(text, Math.max(0, charsMax - note.length)) + note;
}

export function dataText(data: unknown): string {
  return cutText(JSON.stringify(data) ?? "null", RESULT_CHARS_MAX);
}

/** An action's error, with the message and hint that a caller gets. */
export function refusalText({ code, message, hint }: GatewayError): string {
  return JSON.stringify({ error: code, message: cutText(message, REFUSAL_CHARS_MAX), hint });
}
