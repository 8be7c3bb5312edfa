// Sums of each day for the pages: how calls ended by the hour, and how often and how fast each route answered. Counted after an answer has
// ended, and added once a minute to the day's record, which all processes share and which outlives restarts.
import type { Clock } from "../../core/clock.ts";
import { FAILURES } from "../../core/failures.ts";
import type { Records } from "../records/records.ts";
import { revise } from "../records/revise.ts";
import type { RequestRecord } from "./record.ts";

const KIND = "figures";
const PAYER = "operator";
const DAY_MS = 86_400_000;
const KEPT_DAYS = 31;
const SHARE_MS = 60_000;
/** Readers share one reading of the store for this time. */
const READ_MS = 5_000;
/** Per day; more routes than any catalog has. */
const NAMES_MAX = 5_000;
const FAILED = new Set(["failed", "broken", "left_before_content"]);
const BOUNDS_MS = [
  20, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1_000, 1_500, 2_000, 3_000, 5_000, 7_500, 10_000, 20_000, 60_000,
];

export interface Sums {
  calls: number;
  failed: number;
  /** Answered by another route than the first. */
  fallbacks: number;
  /** The duration of those that were answered. */
  ms: number;
  /** Output tokens of streamed answers, and the time that they took after the first. */
  tokens: number;
  tokensMs: number;
  /** By the bound that the time to the first token stays within; the last entry is beyond all bounds. */
  first: number[];
}

export interface DayFigures {
  /** `YYYY-MM-DD` */
  readonly day: string;
  /** By the hour in UTC, from 0. */
  readonly hours: ReadonlyMap<string, Sums>;
  /** By `<model or action> <provider>`; the provider `*` is the whole call, whichever served. */
  readonly routes: ReadonlyMap<string, Sums>;
}

export type Figures = ReturnType<typeof openFigures>;

export const noSums = (): Sums => ({ calls: 0, failed: 0, fallbacks: 0, ms: 0, tokens: 0, tokensMs: 0, first: [] });
type Counted = Record<"hours" | "routes", Map<string, Sums>> & { readonly day: string };
const emptyDay = (day: string): Counted => ({ day, hours: new Map(), routes: new Map() });

function dayIn(text: string): Counted {
  const { day, hours, routes } = JSON.parse(text) as { day: string } & Record<"hours" | "routes", [string, Sums][]>;
  return { day, hours: new Map(hours), routes: new Map(routes) };
}

const textOf = ({ day, hours, routes }: Counted) => JSON.stringify({ day, hours: [...hours], routes: [...routes] });

export function addSums(into: Sums, { first, ...more }: Sums): Sums {
  for (const [name, value] of Object.entries(more)) into[name as keyof typeof more] += value;
  for (const [at, count] of first.entries()) into.first[at] = (into.first[at] ?? 0) + (count ?? 0);
  return into;
}

/** The time within which this share of first tokens came, interpolated between bounds; null: there were none. */
export function firstTokenMs({ first }: Sums, share: number): number | null {
  const all = first.reduce((sum, count) => sum + (count ?? 0), 0);
  let before = 0;
  for (const [at, count] of first.entries()) {
    if (!count || before + count < all * share) {
      before += count ?? 0;
      continue;
    }
    const [low, high] = [BOUNDS_MS[at - 1] ?? 0, BOUNDS_MS[at] ?? BOUNDS_MS.at(-1) ?? 0];
    return low + ((high - low) * (all * share - before)) / count;
  }
  return null;
}

function sumsOf(all: Map<string, Sums>, name: string): Sums {
  const known = all.get(name);
  if (known !== undefined) return known;
  const fresh = noSums();
  if (all.size < NAMES_MAX) all.set(name, fresh);
  return fresh;
}

function addDay(into: Counted, more: Counted): Counted {
  for (const kind of ["hours", "routes"] as const) {
    for (const [name, sums] of more[kind]) addSums(sumsOf(into[kind], name), sums);
  }
  return into;
}

function addFirst({ first }: Sums, ms: number | null): void {
  if (ms === null) return;
  const found = BOUNDS_MS.findIndex((bound) => ms <= bound);
  const at = found === -1 ? BOUNDS_MS.length : found;
  while (first.length <= at) first.push(0);
  first[at] = (first[at] ?? 0) + 1;
}

interface Outcome {
  readonly isFailed: boolean;
  readonly ms: number;
  readonly firstTokenMs: number | null;
  readonly outputTokens: number;
}

function count(sums: Sums, { isFailed, ms, firstTokenMs: first, outputTokens }: Outcome): void {
  sums.calls += 1;
  if (isFailed) {
    sums.failed += 1;
    return;
  }
  sums.ms += Math.round(ms);
  addFirst(sums, first);
  if (first === null || outputTokens < 2) return;
  sums.tokens += outputTokens;
  sums.tokensMs += Math.max(1, Math.round(ms - first));
}

/** A refused call reached no provider. */
function countRecord({ hours, routes }: Counted, hour: number, record: RequestRecord): void {
  const { outcome, attempts, usage, served } = record;
  if (outcome === null || outcome === "replayed" || outcome === "refused") return;
  const outputTokens = usage?.outputTokens ?? 0;
  const whole = {
    isFailed: FAILED.has(outcome),
    ms: record.durationMs,
    firstTokenMs: record.firstTokenMs,
    outputTokens,
  };
  const hasFallenBack = !whole.isFailed && attempts.length > 1 && attempts[0]?.failure != null;
  const wholes = [sumsOf(hours, String(hour)), ...(served === null ? [] : [sumsOf(routes, `${served} *`)])];
  for (const sums of wholes) {
    count(sums, whole);
    if (hasFallenBack) sums.fallbacks += 1;
  }
  for (const { model, provider, own, failure, ms, firstTokenMs: first } of attempts) {
    if (own === true || (failure !== null && FAILURES[failure].fault !== "provider")) continue;
    // Only the attempt that was answered last has the call's usage.
    const tokens = provider === record.provider && model === served ? outputTokens : 0;
    const attempt = { isFailed: failure !== null, ms, firstTokenMs: first, outputTokens: tokens };
    count(sumsOf(routes, `${model} ${provider}`), attempt);
  }
}

export function openFigures(
  records: Pick<Records, "get" | "put" | "list">,
  clock: Pick<Clock, "epochMs">,
  onBroken: (error: unknown) => void,
) {
  let own: Counted | null = null;
  let last: Promise<void> = Promise.resolve();
  let read: { readonly atMs: number; readonly days: Promise<readonly DayFigures[]> } | null = null;

  /** Adds what this process has counted to the day's record; it is kept for the next time where the store fails. */
  async function add(more: Counted): Promise<void> {
    try {
      const place = { kind: KIND, id: more.day, payer: PAYER, ttlMs: KEPT_DAYS * DAY_MS };
      const merged = (kept: string | null) => textOf(addDay(kept === null ? emptyDay(more.day) : dayIn(kept), more));
      await revise(records, place, merged);
    } catch (error) {
      if (own === null) own = more;
      else if (own.day === more.day) addDay(own, more);
      onBroken(error);
    }
  }

  const share = () => {
    const more = own;
    own = null;
    if (more !== null) last = last.then(() => add(more));
    return last;
  };
  const timer = setInterval(share, SHARE_MS).unref();

  return {
    /** Counts a request that has ended; play money says nothing of providers. */
    note(record: RequestRecord) {
      if (record.outcome === null || record.sandbox) return;
      const [day = "", time = ""] = new Date(clock.epochMs()).toISOString().split("T");
      if (own !== null && own.day !== day) void share();
      if (own === null || own.day !== day) own = emptyDay(day);
      countRecord(own, Number(time.slice(0, 2)), record);
    },
    /** The last thirty days, newest first; days without calls are left out. */
    days(): Promise<readonly DayFigures[]> {
      const nowMs = clock.epochMs();
      if (read !== null && nowMs - read.atMs < READ_MS) return read.days;
      const days = share().then(async () => {
        const { rows } = await records.list(KIND, PAYER, KEPT_DAYS, null);
        return rows.map(({ value }) => dayIn(value)).sort((a, b) => (a.day < b.day ? 1 : -1));
      });
      read = { atMs: nowMs, days };
      days.catch(() => {
        read = null;
      });
      return days;
    },
    close() {
      clearInterval(timer);
      return share();
    },
  };
}
