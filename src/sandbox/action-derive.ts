// Derives answers from an adapter's rules: one that a given rule recognizes, or one that says a job is still running.
import type { AnswerRule, When } from "../catalog/answer-rule.ts";
import type { Json } from "../catalog/said.ts";
import { refusalBody, type VendorWords, valueAt, valueFits, withValueAt, wordsFit } from "./action-body.ts";
import type { ActionPlace } from "./action-vendors.ts";

const WORDS = "The sandbox plays a fault.";
const NOT_DONE = ["processing", "running", "pending", "in_progress", "queued"];

/** A value that matches the rule, as close as possible to the present one; undefined if none was found. */
function valueFor(when: AnswerRule, present: Json | undefined): Json | undefined {
  const ofItsType = Array.isArray(present) ? [] : typeof present === "object" && present !== null ? {} : "";
  const candidates: readonly Json[] = [
    ...(present === undefined ? [] : [present]),
    ...(when.is === undefined ? [] : [when.is].flat()),
    ...(when.sample === undefined ? [] : [when.sample]),
    ...[ofItsType, WORDS, null, "error", false, true, 0, 1],
  ];
  return candidates.find((value) => valueFits(value, when));
}

/** Sets the place that `when` reads, in every item if it reads items. Null if `make` returns no value. */
function bodyWith(when: When, body: Json, make: (present: Json | undefined) => Json | undefined): Json | null {
  const at = when.at ?? "";
  const present = valueAt(body, at);
  if (when.each === undefined) {
    const value = make(present);
    return value === undefined ? null : withValueAt(body, at, value);
  }
  const items = Array.isArray(present) && present.length > 0 ? present : [{}];
  const inside = when.each;
  const made = items.map((item: Json) => ({ item, value: make(valueAt(item, inside)) }));
  const set = made.flatMap(({ item, value }) => (value === undefined ? [] : [withValueAt(item, inside, value)]));
  return set.length < items.length ? null : withValueAt(body, at, set);
}

/** Answers that match a rule: built from the usual one, or from an empty one if the usual one is too good. */
function wordsFor(when: AnswerRule, usual: VendorWords): readonly VendorWords[] {
  const headers = when.header === undefined ? {} : { [when.header]: "1" };
  return [when.status ?? 200].flat().flatMap((status) => {
    const refused = { ...usual, body: refusalBody(status), isText: false };
    const bases = status < 300 ? [usual, { ...usual, body: {}, isText: false }] : [refused];
    return bases.flatMap((base) => {
      const body = bodyWith(when, base.body, (present) => valueFor(when, present));
      if (body === null) return [];
      // A rule about the whole body matches text if the answer is not JSON.
      const isText = typeof body === "string" && (base.isText || (when.at ?? "") === "");
      const words = { status, headers, body, isText };
      return wordsFit(words, when) ? [words] : [];
    });
  });
}

function rulesOf({ step, action, vendor }: ActionPlace): readonly AnswerRule[] {
  return [...(step?.rules ?? []), ...(action.rules ?? []), ...(vendor.spec.rules ?? [])];
}

/** The verdict of the first matching rule; null if none matches. */
function verdictOf(words: VendorWords, rules: readonly AnswerRule[]): string | null {
  return rules.find((rule) => wordsFit(words, rule))?.means ?? null;
}

/** The first answer that a wanted rule recognizes and no earlier rule does. */
function firstOf(place: ActionPlace, usual: VendorWords, wanted: (rule: AnswerRule) => boolean): VendorWords | null {
  const rules = rulesOf(place);
  for (const rule of rules.filter(wanted)) {
    const words = wordsFor(rule, usual).find((one) => verdictOf(one, rules) === rule.means);
    if (words !== undefined) return words;
  }
  return null;
}

/** An answer that the rules give this verdict; null if none can be made. */
export function wordsMeaning(verdict: string, place: ActionPlace, usual: VendorWords): VendorWords | null {
  return firstOf(place, usual, (rule) => rule.means === verdict);
}

function isFailureIn200({ means, status }: AnswerRule): boolean {
  return means !== "success" && means !== "miss" && [status ?? 200].flat()[0] === 200;
}

/** A 200 with an error in it: one that the rules recognize, or else the plainest form. */
export function errorIn200(place: ActionPlace, usual: VendorWords): VendorWords {
  const plain = { status: 200, headers: {}, body: refusalBody(500), isText: false };
  return firstOf(place, usual, isFailureIn200) ?? plain;
}

/** Imitates the vendor's capitalization: `DONE` becomes `PROCESSING`, `Ready` becomes `Processing`. */
function inTheStyleOf(present: Json | undefined, word: string): string {
  if (typeof present !== "string" || present === "") return word;
  if (present === present.toUpperCase()) return word.toUpperCase();
  const [first = ""] = present;
  return first === first.toUpperCase() ? word.charAt(0).toUpperCase() + word.slice(1) : word;
}

/** The answer to a poll of a running job; null if no step polls, or no answer would mean "still running". */
export function wordsNotReady(place: ActionPlace, usual: VendorWords): VendorWords | null {
  const until = place.step?.until;
  if (until === undefined) return null;
  const rules = rulesOf(place);
  const early = (words: VendorWords) => !wordsFit(words, until) && (verdictOf(words, rules) ?? "success") === "success";
  const present = valueAt(usual.body, until.at ?? "");
  const values: readonly Json[] = [
    ...[until.not ?? []].flat(),
    ...NOT_DONE.map((word) => inTheStyleOf(present, word)),
    ...(typeof present === "boolean" ? [!present] : []),
    ...[null, 0, false, []],
  ];
  const bodies = values.map((value) => bodyWith(until, usual.body, () => value));
  const told = bodies.flatMap((body) => (body === null ? [] : [{ ...usual, body }]));
  return [...told, { ...usual, status: 202 }].find(early) ?? null;
}
