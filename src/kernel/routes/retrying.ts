// The route of one candidate: calls it, and retries where that may help. Every attempt becomes a leg here and nowhere else.
import { FAILURES, type FailureKind } from "../../core/failures.ts";
import { ZERO } from "../../core/money.ts";
import type {
  AnswerSink,
  Attempt,
  AttemptFailure,
  Candidate,
  FinalPart,
  Leg,
  Reading,
  Route,
  RouteAttempt,
  Tries,
} from "../../core/route.ts";
import { NOTHING_READ } from "../../upstream/nothing-read.ts";
import { ownerOf } from "../../upstream/route-health.ts";

/** The longest Retry-After that we wait out; after a longer one, the next route is tried. */
const RETRY_AFTER_MS_MAX = 2_500;
const TRIES_MAX = 2;
const LAST_ROUTE_TRIES_MAX = 3;
const BACKOFF_MS = 100;
const REFUSAL_CHARS_MAX = 300;

/** The wait before a retry of the same candidate; null: no retry. */
function againAfterMs(failure: AttemptFailure, tries: number, isLast: boolean): number | null {
  if (failure.spareKey === true) return 0;
  if (!FAILURES[failure.kind].sameRoute) return null;
  if (tries >= (isLast ? LAST_ROUTE_TRIES_MAX : TRIES_MAX)) return null;
  if (failure.retryAfterMs !== null) return failure.retryAfterMs <= RETRY_AFTER_MS_MAX ? failure.retryAfterMs : null;
  // A vendor that rate-limits without a Retry-After is left alone while another can answer.
  if (failure.kind === "provider_rate_limited") return isLast ? BACKOFF_MS * 8 * tries : null;
  return BACKOFF_MS * tries * (1 + Math.random());
}

/** After a paid but useless answer, one more paid attempt is allowed, and no third. */
const PAID_IN_VAIN_MAX = 1;
const IN_VAIN: readonly AttemptFailure["kind"][] = ["provider_malformed", "provider_empty", "provider_unfit"];

/** True if a failure may be followed by another attempt. A write that may have happened is never sent twice, whatever the answer was. */
export function mayTryOn(failure: AttemptFailure, tries: Tries): boolean {
  if (tries.committedMs !== null || tries.attemptsLeft <= 0 || failure.wasPaid === true) return false;
  if (tries.effect === "write" && failure.mayHaveRun !== false) return false;
  const { nextRoute } = FAILURES[failure.kind];
  const paid = tries.taken.filter(({ accepted }) => accepted).length;
  if (paid > PAID_IN_VAIN_MAX && tries.failures.some(({ kind }) => IN_VAIN.includes(kind))) return false;
  return nextRoute === "once" ? tries.failures.filter(({ kind }) => kind === failure.kind).length === 1 : nextRoute;
}

/** Keeps the vendor's message if the vendor, our key or our account is at fault. Empty for a caller's own key, which only the caller can fix. */
function refusalIn({ kind, message, told }: AttemptFailure, { healthKey }: Candidate): Pick<Leg, "refusal"> {
  if (FAILURES[kind].fault !== "provider" || told !== undefined || ownerOf(healthKey) !== undefined) return {};
  return { refusal: message.slice(0, REFUSAL_CHARS_MAX) };
}

class Retrying implements RouteAttempt, AnswerSink {
  /** The sink's own function, so that chunks pass without an extra call. */
  readonly content: AnswerSink["content"];
  readonly #candidate: Candidate;
  readonly #sink: AnswerSink;
  readonly #tries: Tries;
  readonly #isLast: boolean;
  #attempt: Attempt | null = null;
  #fromMs = 0;
  #count = 0;
  #timer: NodeJS.Timeout | null = null;
  #opening = false;
  #over = false;

  constructor(candidate: Candidate, sink: AnswerSink, tries: Tries, isLast: boolean) {
    this.#candidate = candidate;
    this.#sink = sink;
    this.#tries = tries;
    this.#isLast = isLast;
    this.content = sink.content;
  }

  open(): void {
    const { clock, health, deadlineMs } = this.#tries;
    this.#fromMs = clock.elapsedMs();
    this.#count += 1;
    this.#tries.attemptsLeft -= 1;
    health.trying(this.#candidate);
    const { firstTokenMsMax, lastFirstTokenMsMax } = this.#candidate;
    const firstMs = this.#isLast ? lastFirstTokenMsMax : firstTokenMsMax;
    const leftMs = Math.max(1, deadlineMs - this.#fromMs);
    this.#opening = true;
    // If it cannot be opened, the previous attempt must not linger here.
    this.#attempt = null;
    try {
      this.#attempt = this.#candidate.open(this, Math.min(firstMs, leftMs));
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : String(cause);
      this.failed({ kind: "gateway_internal", status: 0, message, retryAfterMs: null, cause });
    } finally {
      this.#opening = false;
    }
  }

  pause(): void {
    this.#attempt?.pause();
  }

  resume(): void {
    this.#attempt?.resume();
  }

  abort(why: AttemptFailure["kind"]): void {
    if (this.#over) return;
    this.#over = true;
    if (this.#timer !== null) {
      clearTimeout(this.#timer);
      return;
    }
    this.#attempt?.abort();
    this.#tries.health.unknown(this.#candidate);
    this.#leg(why, why === "caller_cancelled" ? 200 : 0, "left");
  }

  reading(): Reading {
    return this.#attempt?.reading() ?? NOTHING_READ;
  }

  accepted(): boolean {
    return this.#timer === null && (this.#attempt?.accepted() ?? false);
  }

  served(): Candidate {
    return this.#candidate;
  }

  done(final: FinalPart): void {
    if (this.#over) return;
    this.#over = true;
    const { clock, committedMs, health } = this.#tries;
    health.good(this.#candidate, {
      ms: clock.elapsedMs() - this.#fromMs,
      firstTokenMs: committedMs === null ? null : committedMs - this.#fromMs,
      outputTokens: this.reading().usage?.outputTokens ?? 0,
    });
    this.#leg(null, 200, "whole");
    this.#sink.done(final);
  }

  failed(failure: AttemptFailure): void {
    // `open` must return its attempt before the failure is reported.
    if (this.#opening) return queueMicrotask(() => this.failed(failure));
    if (this.#over) return;
    const tries = this.#tries;
    tries.health.bad(this.#candidate, failure);
    tries.failures.push(failure);
    tries.failed = this.#candidate;
    tries.skippedEvents += this.#attempt?.reading().skippedEvents ?? 0;
    const { answer } = failure;
    this.#leg(
      failure.kind,
      failure.status,
      answer === undefined ? "left" : "whole",
      refusalIn(failure, this.#candidate),
    );
    if (answer !== undefined) tries.empty = { served: this.#candidate, reading: this.reading(), final: answer };
    const againMs = mayTryOn(failure, tries) ? againAfterMs(failure, this.#count, this.#isLast) : null;
    if (againMs === null || tries.clock.elapsedMs() + againMs >= tries.deadlineMs) {
      this.#over = true;
      this.#sink.failed(failure);
    } else if (againMs === 0) this.open();
    else {
      this.#timer = setTimeout(() => {
        this.#timer = null;
        this.open();
      }, againMs);
    }
  }

  /** The only place where an attempt becomes a leg. Its cost is computed from its reading after the call has ended. */
  #leg(failure: FailureKind | null, status: number, ended: "whole" | "left", refusal: Pick<Leg, "refusal"> = {}): void {
    const { clock, committedMs, legs, taken } = this.#tries;
    const candidate = this.#candidate;
    const { provider, model } = candidate;
    const attempt = this.#attempt;
    const ms = clock.elapsedMs() - this.#fromMs;
    const leg: Leg = {
      provider,
      model,
      status,
      failure,
      ...refusal,
      startedAtMs: clock.epochMs() - ms,
      ms,
      firstTokenMs: committedMs === null || failure === "gateway_lost_race" ? null : committedMs - this.#fromMs,
      upstreamNano: ZERO,
    };
    legs.push(leg);
    const inner = attempt?.innerLegs?.() ?? null;
    taken.push({ leg, candidate, reading: this.reading(), ended, accepted: attempt?.accepted() ?? false, inner });
  }
}

/** Calls a candidate; retries after transient failures, and at once where another of our keys is usable. */
export function retrying(candidate: Candidate): Route {
  return new RetryingRoute(candidate);
}

class RetryingRoute implements Route {
  readonly candidate: Candidate;

  constructor(candidate: Candidate) {
    this.candidate = candidate;
  }

  has(other: Candidate): boolean {
    return other === this.candidate;
  }

  pointlessAfter(failed: Candidate, kind: FailureKind): boolean {
    return this.candidate.pointlessAfter(failed, kind);
  }

  open(sink: AnswerSink, tries: Tries, isLast: boolean): RouteAttempt {
    const attempt = new Retrying(this.candidate, sink, tries, isLast);
    attempt.open();
    return attempt;
  }
}
