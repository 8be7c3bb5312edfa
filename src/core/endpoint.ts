// The edge's types: a request, where its answer goes, and an endpoint.
import type { GatewayError } from "./errors.ts";
import type { Nano } from "./money.ts";
import type { CallerRequest } from "./neutral.ts";
import type { AnswerReader, Audience, Caller, Charge, Cost, Ended, OpenPlan, Plan } from "./plan.ts";
import type { Candidate, FinalPart, Leg } from "./route.ts";

/** A request without its transport. Header names are lower-case; only those that the edge reads are kept. */
export interface GatewayRequest {
  readonly id: string;
  readonly method: string;
  /** The path without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The values of the `{name}` parts of the endpoint's path. */
  readonly params: Readonly<Record<string, string>>;
  readonly headers: ReadonlyMap<string, string>;
  /** Frees the headers: the answer has begun, and nothing reads them anymore. Absent: they stay. */
  dropHeaders?(): void;
  /** Dropped once the plan is made, because calls can be long and many. */
  body: Buffer;
  /** The body for an endpoint that streams or takes files, instead of `body`; absent where none was sent. */
  readonly incoming?: IncomingBody;
  /** The sender was admitted before the body was read; false where the body had arrived by then. */
  readonly isScreened?: boolean;
  /** The client's address, as far as TRUST_PROXY allows. */
  readonly address: string;
  /** `clock.elapsedMs()` when the request's head arrived. */
  readonly startedMs: number;
  /** The WebSocket's memory of earlier requests; absent over HTTP. */
  readonly memory?: SocketMemory;
}

/** The last conversation on a socket, by its answer's id, until another replaces it or the socket closes. */
export interface SocketMemory {
  /** The size of the kept text, which a message that continues the conversation reads again. */
  readonly bytes: number;
  /** Removes and returns what is kept under an id, so that a failed request cannot be continued; null where there is nothing. */
  take(id: string): string | null;
  /** Replaces what was kept. Drops text that is too long. */
  keep(id: string, text: string): void;
}

/** How an endpoint works over a WebSocket: each client message is a request body, and each event of the answer a message. */
export interface OverSocket {
  /** True for a message that only asks to be remembered: `ready` answers it, without a plan. */
  wantsNothing(message: Buffer): boolean;
  ready(call: Call): Answer | Promise<Answer>;
  /** The messages of a whole answer, such as an error. */
  whole(status: number, body: string, headers: Readonly<Record<string, string>>): readonly string[];
}

/** The key behind a credential that only sessions accept, and what the credential is restricted to. */
export interface SessionGrant {
  readonly accountId: string;
  readonly keyId: string;
  readonly model: string;
  /** The session's settings, as its creator sent them. */
  readonly session: Readonly<Record<string, unknown>>;
  /** New sessions are refused from then on; open ones continue. */
  readonly expiresAtMs: number;
}

export interface SessionClient {
  readonly caller: Caller;
  /** What opened the session in place of a key; null: a key did. */
  readonly grant: SessionGrant | null;
  send(message: Uint8Array | string): void;
  /** Sent bytes that the client has not taken yet. */
  bufferedBytes(): number;
  close(code: number, reason: string): void;
  /** Runs a plan as a separate call that the caller pays for. Never rejects. */
  pay(plan: Plan, reader: AnswerReader): Promise<Ended>;
}

/** A session over a WebSocket: both sides send messages at any time. */
export interface Session {
  message(bytes: Buffer): void;
  /** The client has taken everything that was sent. */
  drained(): void;
  /** The listener is shutting down: finish what is running, then close. */
  leave(): void;
  /** The connection has closed. */
  gone(): void;
}

export interface OverSession {
  /** The subprotocol that is selected if the client offers it. */
  readonly protocol: string;
  /** The prefix of an offered subprotocol that carries the key: browsers cannot set headers. */
  readonly keyProtocol: string;
  /** The key behind a credential that only sessions accept; null: it may be an ordinary key. */
  grantOf(credential: string): Promise<SessionGrant | GatewayError> | GatewayError | null;
  /** Throws where the caller may not open this session. */
  check(request: GatewayRequest, caller: Caller, grant: SessionGrant | null): void;
  /** Throws like `check`. */
  open(request: GatewayRequest, client: SessionClient): Session;
  errorMessage(error: GatewayError): string;
}

/** A body as a stream with backpressure, for one reader. Throws if the sender leaves or stalls. Each part lives until the next. */
export interface IncomingBody extends AsyncIterable<Uint8Array> {
  readonly bytes: number;
}

/** Where an answer goes: an HTTP response, or memory. Nothing is written twice, or after the end. */
export interface Reply {
  /** The client left, or the answer ended: nothing more can be written. */
  readonly closed: boolean;
  /** Calls `listener` once if the client leaves before the end. */
  onGone(listener: () => void): void;
  /** Names the owner to whom the answer's memory counts while its client does not read. */
  belongTo(owner: string): void;
  /** Adds a header to the head, whenever that is written. */
  header(name: string, value: string): void;
  /** Writes the head of a streamed answer. With `bytesTotal`, exactly that many bytes must follow. */
  begin(status: number, bytesTotal?: number): void;
  /** Writes bytes of a started answer. False: the client is slow; write no more until `onRoom` calls. */
  write(bytes: Uint8Array | string): boolean;
  onRoom(listener: () => void): void;
  /** Ends a started answer with its last bytes. */
  end(bytes?: Uint8Array | string): void;
  send(status: number, body: Uint8Array | string): void;
  /** Breaks the connection, so that a partial answer cannot look complete. */
  cut(): void;
}

/** Formats answers as bytes; the pipeline decides when to send them. */
export interface Frame {
  /** Writes the headers of a successful answer; the charge is known where the answer is sent whole. */
  head(reply: Reply, served: Candidate, legs: readonly Leg[], charge: Charge | null): void;
  /** The last bytes of a stream, or a whole answer; sent after the ledger's commit. */
  last(final: FinalPart, cost: Cost, charge: Charge, legs: readonly Leg[]): Uint8Array | string;
  /** The last bytes of a stream that broke midway; null: cut the connection, because the format cannot express an error. */
  broken(error: GatewayError, legs: readonly Leg[]): Uint8Array | string | null;
  /** Bytes that keep a waiting client's connection alive, and the headers of an answer that starts with them; null: the format has none. */
  readonly keepAlive: { readonly text: string; headers(reply: Reply): void } | null;
}

/** An earlier answer, and what it costs now. */
export interface KeptForm {
  readonly text: string;
  readonly type: string;
  /** The slug of the model that served it. */
  readonly model: string;
  readonly createdS: number;
  readonly cost: Cost;
  readonly charge: Charge;
  readonly legs: readonly Leg[];
}

/** How a plan's answer is formatted for its caller. */
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
  /** The request to a model, as the caller's wire has read it; absent: none is, or in no wire that has turns. */
  asked?: CallerRequest | undefined;
  /** Renders an answer that was kept in another form, whole or streamed, in this call's form; null where that is impossible. */
  readonly retell?: (kept: KeptForm) => Uint8Array | string | null;
}

export interface FramedPlan extends Framing {
  readonly plan: Plan;
}

export interface FramedOpenPlan extends Framing {
  readonly plan: Plan | OpenPlan;
}

export interface Answer {
  readonly status: number;
  /** Text and bytes are sent as they are, anything else as JSON. */
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Each is a `set-cookie` line. */
  readonly cookies?: readonly string[];
}

/** An answer too long to hold in memory: bytes are produced as the client reads. */
export interface StreamAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Absent where unknown, as for live events. */
  readonly bytesTotal?: number;
  /** Iterated once, if only to its first part: that closes what it holds open. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** A request that passed the checks of the edge. */
export interface Call {
  readonly request: GatewayRequest;
  /** Null where the endpoint needs no credential and none was valid. */
  readonly caller: Caller | null;
}

/** A call whose answer may take long. */
export interface StreamCall extends Call {
  /** Aborted when the client leaves. */
  readonly gone: AbortSignal;
  /** Why the credential was refused, where the endpoint needs none; null or absent: it was not refused, or none was sent. */
  readonly notAdmitted?: GatewayError | null;
}

/** A request that needs a plan. */
export interface PlanCall {
  readonly request: GatewayRequest;
  readonly audience: Audience;
}

/** An endpoint or action that ends, announced at least 90 days before (contract, part 9). Days are `YYYY-MM-DD`, UTC. */
export interface Retirement {
  readonly announced: string;
  readonly sunset: string;
  /** The path of its replacement. */
  readonly successor?: string;
}

export interface EndpointShape {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE" | "PUT";
  /** Such as `/api/v1/transactions/{id}`; `{name...}` at the end matches the rest of the path. */
  readonly path: string;
  /** Another path with exactly the same behavior, counted together. */
  readonly alias?: string;
  readonly auth: "none" | "key" | "admin";
  /** Requested by probes, which take a 429 for an outage and kill the process, so it is never rate limited. */
  readonly watch?: true;
  readonly bodyBytesMax: number;
  /** Browser cookies are read, and a signed-in person counts as a caller. */
  readonly cookies?: true;
  /** The body may be an HTML form. */
  readonly form?: true;
  /** Free, but long bodies are read only for accounts with credit. */
  readonly longWithCredit?: true;
  /** The body contains files: it is passed on as it arrives, although a plan answers it. */
  readonly upload?: true;
  /** Answers may be cached, where the caller asks for that. */
  readonly cached?: true;
  /** The body is read whole, although the answer is streamed. */
  readonly bodyWhole?: true;
  /** Also served over a WebSocket; absent: it is not. */
  readonly overSocket?: OverSocket;
  /** Opens sessions over a WebSocket; absent: it does not. */
  readonly overSession?: OverSession;
  readonly retires?: Retirement;
  /** The retirement of the thing that a request names, where one path serves many. */
  readonly retiresFor?: (request: GatewayRequest) => Retirement | undefined;
}

export interface ErrorCodec {
  readonly wire: string;
  /** Errors include the payer's balance, where known; it is read from the ledger. */
  readonly tellsBalance?: true;
  /** The header in which its clients look for the request id, beside `x-request-id`. */
  readonly requestIdHeader?: string;
  body(error: GatewayError, balance?: Nano | null, requestId?: string): Record<string, unknown>;
}

/** A path that we serve, in its callers' wire. */
export type Endpoint = EndpointSpec & { readonly errors: ErrorCodec };

/** A path without its wire. Free endpoints answer from whole or streamed bodies; paid ones make a plan. All throw their refusals. */
export type EndpointSpec = EndpointShape &
  (
    | { readonly answer: (call: Call) => Answer | Promise<Answer> }
    | { readonly stream: (call: StreamCall) => Promise<Answer | StreamAnswer> }
    | { readonly plan: (call: PlanCall) => FramedOpenPlan | Promise<FramedOpenPlan> }
  );
