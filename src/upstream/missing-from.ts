// Checks that a good answer has what it must have: the ids it issues, and the content it sells. Pure.
import type { ActionSpec } from "../catalog/action.ts";
import type { Params } from "../catalog/said.ts";
import { atPointer } from "./json-pointer.ts";
import type { VendorAnswer } from "./judge-answer.ts";

/** The ids at a pointer: one id, or an array of them. */
export function idsAt(answer: unknown, pointer: string): readonly string[] {
  const found = pointer === "" ? answer : atPointer(answer, pointer);
  return [found]
    .flat()
    .flatMap((id) => ((typeof id === "string" && id !== "") || typeof id === "number" ? [String(id)] : []));
}

/** An empty list or object is a legitimate empty result; a missing field, or one of whitespace only, counts as missing. */
function isThere(value: unknown): boolean {
  if (typeof value === "string") return value.trim() !== "";
  return value !== undefined && value !== null;
}

/** The part of an answer that must have the places in `content`. */
function contentOf({ answer }: ActionSpec, { json, text, bytes }: VendorAnswer): unknown {
  const kind = answer?.kind ?? "json";
  if (kind === "json") return json;
  return kind === "text" ? text : bytes.length > 0 || undefined;
}

/** What is missing, in words for the log; null if nothing is. */
export function missingFrom(answer: VendorAnswer, spec: ActionSpec, params: Params): string | null {
  // An answer passed on unread is at least not empty.
  if (answer.passedOn) return null;
  const places = typeof spec.content === "function" ? spec.content(params) : (spec.content ?? []);
  const content = contentOf(spec, answer);
  if (places.length > 0 && !places.some((at) => isThere(atPointer(content, at))))
    return `the answer has nothing at ${places.map((at) => (at === "" ? "all" : at)).join(", ")}`;
  const missing = spec.issues?.find(({ at }) => idsAt(answer.json, at).length === 0);
  return missing === undefined ? null : `the answer has no ${missing.kind} at ${missing.at}`;
}
