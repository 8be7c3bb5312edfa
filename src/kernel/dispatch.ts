// Runs a plan's route until it answers, the reader disconnects, the parent stops it, or the deadline passes.
import type { Plan } from "../core/plan.ts";
import type { AnswerSink, AttemptFailure, Candidate, FinalPart, Reading, RouteAttempt, Tries } from "../core/route.ts";
import type { Leaving, Relay } from "./relay.ts";

/** The outcome of a route. `served` is the candidate that answered or was answering; `reading` is what was read of its answer. */
export type Dispatched =
  | { readonly outcome: "success"; readonly served: Candidate; readonly reading: Reading; readonly final: FinalPart }
  /** The reader disconnected. `ended` is "whole" if `reading` covers the whole answer. */
  | {
      readonly outcome: "left_after_content";
      readonly served: Candidate;
      readonly reading: Reading;
      readonly ended: "whole" | "left";
    }
  /** `accepted`: the vendor had already accepted the request, so it bills us. */
  | {
      readonly outcome: "left_before_content";
      readonly accepted: { readonly served: Candidate; readonly reading: Reading } | null;
    }
  /** `held`: the answer broke after a slow reader had stalled it; the delivered part is charged. */
  | {
      readonly outcome: "broken";
      readonly failures: readonly AttemptFailure[];
      readonly held: { readonly served: Candidate; readonly reading: Reading } | null;
    }
  | { readonly outcome: "failed"; readonly failures: readonly AttemptFailure[] };

export interface DispatchParts {
  readonly relay: Relay;
  readonly tries: Tries;
  /** Aborted when the caller cancels; null where the caller cannot cancel. */
  readonly signal: AbortSignal | null;
}

/** If a reader stalls an answer for longer than this, a failure is not blamed on the vendor. */
const HELD_BACK_MS_MAX = 5_000;

const DEADLINE: AttemptFailure = {
  kind: "gateway_deadline",
  status: 0,
  message: "the request took too long",
  retryAfterMs: null,
};
const STOPPED: AttemptFailure = {
  kind: "gateway_stopped",
  status: 0,
  message: "the call that this one belongs to has ended",
  retryAfterMs: null,
};

/** Acts as its own sink and listener, so that a call needs no extra objects. */
class Dispatch implements AnswerSink, Leaving {
  readonly content: AnswerSink["content"];
  readonly #plan: Plan;
  readonly #relay: Relay;
  readonly #tries: Tries;
  readonly #signal: AbortSignal | null;
  readonly #resolve: (dispatched: Dispatched) => void;
  readonly #attempt: RouteAttempt;
  #deadline: NodeJS.Timeout;
  #readingOn: NodeJS.Timeout | null = null;
  /** What had been read when the reader disconnected; null while it is connected. */
  #readWhenLeft: Reading | null = null;
  /** Null where nothing can stop the call. */
  #stopped: (() => void) | null = null;
  #over = false;

  constructor(plan: Plan, { relay, tries, signal }: DispatchParts, resolve: (dispatched: Dispatched) => void) {
    this.#plan = plan;
    this.#relay = relay;
    this.#tries = tries;
    this.#signal = signal;
    this.#resolve = resolve;
    this.content = relay.content;
    this.#deadline = setTimeout(Dispatch.#timerFired, tries.deadlineMs - tries.clock.elapsedMs(), this);
    try {
      this.#attempt = plan.route.open(this, tries, true);
    } catch (broken) {
      clearTimeout(this.#deadline);
      throw broken;
    }
    relay.carry(this.#attempt, this);
    if (signal === null) return;
    this.#stopped = () => this.#giveUp(STOPPED);
    signal.addEventListener("abort", this.#stopped, { once: true });
  }

  #end(dispatched: Dispatched): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#deadline);
    if (this.#readingOn !== null) clearTimeout(this.#readingOn);
    if (this.#stopped !== null) this.#signal?.removeEventListener("abort", this.#stopped);
    this.#relay.drop();
    this.#resolve(dispatched);
  }

  done(final: FinalPart): void {
    const served = this.#attempt.served();
    const reading = this.#attempt.reading();
    const left = this.#readWhenLeft;
    if (left === null) return this.#end({ outcome: "success", served, reading, final });
    // Without usage, what was read after the disconnect does not count as delivered.
    const ended = reading.usage === null ? "left" : "whole";
    this.#end({ outcome: "left_after_content", served, reading: ended === "whole" ? reading : left, ended });
  }

  failed(failure: AttemptFailure): void {
    if (this.#readWhenLeft !== null) return this.#endLeft(this.#readWhenLeft);
    const { failures, empty, committedMs } = this.#tries;
    if (committedMs === null && empty !== null && failure.kind !== "gateway_stopped")
      return this.#end({ outcome: "success", served: empty.served, reading: empty.reading, final: empty.final });
    if (committedMs === null) return this.#end({ outcome: "failed", failures });
    const isHeld = this.#relay.waitedMs > HELD_BACK_MS_MAX && failure.kind !== "gateway_deadline";
    const held = isHeld ? { served: this.#attempt.served(), reading: this.#attempt.reading() } : null;
    this.#end({ outcome: "broken", failures, held });
  }

  left(): void {
    const attempt = this.#attempt;
    if (this.#plan.whenCallerLeaves === "finish") {
      // It may be paused because of the slow reader that has now disconnected.
      attempt.resume();
      return;
    }
    const { readOnMsMax } = attempt.served();
    if (this.#tries.committedMs === null) {
      const accepted = attempt.accepted() ? { served: attempt.served(), reading: attempt.reading() } : null;
      attempt.abort("caller_cancelled");
      return this.#end({ outcome: "left_before_content", accepted });
    }
    const reading = attempt.reading();
    if (readOnMsMax === 0) {
      attempt.abort("caller_cancelled");
      return this.#endLeft(reading);
    }
    this.#readWhenLeft = reading;
    attempt.resume();
    this.#readingOn = setTimeout(() => {
      attempt.abort("caller_cancelled");
      this.#endLeft(reading);
    }, readOnMsMax);
  }

  #endLeft(reading: Reading): void {
    this.#end({ outcome: "left_after_content", served: this.#attempt.served(), reading, ended: "left" });
  }

  // Static, because a function for each call would take 60 bytes in every open stream.
  static #timerFired(dispatch: Dispatch): void {
    dispatch.#outOfTime();
  }

  /** Time lost to a slow reader is the reader's own: reading slowly must not make most of an answer free. */
  #outOfTime(): void {
    const moreMs = this.#tries.deadlineMs + this.#relay.waitedMs - this.#tries.clock.elapsedMs();
    if (moreMs > 0) {
      this.#deadline = setTimeout(Dispatch.#timerFired, moreMs, this);
      return;
    }
    this.#giveUp(DEADLINE);
  }

  #giveUp(failure: AttemptFailure): void {
    if (this.#over) return;
    this.#attempt.abort(failure.kind);
    this.#tries.failures.push(failure);
    this.failed(failure);
  }
}

/** Runs the route. When it ends, `tries` has a leg for every attempt. Rejects if the route cannot be opened. */
export function dispatch(plan: Plan, parts: DispatchParts): Promise<Dispatched> {
  if (parts.relay.gone && plan.whenCallerLeaves === "abort")
    return Promise.resolve({ outcome: "left_before_content", accepted: null });
  if (parts.signal?.aborted) return Promise.resolve({ outcome: "failed", failures: [STOPPED] });
  return new Promise((resolve) => new Dispatch(plan, parts, resolve));
}
