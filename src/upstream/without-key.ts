// Makes a vendor's failure safe to show: masks our key where the vendor repeats the request, and limits the length.
import type { AttemptFailure } from "../core/route.ts";

/** Shorter parts are not secrets, and replacing them would garble ordinary text. */
const KEY_CHARS_MIN = 8;
const MESSAGE_CHARS_MAX = 2_000;
const MASK = "[key]";

/** Ignores backslashes: JSON escapes some characters, and nested JSON several times. Linear in the text, whatever the key. */
function maskedText(text: string, form: string): string {
  if (!text.includes("\\")) return text.replaceAll(form, MASK);
  const places: number[] = [];
  for (let at = 0; at < text.length; at++) if (text[at] !== "\\") places.push(at);
  const plain = text.replaceAll("\\", "");
  let made = "";
  let done = 0;
  for (let at = plain.indexOf(form); at >= 0; at = plain.indexOf(form, at + form.length)) {
    made += text.slice(done, places[at]) + MASK;
    done = (places[at + form.length - 1] ?? text.length) + 1;
  }
  return made + text.slice(done);
}

/** The forms in which requests carry our key and vendors may repeat it; the longest first, because they contain each other. */
function formsOf(key: string): string[] {
  const parts = key.split("\n").filter((part) => part.length >= KEY_CHARS_MIN);
  if (parts.length === 0) return [];
  const basic = Buffer.from(key.replaceAll("\n", ":"));
  const forms = parts.map((part) => part.replaceAll("\\", "")).flatMap((part) => [part, encodeURIComponent(part)]);
  forms.push(basic.toString("base64"), basic.toString("base64url"));
  return [...new Set(forms)].filter((form) => form.length >= KEY_CHARS_MIN).sort((a, b) => b.length - a.length);
}

/** Masks every form of the key in all texts and names of a value. */
function masked(value: unknown, forms: readonly string[]): unknown {
  if (typeof value === "string") return forms.reduce(maskedText, value);
  if (Array.isArray(value)) return value.map((one) => masked(one, forms));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [masked(name, forms), masked(one, forms)]));
}

/** A failure whose text the caller may read. Masks before truncating, because half a key would not be found. `restore` rewrites JSON. */
export function readableFailure(
  failure: AttemptFailure,
  key: string,
  restore: (json: string) => string = (json) => json,
): AttemptFailure {
  const { message, vendorBody } = failure;
  const words = JSON.parse(restore(JSON.stringify(masked({ message, vendorBody }, formsOf(key))))) as typeof failure;
  return { ...failure, ...words, message: words.message.slice(0, MESSAGE_CHARS_MAX) };
}
