// Why routes failed lately, in their providers' own words: kept in memory within bounds, so that an operator need not look for it in the log.
import type { Clock } from "../core/clock.ts";
import { FAILURES, type FailureKind } from "../core/failures.ts";
import type { AttemptFailure, Candidate } from "../core/route.ts";

/** Of one provider: what fails in one way again and again is one row, so no flood of it drives out what else there was. */
const OF_PROVIDER_MAX = 20;
/** Providers are those of the catalog; another process may have read a longer one. */
const PROVIDERS_MAX = 1_000;
const WORDS_CHARS_MAX = 300;
/** What one message to other processes has room for; the rest is told by the next. */
const TOLD_MAX = 200;

/** What one route has failed with, and how often. */
export interface RouteFailure {
  readonly provider: string;
  /** The model or `service/action` that was asked for there. */
  readonly model: string;
  /** The sandbox played the provider. */
  readonly sandbox?: boolean | undefined;
  readonly reason: FailureKind;
  /** The provider's status, 0 where none came. */
  readonly status: number;
  /** What the provider said the last time, without our key. */
  readonly words: string;
  readonly count: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
}

export interface RouteFailures {
  /** An attempt has failed; what callers are at fault for, and their words, are not kept. */
  note(route: Pick<Candidate, "provider" | "model" | "healthKey">, failure: AttemptFailure): void;
  /** Those of all processes, the newest first. */
  all(): readonly RouteFailure[];
  /** What this process has noted since it was last asked; `count` is that of since then. */
  news(): readonly RouteFailure[];
  /** What another process has noted. */
  hear(failure: RouteFailure): void;
}

/** One line, of bounded length. */
export function lineOf(words: string): string {
  return words
    .slice(0, WORDS_CHARS_MAX * 2)
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, " ")
    .trim()
    .slice(0, WORDS_CHARS_MAX);
}

/** Puts it behind all others, and has the first of them leave where there are too many. */
function putLast<Value>(map: Map<string, Value>, name: string, value: Value, countMax: number): void {
  map.delete(name);
  const [oldest] = map.size >= countMax ? map.keys() : [];
  if (oldest !== undefined) map.delete(oldest);
  map.set(name, value);
}

function together(before: RouteFailure | undefined, next: RouteFailure): RouteFailure {
  if (before === undefined) return next;
  const newest = next.lastAtMs >= before.lastAtMs ? next : before;
  const firstAtMs = Math.min(before.firstAtMs, next.firstAtMs);
  return { ...newest, count: before.count + next.count, firstAtMs };
}

/** Keeps them for this process, and for others as far as it hears of theirs. */
export function createRouteFailures(clock: Clock): RouteFailures {
  const ofProviders = new Map<string, Map<string, RouteFailure>>();
  const untold = new Map<string, RouteFailure>();
  const nameOf = ({ model, reason, status, sandbox }: RouteFailure) => `${reason} ${status} ${sandbox} ${model}`;

  function add(failure: RouteFailure): void {
    const { provider } = failure;
    const rows = ofProviders.get(provider) ?? new Map<string, RouteFailure>();
    putLast(rows, nameOf(failure), together(rows.get(nameOf(failure)), failure), OF_PROVIDER_MAX);
    putLast(ofProviders, provider, rows, PROVIDERS_MAX);
  }

  return {
    note({ provider, model, healthKey }, { kind: reason, status, message }) {
      if (FAILURES[reason].fault !== "provider") return;
      const nowMs = clock.epochMs();
      const at = { firstAtMs: nowMs, lastAtMs: nowMs };
      const sandbox = healthKey.startsWith("sandbox:") || undefined;
      const failure = { provider, model, sandbox, reason, status, words: lineOf(message), count: 1, ...at };
      add(failure);
      const name = `${provider} ${nameOf(failure)}`;
      putLast(untold, name, together(untold.get(name), failure), TOLD_MAX);
    },
    all() {
      const rows = [...ofProviders.values()].flatMap((ofOne) => [...ofOne.values()]);
      // Of those of one moment that which was noted last.
      return rows.toReversed().sort((a, b) => b.lastAtMs - a.lastAtMs);
    },
    news() {
      const told = [...untold.values()];
      untold.clear();
      return told;
    },
    hear: (failure) => add({ ...failure, words: lineOf(failure.words) }),
  };
}
