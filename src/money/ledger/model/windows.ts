// UTC days, ISO weeks and months as day numbers since the epoch, for ceilings and caps.
import type { WindowPeriod } from "../../../core/account-rows.ts";

export const DAY_MS = 86_400_000;

/** The UTC day of an instant: whole days since 1970-01-01. */
export function dayOf(epochMs: number): number {
  return Math.floor(epochMs / DAY_MS);
}

const RUN_PREFIX = "run:";
/** A run has no period, so all its calls count on this one day. */
const RUN_DAY = 0;

export const runScope = (runId: string): string => `${RUN_PREFIX}${runId}`;

/** The run whose window has this scope; null: another scope. */
export function runOfScope(scope: string): string | null {
  return scope.startsWith(RUN_PREFIX) ? scope.slice(RUN_PREFIX.length) : null;
}

/** The day on which a scope counts what was held on `day`. */
export function countingDay(scope: string, day: number): number {
  return scope.startsWith(RUN_PREFIX) ? RUN_DAY : day;
}

/** The first day of the period that `day` lies in. Weeks begin on Monday (ISO 8601). */
export function periodStart(period: WindowPeriod, day: number): number {
  if (period === "run") return RUN_DAY;
  if (period === "day") return day;
  // Day 0 was a Thursday.
  if (period === "week") return day - mod(day + 3, 7);
  return day - (civil(day).dayOfMonth - 1);
}

/** The first day after the period that `day` lies in. */
export function periodEnd(period: WindowPeriod, day: number): number {
  const first = periodStart(period, day);
  if (period === "day" || period === "run") return first + 1;
  if (period === "week") return first + 7;
  const { year, month } = civil(first);
  return first + monthLength(year, month);
}

/** Proleptic Gregorian date of a day number (Howard Hinnant, "chrono-compatible low-level date algorithms", civil_from_days). */
function civil(day: number): { year: number; month: number; dayOfMonth: number } {
  const shifted = day + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1_460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const dayOfMonth = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfMonth };
}

function monthLength(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

function mod(value: number, by: number): number {
  return ((value % by) + by) % by;
}
