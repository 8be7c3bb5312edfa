// A hold's own windows as data: what each counts, and its bound. Stores receive and keep the compact text form.
import type { WindowPeriod } from "../../../core/account-rows.ts";
import type { ErrorCode } from "../../../core/errors.ts";
import { type Nano, nano } from "../../../core/money.ts";
import { runOfScope } from "./windows.ts";

/**
 * A running sum over an account's calls in a UTC day, week or month, or in a run, with an optional bound. A request does not carry the windows that the
 * store keeps itself (a key's ceiling, the account's inference cap): the store builds those from its own rows, so that changes apply at
 * once.
 */
export interface Window {
  /**
   * Unique in its account, such as `group:7`. Scopes that count `unpaid` or `margin` are named by that word, or begin with it and a colon.
   * A run's is `run:<id>`, and its period `run`; an inner run stands before its ancestors. `key:<id>` and `inference` belong to the store; only `marks` may use them, or `balance`.
   */
  readonly scope: string;
  readonly period: WindowPeriod;
  /** Null: counts without a bound. */
  readonly max: Nano | null;
  /** The error code for a caller who meets the bound. */
  readonly code: ErrorCode;
  /**
   * `charge`: spent + held + absorbed, at most `max` including the new hold. `unpaid`: our cost above what calls were charged; a call is
   * admitted while this is below `max`. `margin`: charges above our cost. `marks`: bounds nothing; the store reports when a posting takes
   * a scope's charges past 50, 80 or 100 % of `max`, or the `balance` below it.
   */
  readonly counts: "charge" | "unpaid" | "margin" | "marks";
  /** For `unpaid`: this scope's sum in the same period is added to the bound. */
  readonly widenedBy?: string;
}

/** Parsed windows, as a store works on them. */
export interface WindowList {
  /** The compact text that they were parsed from. */
  readonly text: string;
  readonly charged: readonly Window[];
  /** Windows that count our cost: `unpaid` and `margin`. */
  readonly costs: readonly Window[];
  /** Windows that report when a mark is passed; a run's window reports its own. */
  readonly marks: readonly Window[];
  /** The compact text of the counted windows without bounds; a posting stores it. */
  readonly counted: string;
  /** The same without windows of cost, for a posting that does not count cost. */
  readonly countedCharges: string;
}

/** A hold's windows besides marks: its group's, its account's and its tags' bounds, three of unpaid cost, and eight runs. */
export const WINDOWS_MAX = 24;
/** The most marks: of these bounds, its key's ceiling and its balance. */
const MARKS_MAX = 24;
/** Percentages of a bound at which the store reports. */
export const MARKS = [50, 80, 100] as const;
export const RUN_MARKS = [50, 80, 95] as const;
/** The scope of a mark on the account's balance. */
export const BALANCE_SCOPE = "balance";
const SIGNS = { charge: "=", unpaid: "-", margin: "+", marks: "%" } as const;
const COUNTS = { "=": "charge", "-": "unpaid", "+": "margin", "%": "marks" } as const;
/** Visible ASCII without the characters that the compact form and JSON use. */
const SCOPE = /^(?!key:|slot:|inference$)[!#-+\--:<-[\]-~]{1,120}$/;
/** For marks: a key's ceiling and the inference cap are also allowed. */
const MARKED = /^(?!slot:)[!#-+\--:<-[\]-~]{1,120}$/;

export function countsOf(scope: string): Window["counts"] {
  const [word = ""] = scope.split(":", 1);
  return word === "unpaid" || word === "margin" ? word : "charge";
}

/** Throws RangeError for windows that cannot be stored: we build them, callers do not. */
function checked(windows: readonly Window[]): readonly Window[] {
  const counted = windows.filter(isCounted).length;
  if (counted > WINDOWS_MAX || windows.length - counted > MARKS_MAX)
    throw new RangeError(`${counted} windows, at most ${WINDOWS_MAX}`);
  const names = windows.map(({ scope, counts }) => `${counts === "marks" ? SIGNS.marks : ""}${scope}`);
  if (new Set(names).size < windows.length) throw new RangeError("a window stands twice");
  for (const { scope, widenedBy, max, counts, period } of windows) {
    const isScope = counts === "marks" ? MARKED.test(scope) : SCOPE.test(scope) && countsOf(scope) === counts;
    if (!isScope || (period === "run") !== (runOfScope(scope) !== null) || (counts === "marks" && max === null))
      throw new RangeError(`${scope} is no scope that a request may bring`);
    if (widenedBy !== undefined && !SCOPE.test(widenedBy)) throw new RangeError(`${widenedBy} is no scope`);
    if (max !== null) nano(max);
  }
  return windows;
}

const bound = ({ period, max, code, widenedBy }: Window) =>
  max === null ? "" : `,${period},${max},${code}${widenedBy === undefined ? "" : `,${widenedBy}`}`;
const named = (windows: readonly Window[]) => windows.map(({ counts, scope }) => `${SIGNS[counts]}${scope}`).join(";");

/** Lists are shared by many calls. */
const texts = new WeakMap<readonly Window[], string>();

/** The compact text of a request's windows; empty for none. */
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
  const window = { scope, period: period as WindowPeriod, max: max === undefined ? null : nano(Number(max)), counts };
  return { ...window, code: code as ErrorCode, ...(widenedBy === undefined ? {} : { widenedBy }) };
}

/** Parses the compact text; an empty or missing text has no windows. */
export function windowsIn(text: string | null | undefined): readonly Window[] {
  return text ? text.split(";").map(windowIn) : [];
}

const isCounted = ({ counts }: Window) => counts !== "marks";

/** Most calls of a key have the same list. */
const LISTS_MAX = 10_000;
const lists = new Map<string, WindowList>();

export function windowList(text: string): WindowList {
  let list = lists.get(text);
  if (list === undefined) {
    const windows = windowsIn(text);
    const charged = windows.filter(({ counts }) => counts === "charge");
    const costs = windows.filter(({ counts }) => counts === "unpaid" || counts === "margin");
    const marks = windows.filter(({ counts, period, max }) => counts === "marks" || (period === "run" && max !== null));
    list = { text, charged, costs, marks, counted: named(windows.filter(isCounted)), countedCharges: named(charged) };
    if (lists.size >= LISTS_MAX) lists.clear();
    lists.set(text, list);
  }
  return list;
}

/** What a call's charge and cost add to a window of cost; 0 or less adds nothing. */
export function costIn({ counts }: Pick<Window, "counts">, chargedNano: number, upstreamNano: number): number {
  return counts === "unpaid" ? upstreamNano - chargedNano : chargedNano - upstreamNano;
}

/** The run of a posting with these windows in compact form; absent: none. */
export function runIn(windows: string | null): { readonly runId?: string } {
  const runId = /=run:([^;,]+)/.exec(windows ?? "")?.[1];
  return runId === undefined ? {} : { runId };
}

/** The percentages of a bound that the sum passes when it moves from `before` to `after`. */
export function marksPassed({ period }: Window, max: number, before: number, after: number): readonly number[] {
  const marks: readonly number[] = period === "run" ? RUN_MARKS : MARKS;
  return marks.filter((percent) => before < (max * percent) / 100 && after >= (max * percent) / 100);
}
