// Decides which routes rest: repeated failures exclude a route for a while, and one successful probe brings it back.
import type { Clock } from "../core/clock.ts";
import { FAILURES, type FailureKind } from "../core/failures.ts";
import { getOrMake, makeRoom } from "../core/maps.ts";
import type { AttemptFailure, AttemptFigures, Candidate, Health } from "../core/route.ts";
import { createRouteFailures, type RouteFailures } from "./route-failures.ts";
import { createRouteFigures, type RouteFigures, type RouteSpeed } from "./route-figures.ts";

const FAILURES_IN_A_ROW_MAX = 3;
const SAMPLE = 20;
const SAMPLE_MIN = 10;
const REST_MS = 5_000;
const REST_MS_MAX = 20_000;
const RETRY_AFTER_MS_MAX = 60_000;
/** Servers that serve any model have unlimited routes; beyond this limit routes that do not rest are forgotten first, then the oldest. */
const STATES_MAX = 2_000;
/** For routes with callers' own keys: an account can displace only its own states, oldest first; the accounts are limited too. */
const OWN_STATES_MAX = 100;
const OWN_ACCOUNTS_MAX = 1_000;

/** Faults that no retry fixes: the route rests at once, and longer. */
const AT_ONCE_MS: Partial<Record<FailureKind, number>> = {
  provider_auth_failed: 60_000,
  provider_billing: 60_000,
  provider_model_missing: 60_000,
};

interface State {
  readonly provider: string;
  readonly model: string;
  failuresInARow: number;
  /** The newest results, true for success, at most SAMPLE of them. */
  results: boolean[];
  restUntilMs: number;
  /** Until then the route ranks last even if it answers, because we lose money on it. */
  behindUntilMs: number;
  /** How often it has been put to rest since its last answer. */
  rests: number;
  probing: boolean;
}

/** A state change for other processes: how long a route rests from now; 0: no longer. */
export interface RouteNews {
  readonly healthKey: string;
  readonly provider: string;
  readonly model: string;
  readonly restMs: number;
}

function failsTooOften(state: State): boolean {
  if (state.failuresInARow >= FAILURES_IN_A_ROW_MAX) return true;
  const bad = state.results.filter((good) => !good).length;
  return state.results.length >= SAMPLE_MIN && bad * 2 >= state.results.length;
}

/** How long a failure rests the route, in milliseconds; 0: not at all. */
function restFor(state: State, failure: AttemptFailure): number {
  const atOnce = AT_ONCE_MS[failure.kind];
  if (atOnce !== undefined) return atOnce;
  // A vendor that says `Retry-After: 0` asks for no rest.
  if (failure.retryAfterMs) return Math.min(failure.retryAfterMs, RETRY_AFTER_MS_MAX);
  return failsTooOften(state) ? Math.min(REST_MS * 2 ** state.rests, REST_MS_MAX) : 0;
}

/** The account whose own key the route uses; undefined for one of the gateway's keys. */
export function ownerOf(healthKey: string): string | undefined {
  return healthKey.startsWith("own ") ? healthKey.split(" ", 2)[1] : undefined;
}

/**
 * The health of this process's routes by health key. Records failures in `failures`, except those with a caller's own key. After its rest a
 * candidate is probed by one call; others avoid it until that call ends.
 */
export class RouteHealth implements Health {
  readonly #clock: Clock;
  readonly #failures: RouteFailures;
  readonly #states = new Map<string, State>();
  /** Routes with callers' own keys, by account: they cannot displace the operator's, and are not shared between processes. */
  readonly #own = new Map<string, Map<string, State>>();
  readonly #figures = createRouteFigures();
  readonly #ownFigures = createRouteFigures();
  /** Routes whose rest began or ended here; never more than there are states. */
  readonly #changed = new Set<string>();

  constructor(clock: Clock, failures: RouteFailures = createRouteFailures(clock)) {
    this.#clock = clock;
    this.#failures = failures;
  }

  order<Route extends { readonly candidate: Candidate | null }>(routes: readonly Route[]): readonly Route[] {
    const resting = routes.filter(({ candidate }) => candidate !== null && this.rests(candidate));
    return resting.length === 0 ? routes : [...routes.filter((route) => !resting.includes(route)), ...resting];
  }

  trying(route: Candidate): void {
    const state = this.#known(route.healthKey);
    if (state !== undefined && state.restUntilMs > 0) state.probing = true;
  }

  /** Whether the route currently ranks behind the others. */
  rests(route: Candidate): boolean {
    const state = this.#known(route.healthKey);
    return state !== undefined && this.#rests(state);
  }

  good(route: Candidate, told?: AttemptFigures): void {
    if (told !== undefined) this.#figuresOf(route.healthKey).add(route, told);
    const state = this.#known(route.healthKey);
    if (state === undefined) return;
    if (state.restUntilMs > 0) {
      state.results = [];
      this.#hasChanged(route.healthKey);
    }
    addResult(state, true);
    awake(state);
  }

  bad(route: Candidate, failure: AttemptFailure): void {
    if (ownerOf(route.healthKey) === undefined) this.#failures.note(route, failure);
    if (!FAILURES[failure.kind].rests || failure.spareKey === true) return this.unknown(route);
    const state = this.#stateOf(route);
    const wasResting = state.restUntilMs > 0;
    addResult(state, false);
    state.failuresInARow++;
    const restMs = wasResting ? Math.max(restFor(state, failure), REST_MS) : restFor(state, failure);
    if (restMs === 0) return;
    state.restUntilMs = this.#clock.elapsedMs() + restMs;
    state.rests++;
    this.#hasChanged(route.healthKey);
  }

  unknown(route: Candidate): void {
    const state = this.#known(route.healthKey);
    if (state !== undefined) state.probing = false;
  }

  /** What this process found since the last call of this method. */
  news(): readonly RouteNews[] {
    const told = [...this.#changed].flatMap((healthKey) => this.#newsOf(healthKey));
    this.#changed.clear();
    return told;
  }

  /** The routes at rest now, for a process that knows none. */
  known(): readonly RouteNews[] {
    const all = [...this.#states.keys()].flatMap((healthKey) => this.#newsOf(healthKey));
    return all.filter(({ restMs }) => restMs > 0);
  }

  /** Applies another process's finding like one of our own, without reporting it as news. */
  hear(news: RouteNews): void {
    const state = this.#stateOf(news);
    if (news.restMs > 0) state.restUntilMs = this.#clock.elapsedMs() + Math.min(news.restMs, RETRY_AFTER_MS_MAX);
    else awake(state);
  }

  /** Ranks a route behind the others for the given time, although it answers. */
  putBehind(news: RouteNews): void {
    this.#stateOf(news).behindUntilMs = this.#clock.elapsedMs() + news.restMs;
  }

  /** The route's speed; null if it has not served yet. */
  readonly speedOf = (healthKey: string): RouteSpeed | null => this.#figuresOf(healthKey).of(healthKey);

  /** The routes at rest, for the metrics; without those that use callers' own keys, which are not the operator's concern. */
  resting(): readonly { readonly provider: string; readonly model: string }[] {
    const resting = [...this.#states.values()].filter((state) => this.#rests(state));
    return resting.map(({ provider, model }) => ({ provider, model }));
  }

  #figuresOf(healthKey: string): RouteFigures {
    return ownerOf(healthKey) === undefined ? this.#figures : this.#ownFigures;
  }

  #known(healthKey: string): State | undefined {
    const owner = ownerOf(healthKey);
    return (owner === undefined ? this.#states : this.#own.get(owner))?.get(healthKey);
  }

  #stateOf({ healthKey, provider, model }: Pick<Candidate, "healthKey" | "provider" | "model">): State {
    const known = this.#known(healthKey);
    if (known !== undefined) return known;
    const times = { restUntilMs: 0, behindUntilMs: 0 };
    const fresh: State = { provider, model, failuresInARow: 0, results: [], ...times, rests: 0, probing: false };
    this.#add(healthKey, fresh);
    return fresh;
  }

  #add(healthKey: string, state: State): void {
    const owner = ownerOf(healthKey);
    if (owner !== undefined) {
      const states = getOrMake(this.#own, owner, () => {
        makeRoom(this.#own, OWN_ACCOUNTS_MAX);
        return new Map<string, State>();
      });
      makeRoom(states, OWN_STATES_MAX);
      states.set(healthKey, state);
      return;
    }
    if (this.#states.size >= STATES_MAX) {
      for (const [key, one] of this.#states) if (!this.#rests(one)) this.#drop(key);
      const [oldest] = this.#states.size >= STATES_MAX ? this.#states.keys() : [];
      if (oldest !== undefined) this.#drop(oldest);
    }
    this.#states.set(healthKey, state);
  }

  #drop(healthKey: string): void {
    this.#states.delete(healthKey);
    this.#changed.delete(healthKey);
  }

  /** Marks a change for other processes, unless the route uses a caller's own key. */
  #hasChanged(healthKey: string): void {
    if (ownerOf(healthKey) === undefined) this.#changed.add(healthKey);
  }

  #rests({ restUntilMs, behindUntilMs, probing }: State): boolean {
    return this.#clock.elapsedMs() < Math.max(restUntilMs, behindUntilMs) || probing;
  }

  #newsOf(healthKey: string): readonly RouteNews[] {
    const state = this.#states.get(healthKey);
    if (state === undefined) return [];
    const restMs = Math.max(0, Math.ceil(state.restUntilMs - this.#clock.elapsedMs()));
    return [{ healthKey, provider: state.provider, model: state.model, restMs }];
  }
}

function awake(state: State): void {
  state.failuresInARow = 0;
  state.restUntilMs = 0;
  state.rests = 0;
}

function addResult(state: State, good: boolean): void {
  state.probing = false;
  state.results.push(good);
  if (state.results.length > SAMPLE) state.results.shift();
}
