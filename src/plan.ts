// The vocabulary of a paid request: who pays, what it can cost, what can serve it, what came of it. Types and nothing else.
import type { Clock } from "./clock.ts";
import type { ErrorCode, GatewayError } from "./errors.ts";
import type { FailureKind } from "./failures.ts";
import type { Nano } from "./money.ts";

/** A request as it came, free of any transport. Headers are lower-case; only those the edge reads are kept. */
export interface GatewayRequest {
  readonly id: string;
  readonly method: string;
  /** The path without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** What the `{name}` parts of the endpoint's path stood for. */
  readonly params: Readonly<Record<string, string>>;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  /** The body of a request to an endpoint that streams, instead of `body`; absent where none was sent. */
  readonly incoming?: IncomingBody;
  /** The client's address, as far as TRUST_PROXY lets us know it. */
  readonly address: string;
  /** `clock.elapsedMs()` when the request's head arrived. */
  readonly startedMs: number;
}

/**
 * A request body as it comes: its sender is held back until what came has been taken. Single-use iterator; throws a
 * GatewayError if the sender disconnects or stalls. A part is good until the next is asked for; then its memory is used again.
 */
export interface IncomingBody extends AsyncIterable<Uint8Array> {
  /** How many have come so far. */
  readonly bytes: number;
}

/** Where an answer goes: a uWebSockets response, or memory. Nothing is written twice, nothing after the end. */
export interface Reply {
  /** The client left, or the answer has ended: nothing more can be written. */
  readonly closed: boolean;
  /** Calls `listener` once if the client leaves before the end. */
  onGone(listener: () => void): void;
  /** Adds a header to whatever head is written later. */
  header(name: string, value: string): void;
  /** Writes the head of a streamed answer; of one whose length is known, exactly so many bytes must follow. */
  begin(status: number, bytesTotal?: number): void;
  /** Writes bytes of a begun answer. False: the client is slow; write no more until `onRoom` calls. */
  write(bytes: Uint8Array | string): boolean;
  onRoom(listener: () => void): void;
  /** Ends a begun answer with its last bytes. */
  end(bytes?: Uint8Array | string): void;
  /** Writes a whole answer. */
  send(status: number, body: Uint8Array | string): void;
  /** Breaks the connection, so that a half answer cannot be taken for a whole one. */
  cut(): void;
}

/** Who pays for a call: an account, or an address that paid on chain. `id` keys all that is owned. */
export interface Payer {
  readonly id: `acct:${string}` | `x402:${string}`;
  /** A sandbox account's calls take the same path with play credit and never reach a vendor. */
  readonly sandbox: boolean;
}

/** A payer with a balance here. */
export interface AccountPayer extends Payer {
  readonly id: `acct:${string}`;
  readonly accountId: string;
  readonly keyId: string;
}

/** What a credential may call; null: everything. */
export interface Allowed {
  readonly services: readonly string[] | null;
  readonly models: readonly string[] | null;
}

/** Whom a plan is made for. Who pays may be unknown until the plan has its price, because the price is what a stranger is asked for. */
export interface Audience {
  readonly sandbox: boolean;
  readonly payer: Payer | null;
  readonly allows: Allowed;
  /** The account has cost us more than it held too often: its holds are made from bytes, never from a tighter count. */
  readonly strictBounds: boolean;
}

/** An authenticated caller: the payer and what the account and its key allow. */
export interface Caller extends Audience {
  readonly payer: AccountPayer;
  readonly primary: boolean;
  readonly paused: boolean;
  readonly frozen: boolean;
  readonly requestsPerMinute: number;
  readonly inFlightMax: number;
  readonly inferenceCapNano: Nano;
}

/** A bound on calls in flight, taken and freed in the hold's own transaction. */
export interface Slot {
  readonly scope: string;
  readonly max: number;
  readonly code: ErrorCode;
}

/** The most a request may cost, and how to find a lower bound where money is short. */
export interface Quote {
  readonly nano: Nano;
  /** A costlier, tighter bound (a real token count), asked only when `nano` was refused; null where there is none. */
  readonly tighten: (() => Promise<Nano>) | null;
  /** Says in the caller's units what `free` would pay for, such as `affordable_output_tokens`. */
  affordable(free: Nano): Readonly<Record<string, number>>;
  /** The most that it can cost us, for a parent whose bound counts our cost. */
  upstreamNano(): Nano;
}

/**
 * What a plan sets aside before anything is sent. `none`: nothing, and nothing is written. `call`: the quote, until the answer has
 * been served. `kept`: the quote as the budget of work that outlives the request; settling hands the hold over to its record.
 */
export type HoldSpec = { readonly kind: "none" } | { readonly kind: "call" } | KeptHoldSpec;

export interface KeptHoldSpec {
  readonly kind: "kept";
  /** The record that goes on with it: a job or a session. It owns the hold, so that no start of a process ends it. */
  readonly owner: `job:${string}`;
  /** How long the hold lives without being renewed, in milliseconds. */
  readonly leaseMs: number;
  /** What becomes of a hold that nobody renews any more. */
  readonly onExpire: "void" | "post-accrued";
  /** The kind of work that goes on with it. */
  readonly job: string;
  /** What that needs to begin, as JSON can write it. */
  readonly start: unknown;
  readonly sandboxFault: string | null;
}

/** Token counts in disjoint buckets; reasoning is a part of output. */
export interface TokenUsage {
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

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
  /** What the caller is to be told, where a function of ours has already said it. */
  readonly told?: GatewayError;
  /** The vendor's body, for a caller who is at fault; bounded. */
  readonly vendorBody?: unknown;
  /** Whether the vendor may have begun to act on the request; of a write, nobody can then say whether it happened. */
  readonly mayHaveRun?: boolean;
  /** The fault was our key's, and the vendor has another of ours that is fit: the same route may go again at once. */
  readonly spareKey?: boolean;
  /** What broke in the gateway itself, for its log. */
  readonly cause?: unknown;
}

/** One vendor's part in a call: one attempt of one candidate. Trace, hops, metrics and the posting's legs are read from it. */
export interface Leg {
  /** The adapter's id. */
  readonly provider: string;
  /** The model or `service/action` that was asked for there. */
  readonly model: string;
  readonly status: number;
  /** Why it did not answer; null where it did. */
  readonly failure: FailureKind | null;
  readonly ms: number;
  readonly firstTokenMs: number | null;
  /** What the vendor takes from us for it, known or estimated; of the one that served it is filled in when the cost is counted. */
  upstreamNano: Nano;
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
  /** Of a function of ours that makes calls itself: their legs so far. */
  innerLegs?(): readonly Leg[];
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
  /** Whose health decides on its place in an order; null: it keeps its place. */
  readonly candidate: Candidate | null;
}

/** What the kernel needs to know of the candidates' health. */
export interface Health {
  /** Those that are well in order of preference, and behind them those that rest: none is ever left out. */
  order<T extends { readonly candidate: Candidate | null }>(routes: readonly T[]): readonly T[];
  trying(candidate: Candidate): void;
  good(candidate: Candidate): void;
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
  /** What an attempt that did not serve may have cost us. */
  upstreamNano(candidate: Candidate, attempt: Attempt): Nano;
}

/** What a call did cost: the caller, and us. */
export interface Cost {
  readonly chargeNano: Nano;
  readonly upstreamNano: Nano;
  /** What was counted, for the posting and the answer. */
  readonly usage: TokenUsage | null;
  /** No usage came and we counted ourselves. */
  readonly estimated: boolean;
  /** Which price was applied, for the posting. */
  readonly priceVersion: string;
}

/** What the ledger took for a call. */
export interface Charge {
  /** Null where the call was free: nothing was written. */
  readonly transactionId: string | null;
  readonly chargedNano: Nano;
  readonly chargedCents: number;
  readonly absorbedNano: Nano;
  /** Why we bear part of the cost; null where we do not. */
  readonly absorbReason: string | null;
  /** What the payer has left after it; null where that is not known. */
  readonly balanceNano: Nano | null;
}

/** How answers look on the wire. Bytes only; the pipeline decides when. */
export interface Frame {
  /** Headers of a good answer; the charge is known where the answer is sent whole. */
  head(reply: Reply, served: Candidate, legs: readonly Leg[], charge: Charge | null): void;
  /** The last bytes of a stream, or the whole of a unary answer; sent after the ledger's commit. */
  last(final: FinalPart, cost: Cost, charge: Charge, legs: readonly Leg[]): Uint8Array | string;
  /** The last bytes of a stream that broke after it had begun; null: the connection is cut, because no bytes could tell. */
  broken(error: GatewayError, legs: readonly Leg[]): Uint8Array | string | null;
  /** What shows a waiting client that we are alive, and the headers of an answer that begins with it; null: nothing can. */
  readonly keepAlive: { readonly text: string; headers(reply: Reply): void } | null;
}

/** A call, ready for the kernel. What varies between endpoints, vendors and models is data here. */
export interface Plan {
  /** The metric label of what was asked: `chat`, `embeddings`, `run`. */
  readonly operation: string;
  /** What was asked for, as the caller named it. */
  readonly asked: string;
  readonly streamed: boolean;
  /** A write is never sent twice. */
  readonly effect: "read" | "write";
  readonly quote: Quote;
  readonly hold: HoldSpec;
  /** A paused key may ask for it. */
  readonly whilePaused: boolean;
  /** The caller's own bound on the cost; null: none. */
  readonly maxCostNano: Nano | null;
  /** Beside the account's calls in flight. */
  readonly slots: readonly Slot[];
  /** Whether the call counts toward the account's daily inference cap. */
  readonly inference: boolean;
  readonly idempotency: { readonly key: string; readonly fingerprint: string } | null;
  readonly route: Route;
  readonly wholeMsMax: number;
  readonly attemptsMax: number;
  /** The status of `upstream_error` when every route failed, and when time ran out. */
  readonly failedStatus: number;
  readonly timedOutStatus: number;
  /** A caller who leaves: stop the upstream and charge what was delivered, or let it finish and charge it all. */
  readonly whenCallerLeaves: "abort" | "finish";
  /** What the answer cost. `left`: it did not come to its end, and what was delivered is paid. */
  cost(served: Candidate, reading: Reading, ended: "whole" | "left"): Cost | Promise<Cost>;
  /** What an attempt that did not serve may have cost us, as far as it can be known at once. */
  upstreamNano(candidate: Candidate, attempt: Attempt): Nano;
  /** What must be kept before the charge, such as whose an issued id is; gives the answer as the caller gets it. Null: nothing. */
  readonly prepare: ((final: FinalPart, served: Candidate, reading: Reading) => Promise<FinalPart>) | null;
}

/** A plan, and how its answer looks where it was asked for. */
export interface FramedPlan {
  readonly plan: Plan;
  readonly frame: Frame;
  /** Milliseconds of silence before content after which the frame's keep-alive goes out; null: none does. */
  readonly keepAliveMs: number | null;
  /** Headers of every answer to it, good or bad. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What funds have set aside for a plan. */
export interface Held {
  readonly id: string;
  readonly amountNano: Nano;
}

/** The call was made before under the same Idempotency-Key, as this transaction. */
export interface Repeated {
  readonly replayOf: string;
}

/** What is taken for a call that was served. */
export interface Capture {
  readonly cost: Cost;
  readonly served: Candidate;
  readonly legs: readonly Leg[];
}

/** What a call that is not charged leaves of its Idempotency-Key. `answered`: its refusal is kept; `unknown`: a write may have happened. */
export type KeyFate = "free" | "answered" | "unknown";

/** Why nothing is taken for a call, and what it cost us all the same. */
export interface Release {
  readonly reason: string;
  readonly keyFate: KeyFate;
  readonly legs: readonly Leg[];
}

/** Where the money of a plan comes from: a ledger's balance, a parent's hold, a payment on chain. */
export interface Funds {
  /** Sets the quote aside under `id`, as a part of `parent` where there is one; or says why not. */
  reserve(plan: Plan, id: string, parent: string | null): Promise<Held | Repeated | GatewayError>;
  /** Takes the cost, at most what is held. An error: it could not be taken, so the answer is withheld. Rejects: nobody knows. */
  capture(held: Held, capture: Capture): Promise<Charge | GatewayError>;
  release(held: Held, release: Release): Promise<void>;
  /** What the payer has left; null where that is not known. */
  balance(): Promise<Nano | null>;
  /** The charge of an earlier call, for its replay; null: none is known. */
  charged(id: string): Promise<Charge | null>;
}

/** Who reads an answer while it comes. */
export interface AnswerReader {
  /** Nobody reads any more. */
  readonly closed: boolean;
  /** Calls `listener` once if the reader leaves before the end. */
  onGone(listener: () => void): void;
  onRoom(listener: () => void): void;
  /** The call has been let in and begins. */
  admitted(): void;
  /** Content of `served` follows. Called once, before the first `write`. */
  begin(served: Candidate, legs: readonly Leg[]): void;
  /** False: the reader is slow; write no more until `onRoom` calls. */
  write(bytes: Uint8Array): boolean;
}

/** How a call ended. */
export type Outcome =
  | "success"
  | "replayed"
  | "refused"
  | "failed"
  | "broken"
  | "left_before_content"
  | "left_after_content";

/** Everything that is known of a call that has ended. */
export interface Ended {
  readonly id: string;
  readonly outcome: Outcome;
  /** What the caller is told; null where there is an answer, or nobody to tell. */
  readonly error: GatewayError | null;
  /** The answer's last part, or the whole of it. */
  readonly final: FinalPart | null;
  readonly served: Candidate | null;
  /** What the one that served had said; null where nothing was served. */
  readonly reading: Reading | null;
  readonly cost: Cost | null;
  readonly charge: Charge | null;
  readonly heldNano: Nano;
  readonly legs: readonly Leg[];
  /** On `clock.elapsedMs()`; null where no content came. */
  readonly firstContentMs: number | null;
  readonly skippedEvents: number;
  /** Answer or error were kept under the Idempotency-Key of a call that ran before. */
  readonly isReplay: boolean;
}

/** What an endpoint that costs nothing answers. */
export interface Answer {
  readonly status: number;
  /** Text and bytes are sent as they are, anything else as JSON. */
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What an endpoint answers that is too long to keep: its bytes are asked for as the client takes them. */
export interface StreamAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytesTotal: number;
  /** Gone through once, if only to its first part: that closes what it holds open. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** A request that has passed the checks of the edge. */
export interface Call {
  readonly request: GatewayRequest;
  /** Null where the endpoint needs no credential. */
  readonly caller: Caller | null;
}

/** A request that wants a plan. */
export interface PlanCall {
  readonly request: GatewayRequest;
  readonly audience: Audience;
}

/** An endpoint or action that will go, announced at least 90 days before (contract, part 9). Days are `YYYY-MM-DD`, UTC. */
export interface Retirement {
  readonly announced: string;
  readonly sunset: string;
  /** The path of what replaces it. */
  readonly successor?: string;
}

export interface EndpointShape {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE" | "PUT";
  /** `/api/v1/transactions/{id}`; `{name...}` at the end takes the rest of the path. */
  readonly path: string;
  readonly auth: "none" | "key" | "admin";
  /** Asked by whoever watches, who takes a 429 for an outage and ends the process: never refused for being asked too often. */
  readonly watch?: true;
  readonly bodyBytesMax: number;
  readonly retires?: Retirement;
  /** The retirement of what a request names, where one path serves many things. */
  readonly retiresFor?: (request: GatewayRequest) => Retirement | undefined;
}

/** How a wire tells errors. */
export interface ErrorCodec {
  /** The wire's name. */
  readonly wire: string;
  /** The body of an answer that is an error. */
  body(error: GatewayError): Record<string, unknown>;
}

/** An HTTP path we serve, in the wire that its callers read. */
export type Endpoint = EndpointSpec & { readonly errors: ErrorCodec };

/** A path in no wire yet: free ones answer, of kept or of streamed bodies, paid ones make a plan. */
export type EndpointSpec = EndpointShape &
  (
    | { readonly answer: (call: Call) => Answer | GatewayError | Promise<Answer | GatewayError> }
    | { readonly stream: (call: Call) => Promise<Answer | StreamAnswer | GatewayError> }
    | { readonly plan: (call: PlanCall) => FramedPlan | GatewayError | Promise<FramedPlan | GatewayError> }
  );
