// The vocabulary of a paid request: who pays, what it can cost, what can serve it, what came of it. Types and nothing else.
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
 * A request body as it comes: its sender is held back until what came has been taken. It can be gone through once, which throws a
 * GatewayError where the sender leaves or keeps us waiting. A part is good until the next is asked for; then its memory is used again.
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

/** Who pays for a call. `id` keys all that is owned. */
export interface Payer {
  readonly id: `acct:${string}`;
  readonly accountId: string;
  readonly keyId: string;
  /** A sandbox account's calls take the same path with play credit and never reach a vendor. */
  readonly sandbox: boolean;
}

/** An authenticated caller: the payer and what the account and its key allow. */
export interface Caller {
  readonly payer: Payer;
  readonly primary: boolean;
  readonly paused: boolean;
  readonly frozen: boolean;
  readonly requestsPerMinute: number;
  readonly inFlightMax: number;
  readonly inferenceCapNano: Nano;
  /** The account has cost us more than it held too often: its holds are made from bytes, never from a tighter count. */
  readonly strictBounds: boolean;
  /** What this key may call; null: everything. */
  readonly allows: { readonly services: readonly string[] | null; readonly models: readonly string[] | null };
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
}

/** One try of one route; feeds trace, metrics and the log alike. */
export interface AttemptRecord {
  readonly provider: string;
  readonly model: string;
  readonly status: number;
  readonly failure: FailureKind | null;
  readonly ms: number;
  readonly firstTokenMs: number | null;
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
}

/** A candidate that can serve a plan: a model at a provider, an action at a vendor, or a local function. */
export interface Route {
  /** The adapter's id. */
  readonly provider: string;
  /** What is sold: the served slug, or `service/action`. */
  readonly model: string;
  /** Shared by all requests that this route's health is kept for. */
  readonly healthKey: string;
  /** How long to wait for content while another route remains, and when none does. */
  readonly firstTokenMsMax: number;
  readonly lastFirstTokenMsMax: number;
  /** Whether a failure of `kind` on an earlier route makes this one pointless (a smaller context window, say). */
  pointlessAfter(failed: Route, kind: FailureKind): boolean;
  /** Starts an attempt that gives up unless content comes within `firstTokenMsMax`. */
  open(sink: AnswerSink, firstTokenMsMax: number): Attempt;
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
  /** What the account has left after it; null where it was not asked. */
  readonly balanceNano: Nano | null;
}

/** How answers look on the wire. Bytes only; the pipeline decides when. */
export interface Frame {
  /** Headers of a good answer; the charge is known where the answer is sent whole. */
  head(reply: Reply, served: Route, attempts: readonly AttemptRecord[], charge: Charge | null): void;
  /** The last bytes of a stream, or the whole of a unary answer; sent after the ledger's commit. */
  last(final: FinalPart, cost: Cost, charge: Charge, attempts: readonly AttemptRecord[]): Uint8Array | string;
  /** The last bytes of a stream that broke after it had begun; null: the connection is cut, because no bytes could tell. */
  broken(error: GatewayError, attempts: readonly AttemptRecord[]): Uint8Array | string | null;
  /** What shows a waiting client that we are alive, and the headers of an answer that begins with it; null: nothing can. */
  readonly keepAlive: { readonly text: string; headers(reply: Reply): void } | null;
}

/** A paid request, ready for the pipeline. What varies between endpoints, vendors and models is data here. */
export interface Plan {
  /** The metric label of what was asked: `chat`, `embeddings`, `run`. */
  readonly operation: string;
  /** What was asked for, as the caller named it. */
  readonly asked: string;
  readonly streamed: boolean;
  /** A write is never sent twice. */
  readonly effect: "read" | "write";
  readonly quote: Quote;
  /** Costs nothing, whatever comes of it: no hold is placed, nothing is written, and a paused key may ask. */
  readonly free: boolean;
  /** The caller's own bound on the cost; null: none. */
  readonly maxCostNano: Nano | null;
  readonly slots: readonly Slot[];
  /** Whether the call counts toward the account's daily inference cap. */
  readonly inference: boolean;
  readonly idempotency: { readonly key: string; readonly fingerprint: string } | null;
  readonly routes: readonly Route[];
  readonly wholeMsMax: number;
  readonly attemptsMax: number;
  /** Milliseconds of silence before content after which the frame's keep-alive goes out; null: none does. */
  readonly keepAliveMs: number | null;
  /** The status of `upstream_error` when every route failed, and when time ran out. */
  readonly failedStatus: number;
  readonly timedOutStatus: number;
  /** A client that leaves: stop the upstream and charge what was delivered, or let it finish and charge it all. */
  readonly whenClientLeaves: "abort" | "finish";
  /** What the answer cost. `left`: the client went away in mid-answer and pays for what was delivered. */
  cost(served: Route, reading: Reading, ended: "whole" | "left"): Cost | Promise<Cost>;
  /** What must be kept before the charge, such as whose an issued id is; gives the answer as the caller gets it. Null: nothing. */
  readonly prepare: ((final: FinalPart, served: Route, reading: Reading) => Promise<FinalPart>) | null;
  readonly frame: Frame;
  /** Headers of every answer to it, good or bad. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** How a paid request ended, for its record. */
export type Outcome =
  | "success"
  | "replayed"
  | "refused"
  | "failed"
  | "broken"
  | "left_before_content"
  | "left_after_content";

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
    | {
        readonly plan: (call: Call & { readonly caller: Caller }) => Plan | GatewayError | Promise<Plan | GatewayError>;
      }
  );
