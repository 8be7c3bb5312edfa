// Parallel routes: the first whose answer begins, or is whole, wins; the others are stopped, and their cost becomes a leg.
import type { FailureKind } from "../../core/failures.ts";
import type { AnswerSink, AttemptFailure, Candidate, Reading, Route, RouteAttempt, Tries } from "../../core/route.ts";

class Race implements RouteAttempt {
  readonly #sink: AnswerSink;
  readonly #running = new Set<RouteAttempt>();
  /** The winner; before there is one, an attempt that runs or ran last. */
  #leader: RouteAttempt | null = null;
  #isWon = false;

  constructor(routes: readonly Route[], sink: AnswerSink, tries: Tries, isLast: boolean) {
    this.#sink = sink;
    for (const route of routes) {
      const runner: { attempt: RouteAttempt | null } = { attempt: null };
      const attempt = route.open(this.#sinkOf(runner), tries, isLast);
      runner.attempt = attempt;
      this.#running.add(attempt);
      this.#leader = attempt;
    }
  }

  pause(): void {
    for (const attempt of this.#running) attempt.pause();
  }

  resume(): void {
    for (const attempt of this.#running) attempt.resume();
  }

  abort(why: FailureKind): void {
    for (const attempt of this.#running) attempt.abort(why);
    this.#running.clear();
  }

  reading(): Reading {
    return this.#front().reading();
  }

  accepted(): boolean {
    return [...this.#running].some((attempt) => attempt.accepted());
  }

  served(): Candidate {
    return this.#front().served();
  }

  #front(): RouteAttempt {
    if (this.#leader === null) throw new Error("a race has at least one route");
    return this.#leader;
  }

  #sinkOf(runner: { readonly attempt: RouteAttempt | null }): AnswerSink {
    return {
      content: (bytes) => {
        if (this.#wins(runner.attempt)) this.#sink.content(bytes);
      },
      done: (final) => {
        if (this.#wins(runner.attempt)) this.#sink.done(final);
      },
      failed: (failure) => this.#lose(runner.attempt, failure),
    };
  }

  /** True for the winner: the first attempt to ask wins. */
  #wins(winner: RouteAttempt | null): boolean {
    if (this.#isWon || winner === null) return winner === this.#leader;
    this.#isWon = true;
    this.#leader = winner;
    for (const attempt of this.#running) if (attempt !== winner) attempt.abort("gateway_lost_race");
    this.#running.clear();
    this.#running.add(winner);
    return true;
  }

  /** A failed attempt leaves the race; the last to fail ends it. */
  #lose(loser: RouteAttempt | null, failure: AttemptFailure): void {
    if (this.#isWon && loser !== this.#leader) return;
    if (loser !== null) this.#running.delete(loser);
    const [left] = this.#running;
    if (left === undefined) this.#sink.failed(failure);
    else this.#leader = left;
  }
}

/** Runs the routes in parallel. Needs at least one route. */
export function race(routes: readonly Route[]): Route {
  const [only] = routes;
  if (only !== undefined && routes.length === 1) return only;
  return {
    candidate: null,
    has: (candidate) => routes.some((route) => route.has(candidate)),
    pointlessAfter: (failed, kind) => routes.every((route) => route.pointlessAfter(failed, kind)),
    open: (sink, tries, isLast) => new Race(routes, sink, tries, isLast),
  };
}
