// What a good answer must have and has not: the ids that it issues, the content that it sells. Pure.
import type { ActionSpec } from "../catalog/action.ts";
import type { Params } from "../catalog/said.ts";
import { atPointer } from "./json-pointer.ts";
import type { VendorAnswer } from "./read-answer.ts";

/** The value at a pointer as the list of ids that it is: one id, or an array of them. */
export function idsAt(answer: unknown, pointer: string): readonly string[] {
  const found = pointer === "" ? answer : atPointer(answer, pointer);
  return [found]
    .flat()
    .flatMap((id) => ((typeof id === "string" && id !== "") || typeof id === "number" ? [String(id)] : []));
}

/** An empty list or object is an honest nothing; a field that is not there, or has only white space, is none at all. */
function isThere(value: unknown): boolean {
  if (typeof value === "string") return value.trim() !== "";
  return value !== undefined && value !== null;
}

/** What of an answer is held against the places in `content`. */
function contentOf({ answer }: ActionSpec, { json, text, bytes }: VendorAnswer): unknown {
  const kind = answer?.kind ?? "json";
  if (kind === "json") return json;
  return kind === "text" ? text : bytes.length > 0 || undefined;
}

/** In words, for the log; null: the answer has all of it. */
export function missingFrom(answer: VendorAnswer, spec: ActionSpec, params: Params): string | null {
  // What has gone by unread is at least not empty.
  if (answer.passedOn) return null;
  const places = typeof spec.content === "function" ? spec.content(params) : (spec.content ?? []);
  const content = contentOf(spec, answer);
  if (places.length > 0 && !places.some((at) => isThere(atPointer(content, at)))) {
    return `the answer has nothing at ${places.map((at) => (at === "" ? "all" : at)).join(", ")}`;
  }
  const missing = spec.issues?.find(({ at }) => idsAt(answer.json, at).length === 0);
  return missing === undefined ? null : `the answer has no ${missing.kind} at ${missing.at}`;
}
