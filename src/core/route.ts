// The words of a way to an answer: candidates, their attempts, what those learn and tell, and how they combine. Types and nothing else.
import type { Clock } from "./clock.ts";
import type { GatewayError } from "./errors.ts";
import type { FailureKind } from "./failures.ts";
import type { Nano } from "./money.ts";

/** Token counts in disjoint buckets; reasoning is a part of output. */
export interface TokenUsage {
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

/** How much was used, by unit: names of a price's units, and whole numbers of them. */
export type Counts = Readonly<Record<string, number>>;

/** What an attempt has learned so far: the last non-null usage, and what was delivered should none ever come. */
export interface Reading {
  readonly usage: TokenUsage | null;
  /** Text that reached the reply: kept up to a bound; `bytes` counts all of it. */
  readonly delivered: { readonly text: string; readonly bytes: number };
  /** What the upstream itself said the call cost us, where it does. */
  readonly upstreamCostNano: Nano | null;
  /** Events that could not be parsed and were left out. */
  readonly skippedEvents: number;
  /** The parsed answer of an action; undefined where there is none or it went by unparsed. */
  readonly answer?: unknown;
  /** What a model that is sold by units has used; absent where the vendor has not said. */
  readonly counts?: Counts;
  /** The action found nothing: its price says whether that is charged. */
  readonly miss?: boolean;
}

/** Why an attempt failed, classified once. */
export interface AttemptFailure {
  readonly kind: FailureKind;
  /** The upstream's status, 0 where none came. */
  readonly status: number;
  /** The upstream's own words, fit for a caller who is at fault, and for the log. */
  readonly message: string;
  readonly retryAfterMs: number | null;
  /** The vendor itself must be left alone for so long, whatever is asked of it. */
  readonly restMs?: number;
  /** What the operator has to do about it, where the adapter knows. */
  readonly todo?: string;
  /** What the caller is to be told, where a function of ours has already said it. */
  readonly told?: GatewayError;
  /** The vendor's body, for a caller who is at fault; bounded. */
  readonly vendorBody?: unknown;
  /** Whether the vendor may have begun to act on the request; of a write, it is then not known whether it happened. */
  readonly mayHaveRun?: boolean;
  /** The vendor was shown a payment for the call, which is not paid again: nothing else is tried. */
  readonly wasPaid?: boolean;
  /** The fault was our key's, and the vendor has another of ours that is fit: the same route may go again at once. */
  readonly spareKey?: boolean;
  /** What broke in the gateway itself, for its log. */
  readonly cause?: unknown;
  /** A whole answer that says nothing: the caller gets it where no other route has a better one, and pays for the vendor's work. */
  readonly answer?: FinalPart;
}

/** A whole answer that says nothing. Its vendor has done its work. */
export interface EmptyAnswer {
  readonly served: Candidate;
  readonly reading: Reading;
  readonly final: FinalPart;
}

/** One vendor's part in a call: one attempt of one candidate. Trace, hops, metrics and the posting's legs are read from it. */
export interface ToldCost {
  readonly action: string | null;
  readonly ok: boolean;
  readonly nano: Nano;
}

export interface Leg {
  /** The adapter's id. */
  readonly provider: string;
  /** The model or `service/action` that was asked for there. */
  readonly model: string;
  readonly status: number;
  /** Why it did not answer; null where it did. */
  readonly failure: FailureKind | null;
  /** What the vendor said where only the operator can mend it, without our key. Never shown to callers. */
  readonly refusal?: string;
  /** When it began, as an epoch in milliseconds; legs that earlier releases kept do not say. */
  readonly startedAtMs?: number;
  readonly ms: number;
  readonly firstTokenMs: number | null;
  /** What the vendor takes from us for it, known or estimated. Filled in when the call has ended, whatever it came to. */
  upstreamNano: Nano;
  /** What it cost the caller, of a model that acts: a round of it (action null), or an action as the answer tells it. */
  told?: ToldCost;
  /** Work of our own that asks others for something: no vendor takes anything for it. */
  readonly own?: true;
  /** What such work counts as its cost; absent: what a fetch counts. */
  readonly ownNano?: Nano;
}

/** What an attempt tells the relay. `done` or `failed` is said exactly once and is the last word. */
export interface AnswerSink {
  /** Bytes ready for the client, bearing content; the first call commits. Held-back preamble comes with it. */
  content(bytes: Uint8Array): void;
  /** The answer is whole. `final` is what the plan's frame finishes: held-back bytes, or a whole body. */
  done(final: FinalPart): void;
  failed(failure: AttemptFailure): void;
}

/** What an answer ends with: the last bytes of a stream that were held back, or a unary answer. Of an action, `body` is `{json}`: its text. */
export type FinalPart =
  | { readonly kind: "stream"; readonly tail: Uint8Array }
  | { readonly kind: "body"; readonly body: Record<string, unknown> };

/** A running attempt. After `abort` the sink hears nothing more. */
export interface Attempt {
  pause(): void;
  resume(): void;
  abort(): void;
  reading(): Reading;
  /** The vendor has the whole request and has not refused it: from here on it may charge us. */
  accepted(): boolean;
  /** Of a function of ours that makes calls itself: their legs, once the last of those calls has ended. */
  innerLegs?(): Promise<readonly Leg[]>;
}

/** An attempt at its end that may have cost us something: what it came to, and the leg that its cost is written to. */
export interface Taken {
  readonly leg: Leg;
  readonly candidate: Candidate;
  readonly reading: Reading;
  /** Whether its answer came to its end. */
  readonly ended: "whole" | "left";
  /** The vendor had the request and had not refused it. */
  readonly accepted: boolean;
  readonly inner: Promise<readonly Leg[]> | null;
}

/** One vendor's way to serve a plan: a model at a provider, an action at a vendor, or a function of ours. */
export interface Candidate {
  /** The adapter's id. */
  readonly provider: string;
  /** What is sold: the served slug, or `service/action`. */
  readonly model: string;
  /** Shared by all requests that this candidate's health is kept for. */
  readonly healthKey: string;
  /** How long to wait for content while another route remains, and when none does. */
  readonly firstTokenMsMax: number;
  readonly lastFirstTokenMsMax: number;
  /** How long to read on after the caller has left in mid-answer, to learn what the unseen part of it cost; 0: not at all. */
  readonly readOnMsMax: number;
  /** Whether a failure of `kind` of an earlier candidate makes this one pointless (a smaller context window, say). */
  pointlessAfter(failed: Candidate, kind: FailureKind): boolean;
  /** Starts an attempt that gives up unless content comes within `firstTokenMsMax`. No content and no end come before it has returned. */
  open(sink: AnswerSink, firstTokenMsMax: number): Attempt;
}

/** A route that is being tried. */
export interface RouteAttempt {
  pause(): void;
  resume(): void;
  /** Stops what runs, and says why in the legs. The sink hears nothing more. */
  abort(why: FailureKind): void;
  reading(): Reading;
  accepted(): boolean;
  /** The candidate that answers, answered, or was tried last. */
  served(): Candidate;
}

/**
 * A way to an answer. Candidates, their repeats, orders of preference and races are all routes, so that a tier, a scraping ladder and
 * a race of two indexes are values.
 */
export interface Route {
  /** Starts it. Nothing comes after it where `isLast`, so it may take longer and try harder. */
  open(sink: AnswerSink, tries: Tries, isLast: boolean): RouteAttempt;
  /** Whether it need not be tried after the failure of a candidate. */
  pointlessAfter(failed: Candidate, kind: FailureKind): boolean;
  /** Whether this candidate is one of its own. */
  has(candidate: Candidate): boolean;
  /** Whose health decides on its place in an order; null: it keeps its place. */
  readonly candidate: Candidate | null;
}

/** How fast an attempt was that answered. */
export interface AttemptFigures {
  /** Until its end. */
  readonly ms: number;
  /** Until its first content; null where the answer came whole. */
  readonly firstTokenMs: number | null;
  /** As the vendor counted them; 0 where it did not. */
  readonly outputTokens: number;
}

/** What the kernel needs to know of the candidates' health. */
export interface Health {
  /** Those that are well in order of preference, and behind them those that rest: none is ever left out. */
  order<T extends { readonly candidate: Candidate | null }>(routes: readonly T[]): readonly T[];
  trying(candidate: Candidate): void;
  good(candidate: Candidate, told?: AttemptFigures): void;
  bad(candidate: Candidate, failure: AttemptFailure): void;
  /** The attempt ended for a reason of the caller's: it says nothing about the candidate. */
  unknown(candidate: Candidate): void;
}

/** What all attempts of one call share. */
export interface Tries {
  readonly clock: Clock;
  readonly health: Health;
  readonly effect: "read" | "write";
  /** On `clock.elapsedMs()`. */
  readonly deadlineMs: number;
  /** When the first content went out; null before. From then on no other candidate can take over. */
  committedMs: number | null;
  attemptsLeft: number;
  readonly legs: Leg[];
  /** In the order they came, each with its leg. */
  readonly failures: AttemptFailure[];
  /** The candidate that failed last. */
  failed: Candidate | null;
  skippedEvents: number;
  /** Every attempt that has ended, in the order of their legs. */
  readonly taken: Taken[];
  /** What there is to answer with where nothing better comes; null: nothing. */
  empty: EmptyAnswer | null;
}
