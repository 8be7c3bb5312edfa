// The vocabulary of routes: candidates, their attempts, what those report, and how they combine. Types only.
import type { Clock } from "./clock.ts";
import type { GatewayError } from "./errors.ts";
import type { FailureKind } from "./failures.ts";
import type { Nano } from "./money.ts";

/** Token counts in disjoint buckets, except reasoning, which is part of output. */
export interface TokenUsage {
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

/** Usage by unit: whole numbers, under the names of a price's units. */
export type Counts = Readonly<Record<string, number>>;

/** What an attempt knows so far: the last non-null usage, and the delivered text in case none ever comes. */
export interface Reading {
  readonly usage: TokenUsage | null;
  /** The text that reached the reply: kept up to a limit; `bytes` counts all of it. */
  readonly delivered: { readonly text: string; readonly bytes: number };
  /** What the call cost us, as reported by the upstream itself. */
  readonly upstreamCostNano: Nano | null;
  /** Events that could not be parsed and were skipped. */
  readonly skippedEvents: number;
  /** An action's parsed answer; undefined if there is none, or it passed through unparsed. */
  readonly answer?: unknown;
  /** The units used, for a model sold by units; absent if the vendor reported none. */
  readonly counts?: Counts;
  /** The action found nothing; its price decides whether that is charged. */
  readonly miss?: boolean;
}

export interface AttemptFailure {
  readonly kind: FailureKind;
  /** The upstream's HTTP status; 0 if it sent none. */
  readonly status: number;
  /** The upstream's message, fit for the log, and for a caller who is at fault. */
  readonly message: string;
  readonly retryAfterMs: number | null;
  /** How long to send nothing at all to the vendor, in milliseconds. */
  readonly restMs?: number;
  /** What the operator must do about it, if the adapter knows. */
  readonly todo?: string;
  /** The error for the caller, if one of our functions has already made it. */
  readonly told?: GatewayError;
  /** The vendor's body, for a caller who is at fault; limited in size. */
  readonly vendorBody?: unknown;
  /** The vendor may have begun to act on the request; for a write, it is then unknown whether it happened. */
  readonly mayHaveRun?: boolean;
  /** The vendor got a payment for the call. We never pay twice, so nothing else is tried. */
  readonly wasPaid?: boolean;
  /** Our key was at fault, and another one is usable: the same route may retry at once. */
  readonly spareKey?: boolean;
  /** An exception in the gateway itself, for its log. */
  readonly cause?: unknown;
  /** A complete but empty answer: the caller gets it if no other route has a better one, and pays for the vendor's work. */
  readonly answer?: FinalPart;
}

/** A complete but empty answer. Its vendor has done its work. */
export interface EmptyAnswer {
  readonly served: Candidate;
  readonly reading: Reading;
  readonly final: FinalPart;
}

export interface ToldCost {
  readonly action: string | null;
  readonly ok: boolean;
  readonly nano: Nano;
}

/** One attempt of one candidate: one vendor's part in a call. Trace, hops, metrics and the posting's legs are derived from it. */
export interface Leg {
  readonly provider: string;
  /** The requested model or `service/action`. */
  readonly model: string;
  readonly status: number;
  /** Why it did not answer; null if it did. */
  readonly failure: FailureKind | null;
  /** The vendor's message about a fault that is not the caller's, with our key removed. Never shown to callers. */
  readonly refusal?: string;
  /** The start, in epoch milliseconds; absent in legs from earlier releases. */
  readonly startedAtMs?: number;
  readonly ms: number;
  readonly firstTokenMs: number | null;
  /** The vendor's charge to us, known or estimated. Filled in when the call has ended, whatever its outcome. */
  upstreamNano: Nano;
  /** The caller's cost, for a model that acts: of one of its rounds (action null), or of an action as its answer states. */
  told?: ToldCost;
  /** A function of ours that calls others; no vendor charges for it. */
  readonly own?: true;
  /** Our cost for such work; absent: the cost of a fetch. */
  readonly ownNano?: Nano;
}

/** How an attempt reports to the relay. Exactly one of `done` and `failed` is called, once and last. */
export interface AnswerSink {
  /** Content for the client; the first call commits. Includes any held-back preamble. */
  content(bytes: Uint8Array): void;
  /** The answer is complete. The plan's frame finishes `final`: held-back bytes, or a whole body. */
  done(final: FinalPart): void;
  failed(failure: AttemptFailure): void;
}

/** The end of an answer: the held-back last bytes of a stream, or a unary answer. An action's `body` is `{json}`: its text. */
export type FinalPart =
  | { readonly kind: "stream"; readonly tail: Uint8Array }
  | { readonly kind: "body"; readonly body: Record<string, unknown> };

/** A running attempt. After `abort` the sink gets no further calls. */
export interface Attempt {
  pause(): void;
  resume(): void;
  abort(): void;
  reading(): Reading;
  /** The vendor has the whole request and has not refused it, so it may charge us. */
  accepted(): boolean;
  /** For a function of ours that makes calls itself: their legs, once the last of them has ended. */
  innerLegs?(): Promise<readonly Leg[]>;
}

/** An ended attempt that may have cost us money: its outcome, and the leg to book the cost on. */
export interface Taken {
  readonly leg: Leg;
  readonly candidate: Candidate;
  readonly reading: Reading;
  readonly ended: "whole" | "left";
  /** The vendor had the request and did not refuse it. */
  readonly accepted: boolean;
  readonly inner: Promise<readonly Leg[]> | null;
}

/** One vendor's way to serve a plan: a model at a provider, an action at a vendor, or a function of ours. */
export interface Candidate {
  readonly provider: string;
  /** The sold item: the served slug, or `service/action`. */
  readonly model: string;
  /** Identifies the shared health record of this candidate's requests. */
  readonly healthKey: string;
  /** How long to wait for content while another route remains, and when none does. */
  readonly firstTokenMsMax: number;
  readonly lastFirstTokenMsMax: number;
  /** How long to read on after the caller has left mid-answer, to learn the cost of the unseen part; 0: not at all. */
  readonly readOnMsMax: number;
  /** Whether an earlier candidate's failure of `kind` makes this one pointless (a smaller context window, say). */
  pointlessAfter(failed: Candidate, kind: FailureKind): boolean;
  /** Starts an attempt that gives up unless content comes within `firstTokenMsMax`. Content and end never come before this returns. */
  open(sink: AnswerSink, firstTokenMsMax: number): Attempt;
}

export interface RouteAttempt {
  pause(): void;
  resume(): void;
  /** Stops the route, and records the reason in the legs. The sink gets no further calls. */
  abort(why: FailureKind): void;
  reading(): Reading;
  accepted(): boolean;
  /** The candidate that is answering, has answered, or was tried last. */
  served(): Candidate;
}

/** A way to an answer. Candidates, retries, orders and races are all routes, so a tier, a ladder or a race is just a value. */
export interface Route {
  /** Starts the route. If `isLast`, no other route follows, so it may take longer and try harder. */
  open(sink: AnswerSink, tries: Tries, isLast: boolean): RouteAttempt;
  /** Whether a candidate's failure makes trying it pointless. */
  pointlessAfter(failed: Candidate, kind: FailureKind): boolean;
  /** Whether this candidate belongs to it. */
  has(candidate: Candidate): boolean;
  /** The candidate whose health determines its place in an order; null: it keeps its place. */
  readonly candidate: Candidate | null;
  /** The routes that it tries in turn; absent: it tries none. */
  readonly rungs?: readonly Route[];
}

export interface AttemptFigures {
  /** Until the end. */
  readonly ms: number;
  /** Until the first content; null if the answer came whole. */
  readonly firstTokenMs: number | null;
  /** The vendor's count; 0 if it gave none. */
  readonly outputTokens: number;
}

/** What the kernel must know about candidates' health. */
export interface Health {
  /** Puts healthy routes first, in order of preference, and resting ones last; drops none. */
  order<T extends { readonly candidate: Candidate | null }>(routes: readonly T[]): readonly T[];
  trying(candidate: Candidate): void;
  good(candidate: Candidate, told?: AttemptFigures): void;
  bad(candidate: Candidate, failure: AttemptFailure): void;
  /** The attempt ended because of the caller, so it says nothing about the candidate. */
  unknown(candidate: Candidate): void;
}

export interface Tries {
  readonly clock: Clock;
  readonly health: Health;
  readonly effect: "read" | "write";
  /** In `clock.elapsedMs()` time. */
  readonly deadlineMs: number;
  /** When the first content was sent; null before. After that no other candidate can take over. */
  committedMs: number | null;
  attemptsLeft: number;
  readonly legs: Leg[];
  /** In order, each with its leg. */
  readonly failures: AttemptFailure[];
  failed: Candidate | null;
  skippedEvents: number;
  /** Every ended attempt, in the order of their legs. */
  readonly taken: Taken[];
  /** The empty answer to fall back on if nothing better comes; null: none. */
  empty: EmptyAnswer | null;
}
