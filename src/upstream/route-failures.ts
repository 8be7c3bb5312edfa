// Recent failures of routes, in their providers' words: a bounded list in memory, so that operators need not search the log.
import type { Clock } from "../core/clock.ts";
import { FAILURES, type FailureKind } from "../core/failures.ts";
import { putLast } from "../core/maps.ts";
import type { AttemptFailure, Candidate } from "../core/route.ts";

/** Per provider. Equal failures share a row, so a flood of one kind does not displace the others. */
const OF_PROVIDER_MAX = 20;
/** Catalog providers only, but another process may have a catalog with more. */
const PROVIDERS_MAX = 1_000;
const WORDS_CHARS_MAX = 300;
/** What fits into one message to other processes; the rest follows in the next. */
const TOLD_MAX = 200;

export interface RouteFailure {
  readonly provider: string;
  /** The requested model or `service/action`. */
  readonly model: string;
  /** The sandbox stood in for the provider. */
  readonly sandbox?: boolean | undefined;
  readonly reason: FailureKind;
  /** The provider's HTTP status; 0 if it sent none. */
  readonly status: number;
  /** The provider's latest message, with our key removed. */
  readonly words: string;
  readonly count: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
}

export type RouteFailures = ReturnType<typeof createRouteFailures>;

/** Reduces text to one line of bounded length. */
export function lineOf(words: string): string {
  return words
    .slice(0, WORDS_CHARS_MAX * 2)
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, " ")
    .trim()
    .slice(0, WORDS_CHARS_MAX);
}

function together(before: RouteFailure | undefined, next: RouteFailure): RouteFailure {
  if (before === undefined) return next;
  const newest = next.lastAtMs >= before.lastAtMs ? next : before;
  const firstAtMs = Math.min(before.firstAtMs, next.firstAtMs);
  return { ...newest, count: before.count + next.count, firstAtMs };
}

/** Keeps the failures of this process, and those heard from others. */
export function createRouteFailures(clock: Clock) {
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
    /** Records a failed attempt. Skips failures that are the caller's fault, and callers' own words. */
    note(
      { provider, model, healthKey }: Pick<Candidate, "provider" | "model" | "healthKey">,
      { kind: reason, status, message }: AttemptFailure,
    ): void {
      if (FAILURES[reason].fault !== "provider") return;
      const nowMs = clock.epochMs();
      const at = { firstAtMs: nowMs, lastAtMs: nowMs };
      const sandbox = healthKey.startsWith("sandbox:") || undefined;
      const failure = { provider, model, sandbox, reason, status, words: lineOf(message), count: 1, ...at };
      add(failure);
      const name = `${provider} ${nameOf(failure)}`;
      putLast(untold, name, together(untold.get(name), failure), TOLD_MAX);
    },
    /** The failures in all processes, newest first. */
    all(): readonly RouteFailure[] {
      const rows = [...ofProviders.values()].flatMap((ofOne) => [...ofOne.values()]);
      // Of failures at the same moment, the one recorded last comes first.
      return rows.toReversed().sort((a, b) => b.lastAtMs - a.lastAtMs);
    },
    /** What this process recorded since the last call of this method; `count` covers that time only. */
    news(): readonly RouteFailure[] {
      const told = [...untold.values()];
      untold.clear();
      return told;
    },
    /** Records a failure from another process. */
    hear: (failure: RouteFailure): void => add({ ...failure, words: lineOf(failure.words) }),
  };
}
