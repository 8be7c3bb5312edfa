// Routes in order of preference: tries the next when one has failed and another may do better.
import type { FailureKind } from "../../core/failures.ts";
import type {
  AnswerSink,
  AttemptFailure,
  Candidate,
  FinalPart,
  Reading,
  Route,
  RouteAttempt,
  Tries,
} from "../../core/route.ts";
import { mayTryOn } from "./retrying.ts";

class Ladder implements RouteAttempt, AnswerSink {
  readonly content: AnswerSink["content"];
  readonly #rungs: readonly Route[];
  readonly #sink: AnswerSink;
  readonly #tries: Tries;
  readonly #isLast: boolean;
  #at = 0;
  #attempt: RouteAttempt;

  constructor(rungs: readonly Route[], sink: AnswerSink, tries: Tries, isLast: boolean) {
    this.#rungs = tries.health.order(rungs);
    this.#sink = sink;
    this.#tries = tries;
    this.#isLast = isLast;
    this.content = sink.content;
    this.#attempt = this.#open();
  }

  pause(): void {
    this.#attempt.pause();
  }

  resume(): void {
    this.#attempt.resume();
  }

  abort(why: FailureKind): void {
    this.#attempt.abort(why);
  }

  reading(): Reading {
    return this.#attempt.reading();
  }

  accepted(): boolean {
    return this.#attempt.accepted();
  }

  served(): Candidate {
    return this.#attempt.served();
  }

  #open(): RouteAttempt {
    const rung = this.#rungs[this.#at];
    if (rung === undefined) throw new Error("a ladder has at least one rung");
    return rung.open(this, this.#tries, this.#isLast && this.#at === this.#rungs.length - 1);
  }

  done(final: FinalPart): void {
    this.#sink.done(final);
  }

  failed(failure: AttemptFailure): void {
    if (!mayTryOn(failure, this.#tries)) return this.#sink.failed(failure);
    do this.#at += 1;
    while (this.#isPointless(failure));
    if (this.#at < this.#rungs.length) this.#attempt = this.#open();
    else this.#sink.failed(failure);
  }

  #isPointless({ kind }: AttemptFailure): boolean {
    const { failed } = this.#tries;
    return failed !== null && (this.#rungs[this.#at]?.pointlessAfter(failed, kind) ?? false);
  }
}

/** Tries the routes in turn; candidates in cooldown come last. Needs at least one route. */
export function ladder(rungs: readonly Route[]): Route {
  const [only] = rungs;
  if (only !== undefined && rungs.length === 1) return only;
  return {
    candidate: null,
    rungs,
    has: (candidate) => rungs.some((rung) => rung.has(candidate)),
    pointlessAfter: (failed, kind) => rungs.every((rung) => rung.pointlessAfter(failed, kind)),
    open: (sink, tries, isLast) => new Ladder(rungs, sink, tries, isLast),
  };
}
