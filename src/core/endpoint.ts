// The words of the edge: a request as it came, where its answer goes, and what is served at a path. Types and nothing else.
import type { GatewayError } from "./errors.ts";
import type { Nano } from "./money.ts";
import type { CallerRequest } from "./neutral.ts";
import type { Audience, Caller, Charge, Cost, OpenPlan, Plan } from "./plan.ts";
import type { Candidate, FinalPart, Leg } from "./route.ts";

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
  /** Let go once a plan has been made of it: calls may last for long, and are many. */
  body: Buffer;
  /** The body of a request to an endpoint that streams or takes files, instead of `body`; absent where none was sent. */
  readonly incoming?: IncomingBody;
  /** Its body was read on only once its sender had been found good for it; false where it was there before that was known. */
  readonly isScreened?: boolean;
  /** The client's address, as far as TRUST_PROXY lets us know it. */
  readonly address: string;
  /** `clock.elapsedMs()` when the request's head arrived. */
  readonly startedMs: number;
  /** What its socket has kept of the requests before it; absent: it came over HTTP. */
  readonly memory?: SocketMemory;
}

/** What a socket keeps of the conversation on it: the last one, under its answer's id, until another takes its place or the socket closes. */
export interface SocketMemory {
  /** What is kept is read again with a message that goes on from it. */
  readonly bytes: number;
  /** Takes out what is kept under an id, so that a request that fails has forgotten what it went on from; null: nothing is. */
  take(id: string): string | null;
  /** In the place of what was there. What is too long is not kept. */
  keep(id: string, text: string): void;
}

/** How an endpoint is asked over a WebSocket: every message of the client's is the body of a request, and every event of the answer a message. */
export interface OverSocket {
  /** Whether a message asks for nothing but to be remembered: it is answered by `ready`, without a plan. */
  wantsNothing(message: Buffer): boolean;
  ready(call: Call): Answer | GatewayError | Promise<Answer | GatewayError>;
  /** The messages of an answer that comes whole, such as an error. */
  whole(status: number, body: string, headers: Readonly<Record<string, string>>): readonly string[];
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
  /** Says in whose name the answer's memory is counted while its client does not take it. */
  belongTo(owner: string): void;
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

/** An answer as it was given once, and what it costs now. */
export interface KeptForm {
  readonly text: string;
  readonly type: string;
  /** The slug of the model that served it. */
  readonly model: string;
  /** Seconds since the epoch. */
  readonly createdS: number;
  readonly cost: Cost;
  readonly charge: Charge;
  readonly legs: readonly Leg[];
}

/** How the answer to a plan looks where it was asked for. */
export interface Framing {
  readonly frame: Frame;
  /** Milliseconds of silence before content after which the frame's keep-alive goes out; null: none does. */
  readonly keepAliveMs: number | null;
  /** Headers of every answer to it, good or bad. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Called when the call has ended, however: what it kept for its attempts is no longer needed. */
  readonly ended?: () => void;
  /** What the output tokens that the caller asked for were lowered to for the one that served; null: they stand. Absent: nothing lowers them. */
  readonly loweredTo?: (served: Candidate) => number | null;
  /** What a model is asked, as the caller's wire has read it; absent: none is, or in no wire that has turns. */
  readonly asked?: CallerRequest;
  /** All of an answer that was kept in another form, whole or streamed, in the form of this call; null: it cannot be told so. */
  readonly retell?: (kept: KeptForm) => Uint8Array | string | null;
}

export interface FramedPlan extends Framing {
  readonly plan: Plan;
}

/** The same before it is known who pays. */
export interface FramedOpenPlan extends Framing {
  readonly plan: Plan | OpenPlan;
}

/** What an endpoint that costs nothing answers. */
export interface Answer {
  readonly status: number;
  /** Text and bytes are sent as they are, anything else as JSON. */
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Each is a `set-cookie` line. */
  readonly cookies?: readonly string[];
}

/** What an endpoint answers that is too long to keep: its bytes are asked for as the client takes them. */
export interface StreamAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Absent: it is not known, as of events that are told while they happen. */
  readonly bytesTotal?: number;
  /** Gone through once, if only to its first part: that closes what it holds open. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** A request that has passed the checks of the edge. */
export interface Call {
  readonly request: GatewayRequest;
  /** Null where the endpoint needs no credential and no good one came. */
  readonly caller: Caller | null;
}

/** One whose answer may last. */
export interface StreamCall extends Call {
  /** Aborted when the client has left. */
  readonly gone: AbortSignal;
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
  /** Another path at which the very same is served, and counted. */
  readonly alias?: string;
  readonly auth: "none" | "key" | "admin";
  /** Asked by a probe, which takes a 429 for an outage and ends the process: never refused for being asked too often. */
  readonly watch?: true;
  readonly bodyBytesMax: number;
  /** A browser's cookies are read, and a person who has signed in counts as a caller. */
  readonly cookies?: true;
  /** Its body may be that of an HTML form. */
  readonly form?: true;
  /** It is free, but a long body is read for accounts alone that have something to pay with. */
  readonly longWithCredit?: true;
  /** Its body has files in it: it is handed on as it comes, though what answers it is a plan. */
  readonly upload?: true;
  /** Its answers may be kept and told again, where its caller wants that. */
  readonly cached?: true;
  /** Its body is read whole, and counted so, though its answer is streamed. */
  readonly bodyWhole?: true;
  /** It is asked over a WebSocket too; absent: it is not. */
  readonly overSocket?: OverSocket;
  readonly retires?: Retirement;
  /** The retirement of what a request names, where one path serves many things. */
  readonly retiresFor?: (request: GatewayRequest) => Retirement | undefined;
}

/** How a wire tells errors. */
export interface ErrorCodec {
  /** The wire's name. */
  readonly wire: string;
  /** An error says what the payer has left, where that is known; it is asked of the ledger for it. */
  readonly tellsBalance?: true;
  /** Where its clients look for the request's id, beside `x-request-id`. */
  readonly requestIdHeader?: string;
  /** The body of an answer that is an error. */
  body(error: GatewayError, balance?: Nano | null, requestId?: string): Record<string, unknown>;
}

/** An HTTP path we serve, in the wire that its callers read. */
export type Endpoint = EndpointSpec & { readonly errors: ErrorCodec };

/** A path in no wire yet: free ones answer, of kept or of streamed bodies, paid ones make a plan. */
export type EndpointSpec = EndpointShape &
  (
    | { readonly answer: (call: Call) => Answer | GatewayError | Promise<Answer | GatewayError> }
    | { readonly stream: (call: StreamCall) => Promise<Answer | StreamAnswer | GatewayError> }
    | { readonly plan: (call: PlanCall) => FramedOpenPlan | GatewayError | Promise<FramedOpenPlan | GatewayError> }
  );
