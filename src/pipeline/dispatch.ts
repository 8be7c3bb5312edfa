// Tries a plan's routes in order under its clocks and its one attempt budget, until one has answered or none is left.
import type { Clock } from "../clock.ts";
import { FAILURES } from "../failures.ts";
import type { RequestRecord } from "../observe/record.ts";
import type { AnswerSink, Attempt, AttemptFailure, FinalPart, Plan, Reading, Route } from "../plan.ts";
import type { Health } from "./deps.ts";
import type { Relay } from "./relay.ts";

/** How the routes fared. `served` is the route that answered or was answering; `reading` is what it had said. */
export type Dispatched =
  | { readonly outcome: "success"; readonly served: Route; readonly reading: Reading; readonly final: FinalPart }
  | { readonly outcome: "left_after_content"; readonly served: Route; readonly reading: Reading }
  | { readonly outcome: "left_before_content" }
  | { readonly outcome: "failed" | "broken"; readonly failures: readonly AttemptFailure[] };

type Tried =
  | { readonly kind: "whole"; readonly final: FinalPart; readonly attempt: Attempt }
  | { readonly kind: "left"; readonly attempt: Attempt }
  | { readonly kind: "failed"; readonly failure: AttemptFailure; readonly attempt: Attempt | null };

export interface DispatchParts {
  readonly relay: Relay;
  readonly health: Health;
  readonly clock: Clock;
  readonly record: RequestRecord;
}

/** A wait that a vendor asks for and that is shorter than this is waited out; a longer one sends us to the next route. */
const RETRY_AFTER_MS_MAX = 2_500;
const SAME_ROUTE_TRIES_MAX = 2;
const LAST_ROUTE_TRIES_MAX = 3;
const BACKOFF_MS = 100;

const DEADLINE: AttemptFailure = {
  kind: "gateway_deadline",
  status: 0,
  message: "the request took too long",
  retryAfterMs: null,
};

/** Runs one attempt until its last word, the client's leaving, or the plan's deadline. */
function tryRoute(plan: Plan, route: Route, parts: DispatchParts, bounds: { firstMs: number; leftMs: number }) {
  const { relay, record } = parts;
  return new Promise<Tried>((resolve) => {
    let attempt: Attempt | null = null;
    const end = (tried: Tried): void => {
      clearTimeout(deadline);
      relay.drop();
      resolve(tried);
    };
    // The time that a slow client takes is its own: nobody gets most of an answer for nothing by reading it slowly.
    const waitedMs = relay.waitedMs;
    const outOfTime = (usedMs: number): void => {
      const moreMs = relay.waitedMs - waitedMs - usedMs;
      if (moreMs > 0) {
        deadline = setTimeout(outOfTime, moreMs, usedMs + moreMs);
        return;
      }
      attempt?.abort();
      end({ kind: "failed", failure: DEADLINE, attempt });
    };
    let deadline = setTimeout(outOfTime, bounds.leftMs, 0);
    const sink: AnswerSink = {
      content: (bytes) => relay.content(bytes, route, record.attempts),
      done: (final) => end({ kind: "whole", final, attempt: opened }),
      failed: (failure) => end({ kind: "failed", failure, attempt }),
    };
    let opened: Attempt;
    try {
      opened = route.open(sink, Math.min(bounds.firstMs, bounds.leftMs));
    } catch (error) {
      clearTimeout(deadline);
      throw error;
    }
    attempt = opened;
    relay.carry(opened, () => {
      if (plan.whenClientLeaves === "finish") {
        // It may have been paused for the slow client that is now gone.
        opened.resume();
        return;
      }
      opened.abort();
      end({ kind: "left", attempt: opened });
    });
  });
}

/** How long to wait before the same route is asked again; null: it is not. */
function sameRouteAfterMs(failure: AttemptFailure, tries: number, isLast: boolean): number | null {
  if (failure.spareKey === true) return 0;
  if (!FAILURES[failure.kind].sameRoute) return null;
  if (tries >= (isLast ? LAST_ROUTE_TRIES_MAX : SAME_ROUTE_TRIES_MAX)) return null;
  if (failure.retryAfterMs !== null) return failure.retryAfterMs <= RETRY_AFTER_MS_MAX ? failure.retryAfterMs : null;
  // A vendor that says "too many" without saying how long is left alone while another can answer.
  if (failure.kind === "provider_rate_limited") return isLast ? BACKOFF_MS * 8 * tries : null;
  return BACKOFF_MS * tries * (1 + Math.random());
}

/** Resolves after `ms`, or as soon as the client leaves. */
function wait(ms: number, relay: Relay): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    const nothing: Attempt = { pause() {}, resume() {}, abort() {}, reading: () => NOTHING };
    relay.carry(nothing, () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

const NOTHING: Reading = { usage: null, delivered: { text: "", bytes: 0 }, upstreamCostNano: null, skippedEvents: 0 };

function note(
  record: RequestRecord,
  route: Route,
  tried: Tried,
  times: { from: number; to: number; first: number | null },
) {
  const failure = tried.kind === "failed" ? tried.failure : null;
  record.attempts.push({
    provider: route.provider,
    model: route.model,
    status: failure === null ? 200 : failure.status,
    failure: tried.kind === "left" ? "caller_cancelled" : (failure?.kind ?? null),
    ms: times.to - times.from,
    firstTokenMs: times.first === null ? null : times.first - times.from,
  });
}

/** Tries the routes. Every attempt is noted on the record, and every route's health hears of it. */
export async function dispatch(plan: Plan, parts: DispatchParts): Promise<Dispatched> {
  const { relay, health, clock, record } = parts;
  const deadlineMs = clock.elapsedMs() + plan.wholeMsMax;
  const routes = health.order(plan.routes);
  const failures: AttemptFailure[] = [];
  let failed: { route: Route; failure: AttemptFailure } | null = null;
  let tries = 0;
  for (let at = 0; at < routes.length && record.attempts.length < plan.attemptsMax; ) {
    const route = routes[at];
    if (route === undefined) break;
    if (tries === 0 && failed !== null && route.pointlessAfter(failed.route, failed.failure.kind)) {
      at++;
      continue;
    }
    if (relay.gone && plan.whenClientLeaves === "abort") return { outcome: "left_before_content" };
    const isLast = at === routes.length - 1;
    const from = clock.elapsedMs();
    const firstMs = isLast ? route.lastFirstTokenMsMax : route.firstTokenMsMax;
    health.trying(route);
    const bounds = { firstMs, leftMs: Math.max(1, deadlineMs - from) };
    const tried = await tryRoute(plan, route, parts, bounds).catch((broken: unknown) => {
      health.unknown(route);
      throw broken;
    });
    note(record, route, tried, { from, to: clock.elapsedMs(), first: relay.committedMs });
    tries++;

    if (tried.kind === "left") {
      health.unknown(route);
      if (relay.committedMs === null) return { outcome: "left_before_content" };
      return { outcome: "left_after_content", served: route, reading: tried.attempt.reading() };
    }
    if (tried.kind === "whole") {
      health.good(route);
      return { outcome: "success", served: route, reading: tried.attempt.reading(), final: tried.final };
    }
    const { failure } = tried;
    health.bad(route, failure);
    failures.push(failure);
    failed = { route, failure };
    record.skippedEvents += tried.attempt?.reading().skippedEvents ?? 0;
    if (relay.committedMs !== null) return { outcome: "broken", failures };
    // A write may have happened although its answer never came: it is never sent twice.
    if ((plan.effect === "write" && failure.mayHaveRun !== false) || !FAILURES[failure.kind].nextRoute) break;
    const againMs = sameRouteAfterMs(failure, tries, isLast);
    if (againMs === null || clock.elapsedMs() + againMs >= deadlineMs) {
      at++;
      tries = 0;
    } else if (againMs > 0) {
      await wait(againMs, relay);
    }
  }
  if (relay.gone && plan.whenClientLeaves === "abort") return { outcome: "left_before_content" };
  return { outcome: "failed", failures };
}
