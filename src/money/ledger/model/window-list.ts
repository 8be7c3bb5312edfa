// The windows that a hold brings with it, as data: what each counts, and up to how much. Their short form is what crosses to a store
// and what a hold keeps there.
import type { CeilingPeriod } from "../../../core/account-rows.ts";
import type { ErrorCode } from "../../../core/errors.ts";
import { type Nano, nano } from "../../../core/money.ts";

/**
 * Something that is counted of an account's calls, over a day, week or month in UTC, and may bound them. Windows that the store keeps
 * itself (a key's ceiling, the account's inference cap) are no part of a request: it makes their rows from what it keeps, so that a
 * change of them counts at once.
 */
export interface Window {
  /**
   * Unique in its account, such as `group:7`. That of `unpaid` or `margin` is this word, or begins with it and a colon, so that a sum
   * tells what it is of. The store's own are `key:<id>` and `inference`; only `marks` may be of these, or of `balance`.
   */
  readonly scope: string;
  readonly period: CeilingPeriod;
  /** Null: it is counted and bounds nothing. */
  readonly max: Nano | null;
  /** What a caller is told who meets the bound. */
  readonly code: ErrorCode;
  /**
   * `charge`: what is spent, held and absorbed, which is to be at most `max` with the new hold. `unpaid`: what calls have cost us above
   * their charge; below `max` the next call is let in. `margin`: what was charged above our cost. `marks`: nothing; the store says when a
   * posting takes the charges of a scope past 50, 80 or 100 % of `max`, or what the account owns (`balance`) below it.
   */
  readonly counts: "charge" | "unpaid" | "margin" | "marks";
  /** Of `unpaid`: what this scope has come to in the same period widens the bound. */
  readonly widenedBy?: string;
}

/** Windows as a store works on them. */
export interface WindowList {
  /** The short form that they were read from. */
  readonly text: string;
  readonly charged: readonly Window[];
  /** Of what calls cost us, unpaid or as margin. */
  readonly costs: readonly Window[];
  /** What is told when it is passed. */
  readonly marks: readonly Window[];
  /** The short form of what is counted of them, without bounds: what a posting says that it has moved. */
  readonly counted: string;
  /** The same for a posting that is not the one by which cost is counted. */
  readonly countedCharges: string;
}

/**
 * Of a caller under everything that can be ruled: bounds of its group, its account and four tags, marks of these and of its key's ceiling,
 * the one of its balance, and the three of what is unpaid.
 */
export const WINDOWS_MAX = 6 + 7 + 1 + 3;
/** Soft marks of a bound, in percent of it. */
export const MARKS = [50, 80, 100] as const;
/** The scope of a mark on what the account owns. */
export const BALANCE_SCOPE = "balance";
const SIGNS = { charge: "=", unpaid: "-", margin: "+", marks: "%" } as const;
const COUNTS = { "=": "charge", "-": "unpaid", "+": "margin", "%": "marks" } as const;
/** Visible ASCII without what the short form, and JSON around it, is made of. */
const SCOPE = /^(?!key:|slot:|inference$)[!#-+\--:<-[\]-~]{1,120}$/;
/** Of a mark: a key's ceiling and the inference cap are the store's own, and may have marks. */
const MARKED = /^(?!slot:)[!#-+\--:<-[\]-~]{1,120}$/;

/** What is summed in a scope, by its name. */
export function countsOf(scope: string): Window["counts"] {
  const [word = ""] = scope.split(":", 1);
  return word === "unpaid" || word === "margin" ? word : "charge";
}

/** Throws RangeError where a request's windows cannot be kept: they are made by us, not by callers. */
function checked(windows: readonly Window[]): readonly Window[] {
  if (windows.length > WINDOWS_MAX) throw new RangeError(`${windows.length} windows, at most ${WINDOWS_MAX}`);
  const names = windows.map(({ scope, counts }) => `${counts === "marks" ? SIGNS.marks : ""}${scope}`);
  if (new Set(names).size < windows.length) throw new RangeError("a window stands twice");
  for (const { scope, widenedBy, max, counts } of windows) {
    const isScope = counts === "marks" ? MARKED.test(scope) : SCOPE.test(scope) && countsOf(scope) === counts;
    if (!isScope || (counts === "marks" && max === null))
      throw new RangeError(`${scope} is no scope that a request may bring`);
    if (widenedBy !== undefined && !SCOPE.test(widenedBy)) throw new RangeError(`${widenedBy} is no scope`);
    if (max !== null) nano(max);
  }
  return windows;
}

const bound = ({ period, max, code, widenedBy }: Window) =>
  max === null ? "" : `,${period},${max},${code}${widenedBy === undefined ? "" : `,${widenedBy}`}`;
const named = (windows: readonly Window[]) => windows.map(({ counts, scope }) => `${SIGNS[counts]}${scope}`).join(";");

/** Of lists that many calls share. */
const texts = new WeakMap<readonly Window[], string>();

/** The short form of a request's windows; empty for none. */
export function windowsText(windows: readonly Window[]): string {
  if (windows.length === 0) return "";
  let text = texts.get(windows);
  if (text === undefined) {
    text = checked(windows)
      .map((window) => `${SIGNS[window.counts]}${window.scope}${bound(window)}`)
      .join(";");
    texts.set(windows, text);
  }
  return text;
}

function windowIn(text: string): Window {
  const counts = COUNTS[text[0] as keyof typeof COUNTS];
  const [scope = "", period = "day", max, code = "internal_error", widenedBy] = text.slice(1).split(",");
  const window = { scope, period: period as CeilingPeriod, max: max === undefined ? null : nano(Number(max)), counts };
  return { ...window, code: code as ErrorCode, ...(widenedBy === undefined ? {} : { widenedBy }) };
}

/** The windows of a short form; none of an empty one, or where there is none. */
export function windowsIn(text: string | null | undefined): readonly Window[] {
  return text ? text.split(";").map(windowIn) : [];
}

const isCounted = ({ counts }: Window) => counts !== "marks";

/** Lists that calls have brought: most calls of a key bring the same. */
const LISTS_MAX = 10_000;
const lists = new Map<string, WindowList>();

export function windowList(text: string): WindowList {
  let list = lists.get(text);
  if (list === undefined) {
    const windows = windowsIn(text);
    const charged = windows.filter(({ counts }) => counts === "charge");
    const costs = windows.filter(({ counts }) => counts === "unpaid" || counts === "margin");
    const marks = windows.filter(({ counts }) => counts === "marks");
    list = { text, charged, costs, marks, counted: named(windows.filter(isCounted)), countedCharges: named(charged) };
    if (lists.size >= LISTS_MAX) lists.clear();
    lists.set(text, list);
  }
  return list;
}

/** What a call that was charged so much, and cost us so much, adds to a window of cost; 0 or less: nothing. */
export function costIn({ counts }: Pick<Window, "counts">, chargedNano: number, upstreamNano: number): number {
  return counts === "unpaid" ? upstreamNano - chargedNano : chargedNano - upstreamNano;
}

/** The marks of a bound that have been passed, in percent of it, where what counts has come from `before` to `after`. */
export function marksPassed(max: number, before: number, after: number): readonly number[] {
  return MARKS.filter((percent) => before < (max * percent) / 100 && after >= (max * percent) / 100);
}
