// What a model is told of an action: its answer as text, within a bound, or why there is none.
import type { GatewayError } from "../../core/errors.ts";

/** Of what one action has brought, what is cut said within them. */
export const RESULT_CHARS_MAX = 20_000;
const REFUSAL_CHARS_MAX = 2_000;

/** A pair of surrogates is one character. */
function wholeCharacters(text: string, chars: number): string {
  const last = text.charCodeAt(chars - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? chars - 1 : chars);
}

/** The text, with what had to be left out of it said at its end. */
export function cutText(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const note = `\n[cut: the first ${charsMax} of ${text.length} characters, this line included]`;
  return wholeCharacters(text, Math.max(0, charsMax - note.length)) + note;
}

/** What an action has answered: data, whatever stands in there. */
export function dataText(data: unknown): string {
  return cutText(JSON.stringify(data) ?? "null", RESULT_CHARS_MAX);
}

/** Why an action has not answered, in the words and with the hint that a caller gets. */
export function refusalText({ code, message, hint }: GatewayError): string {
  return JSON.stringify({ error: code, message: cutText(message, REFUSAL_CHARS_MAX), hint });
}
