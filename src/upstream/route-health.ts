// Which routes rest: repeated failure takes a route out for a while, one probe brings it back.
import type { Clock } from "../core/clock.ts";
import { FAILURES, type FailureKind } from "../core/failures.ts";
import type { AttemptFailure, Candidate, Health } from "../core/route.ts";
import { createRouteFailures, type RouteFailures } from "./route-failures.ts";
import { createRouteFigures, type RouteSpeed } from "./route-figures.ts";

const FAILURES_IN_A_ROW_MAX = 3;
const SAMPLE = 20;
const SAMPLE_MIN = 10;
const REST_MS = 5_000;
const REST_MS_MAX = 20_000;
const RETRY_AFTER_MS_MAX = 60_000;
/** Servers that serve any model have any number of routes; past this the ones that do not rest are forgotten, and then the oldest. */
const STATES_MAX = 2_000;
/** By keys of callers' own: each account can only have its own forgotten, the oldest first, and so can those of many accounts. */
const OWN_STATES_MAX = 100;
const OWN_ACCOUNTS_MAX = 1_000;

/** Faults that no second try mends: the route rests at once, and longer. */
const AT_ONCE_MS: Partial<Record<FailureKind, number>> = {
  provider_auth_failed: 60_000,
  provider_billing: 60_000,
  provider_model_missing: 60_000,
};

interface State {
  readonly provider: string;
  readonly model: string;
  failuresInARow: number;
  /** The newest results, true for good, at most SAMPLE of them. */
  results: boolean[];
  restUntilMs: number;
  /** Until then it goes behind others whatever it answers: we lose by it. */
  behindUntilMs: number;
  /** How often it has been rested since it last answered. */
  rests: number;
  probing: boolean;
}

/** What other processes are told of a route: how long it rests from now on, 0 for not at all any more. */
export interface RouteNews {
  readonly healthKey: string;
  readonly provider: string;
  readonly model: string;
  readonly restMs: number;
}

/** A candidate whose rest has ended is probed by one call; others keep away from it until that has answered. */
export interface RouteHealth extends Health {
  /** The routes that rest now, for the metrics; those by keys of callers' own are no matter of the operator's. */
  resting(): readonly { readonly provider: string; readonly model: string }[];
  /** Whether it goes behind the others for now. */
  rests(route: Candidate): boolean;
  /** How fast a route has been; null: it has not served yet. */
  speedOf(healthKey: string): RouteSpeed | null;
  /** What this process has found since it was last asked. */
  news(): readonly RouteNews[];
  /** What rests at this moment, for one who knows nothing yet. */
  known(): readonly RouteNews[];
  /** What another process has found: it counts as our own, and is not told on. */
  hear(news: RouteNews): void;
  /** Has a route go behind the others for as long as is said, although it answers. */
  putBehind(news: RouteNews): void;
}

function failsTooOften(state: State): boolean {
  if (state.failuresInARow >= FAILURES_IN_A_ROW_MAX) return true;
  const bad = state.results.filter((good) => !good).length;
  return state.results.length >= SAMPLE_MIN && bad * 2 >= state.results.length;
}

/** How long a failure rests the route, in milliseconds; 0 for not at all. */
function restFor(state: State, failure: AttemptFailure): number {
  const atOnce = AT_ONCE_MS[failure.kind];
  if (atOnce !== undefined) return atOnce;
  if (failure.retryAfterMs !== null) return Math.min(failure.retryAfterMs, RETRY_AFTER_MS_MAX);
  return failsTooOften(state) ? Math.min(REST_MS * 2 ** state.rests, REST_MS_MAX) : 0;
}

/** Whose own key a route goes by; undefined: by one of the gateway's. */
function ownerOf(healthKey: string): string | undefined {
  return healthKey.startsWith("own ") ? healthKey.split(" ", 2)[1] : undefined;
}

/** What is known of routes by callers' own keys: apart from the operator's, of which it drives out nothing, and told to no other process. */
class OwnStates {
  readonly #accounts = new Map<string, Map<string, State>>();

  get(owner: string, healthKey: string): State | undefined {
    return this.#accounts.get(owner)?.get(healthKey);
  }

  add(owner: string, healthKey: string, state: State): void {
    const known = this.#accounts.get(owner);
    const states = known ?? new Map<string, State>();
    if (known === undefined) {
      dropOldest(this.#accounts, OWN_ACCOUNTS_MAX);
      this.#accounts.set(owner, states);
    }
    dropOldest(states, OWN_STATES_MAX);
    states.set(healthKey, state);
  }
}

function dropOldest(map: Map<string, unknown>, countMax: number): void {
  const [oldest] = map.size >= countMax ? map.keys() : [];
  if (oldest !== undefined) map.delete(oldest);
}

/** Keeps the health of all routes of this process, by health key. What they fail with is noted in `failures`, unless it is by a caller's own key. */
export function createRouteHealth(clock: Clock, failures: RouteFailures = createRouteFailures(clock)): RouteHealth {
  const states = new Map<string, State>();
  const own = new OwnStates();
  const [figures, ownFigures] = [createRouteFigures(), createRouteFigures()];
  const figuresOf = (healthKey: string) => (ownerOf(healthKey) === undefined ? figures : ownFigures);
  /** Routes whose rest has begun or ended here; at most as many as there are states. */
  const changed = new Set<string>();

  function knownState(healthKey: string): State | undefined {
    const owner = ownerOf(healthKey);
    return owner === undefined ? states.get(healthKey) : own.get(owner, healthKey);
  }

  function addState(healthKey: string, state: State): void {
    const owner = ownerOf(healthKey);
    if (owner !== undefined) return own.add(owner, healthKey, state);
    if (states.size >= STATES_MAX) {
      for (const [key, one] of states) if (!rests(one)) drop(key);
      const [oldest] = states.size >= STATES_MAX ? states.keys() : [];
      if (oldest !== undefined) drop(oldest);
    }
    states.set(healthKey, state);
  }

  function drop(healthKey: string): void {
    states.delete(healthKey);
    changed.delete(healthKey);
  }

  /** Others are told of it, unless it is a matter of one caller's key. */
  function hasChanged(healthKey: string): void {
    if (ownerOf(healthKey) === undefined) changed.add(healthKey);
  }

  function stateOf(route: Pick<Candidate, "healthKey" | "provider" | "model">): State {
    const known = knownState(route.healthKey);
    if (known !== undefined) return known;
    const { provider, model } = route;
    const fresh = {
      provider,
      model,
      failuresInARow: 0,
      results: [],
      restUntilMs: 0,
      behindUntilMs: 0,
      rests: 0,
      probing: false,
    };
    addState(route.healthKey, fresh);
    return fresh;
  }

  function rests(state: State): boolean {
    return clock.elapsedMs() < Math.max(state.restUntilMs, state.behindUntilMs) || state.probing;
  }

  function newsOf(healthKey: string): readonly RouteNews[] {
    const state = states.get(healthKey);
    if (state === undefined) return [];
    const restMs = Math.max(0, Math.ceil(state.restUntilMs - clock.elapsedMs()));
    return [{ healthKey, provider: state.provider, model: state.model, restMs }];
  }

  function awake(state: State): void {
    state.failuresInARow = 0;
    state.restUntilMs = 0;
    state.rests = 0;
  }

  function add(state: State, good: boolean): void {
    state.probing = false;
    state.results.push(good);
    if (state.results.length > SAMPLE) state.results.shift();
  }

  return {
    order(routes) {
      const isResting = ({ candidate }: { readonly candidate: Candidate | null }) => {
        const state = candidate === null ? undefined : knownState(candidate.healthKey);
        return state !== undefined && rests(state);
      };
      const resting = routes.filter(isResting);
      return resting.length === 0 ? routes : [...routes.filter((route) => !resting.includes(route)), ...resting];
    },
    trying(route) {
      const state = knownState(route.healthKey);
      if (state !== undefined && state.restUntilMs > 0) state.probing = true;
    },
    rests(route) {
      const state = knownState(route.healthKey);
      return state !== undefined && rests(state);
    },
    good(route, told) {
      if (told !== undefined) figuresOf(route.healthKey).add(route, told);
      const state = knownState(route.healthKey);
      if (state === undefined) return;
      if (state.restUntilMs > 0) {
        state.results = [];
        hasChanged(route.healthKey);
      }
      add(state, true);
      awake(state);
    },
    bad(route, failure) {
      if (ownerOf(route.healthKey) === undefined) failures.note(route, failure);
      if (!FAILURES[failure.kind].rests || failure.spareKey === true) return this.unknown(route);
      const state = stateOf(route);
      const wasResting = state.restUntilMs > 0;
      add(state, false);
      state.failuresInARow++;
      const restMs = wasResting ? Math.max(restFor(state, failure), REST_MS) : restFor(state, failure);
      if (restMs === 0) return;
      state.restUntilMs = clock.elapsedMs() + restMs;
      state.rests++;
      hasChanged(route.healthKey);
    },
    unknown(route) {
      const state = knownState(route.healthKey);
      if (state !== undefined) state.probing = false;
    },
    news() {
      const told = [...changed].flatMap(newsOf);
      changed.clear();
      return told;
    },
    known: () => [...states.keys()].flatMap(newsOf).filter(({ restMs }) => restMs > 0),
    hear(news) {
      const state = stateOf(news);
      if (news.restMs > 0) state.restUntilMs = clock.elapsedMs() + Math.min(news.restMs, RETRY_AFTER_MS_MAX);
      else awake(state);
    },
    putBehind(news) {
      stateOf(news).behindUntilMs = clock.elapsedMs() + news.restMs;
    },
    speedOf: (healthKey) => figuresOf(healthKey).of(healthKey),
    resting() {
      return [...states.values()].filter(rests).map(({ provider, model }) => ({ provider, model }));
    },
  };
}
