// The failure of an exchange with a vendor, as an exception, and without our key in its text.
import type { FailureKind } from "../core/failures.ts";
import type { FinishReason } from "../core/neutral.ts";
import type { AttemptFailure, FinalPart } from "../core/route.ts";

/** Ends the call, unless the code that catches it decides otherwise. */
export class VendorFailure extends Error {
  readonly failure: AttemptFailure;

  constructor(failure: AttemptFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

export function failureOfKind(kind: FailureKind, message: string, status = 0): AttemptFailure {
  return { kind, status, message, retryAfterMs: null };
}

/** The vendor's answer is unreadable, or lacks a required part. */
export function malformed(message: string): AttemptFailure {
  return failureOfKind("provider_malformed", message, 200);
}

/** Why an answer was empty; null where a filter, the output limit or a stop sequence explains it. */
export function emptiness(finish: FinishReason, native: string): string | null {
  const isExplained = finish === "length" || finish === "content_filter" || native === "stop_sequence";
  return isExplained ? null : `the answer is empty (${native})`;
}

/** The vendor's answer is complete but empty. */
export function emptyAnswer(message: string, answer: FinalPart): AttemptFailure {
  return { ...failureOfKind("provider_empty", message, 200), answer };
}

/** The vendor's answer is complete but not in the requested format. */
export function unfitAnswer(message: string, answer: FinalPart): AttemptFailure {
  return { ...failureOfKind("provider_unfit", message, 200), answer };
}

/** The call has ended, so this is no longer needed. */
export function cancelled(): VendorFailure {
  return new VendorFailure(failureOfKind("caller_cancelled", "the call has ended"));
}

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
