// A caller's WebSocket: its messages are requests, served one after the other as if each came over HTTP.
import type { Endpoint, GatewayRequest, OverSocket, SessionGrant } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import type { AnswerReader, Caller, Ended, Plan } from "../../core/plan.ts";
import type { BodyShare } from "../../platform/limits/body-bytes.ts";
import { copyOf, type EdgeSocket, type EngineSocket, MESSAGE_BYTES_MAX } from "./engine.ts";
import type { Edge } from "./server.ts";
import type { SlowClient } from "./slow-clients.ts";
import type { OpenMemory } from "./socket-memory.ts";
import { SocketReply } from "./socket-reply.ts";

/** A client that sends nothing for this long, not even a pong, has gone. */
export const SOCKET_SILENT_SECONDS_MAX = 120;
/** Messages that may wait while one is answered: clients wait for each answer, but a few messages may cross. */
const WAITING_MAX = 4;
/** Close codes of RFC 6455, 7.4.1. */
const NORMAL = 1000;
const GOING_AWAY = 1001;
const NOT_TEXT = 1003;
const POLICY = 1008;
const NOT_GOOD = "the key is not good any more";
const NO_BODY = Buffer.alloc(0);
const MINUTE_MS = 60_000;

/** What a socket was opened with: part of every request on it. */
export interface SocketOpening {
  readonly headers: ReadonlyMap<string, string>;
  readonly query: URLSearchParams;
  readonly params: Readonly<Record<string, string>>;
  readonly address: string;
  readonly id: string;
}

/** Who a session belongs to. */
export interface SessionOwner {
  readonly caller: Caller;
  readonly grant: SessionGrant | null;
  /** Runs a plan as a separate call, with a request id. */
  pay(requestId: string, plan: Plan, reader: AnswerReader): Promise<Ended>;
}

/** A socket's account, and the watch on its key. */
export interface SocketOwner {
  readonly accountId: string;
  readonly socketsMax: number;
  /** Absent: it may only send requests. */
  readonly session?: SessionOwner;
  /** Calls `ended` repeatedly once the key is no longer valid, until the returned function is called. Absent: it stays valid. */
  watch?(ended: () => void): () => void;
}

interface Waiting {
  readonly body: Buffer;
  readonly share: BodyShare;
  /** Why it is not kept; null: it is. */
  readonly full: GatewayError | null;
}

export interface ListedSocket {
  readonly accountId: string | null;
  admitted(owner: SocketOwner): void;
  refuse(error: GatewayError): void;
  leave(): void;
}

export interface SocketParts<Form> {
  readonly host: Edge;
  readonly endpoint: Endpoint;
  readonly form: Form;
  readonly opening: SocketOpening;
}

/** Headers of a single request, wrong for the next one; headers about a body describe a message. */
const OF_ONE_REQUEST: ReadonlySet<string> = new Set([
  "idempotency-key",
  "payment-signature",
  "x-payment",
  "accept",
  "content-type",
  "content-length",
  "content-encoding",
  "transfer-encoding",
  "traceparent",
  "x-tollgate-keepalive",
]);

export class Socket implements EdgeSocket, SlowClient {
  readonly messageBytesMax = MESSAGE_BYTES_MAX;
  /** Its account; null: the look-up is in progress, and no message is a request yet. */
  accountId: string | null = null;
  readonly parts: SocketParts<OverSocket>;
  readonly #memory: OpenMemory;
  readonly #headers: ReadonlyMap<string, string>;
  readonly #openedMs: number;
  #ws: EngineSocket | null = null;
  #restsSinceMs: number;
  readonly #waiting: Waiting[] = [];
  #reply: SocketReply | null = null;
  /** No further request is accepted. */
  #leaving = false;
  #unwatch = () => {};

  constructor(parts: SocketParts<OverSocket>, memory: OpenMemory) {
    this.parts = parts;
    this.#memory = memory;
    this.#headers = new Map([...parts.opening.headers].filter(([name]) => !OF_ONE_REQUEST.has(name)));
    this.#openedMs = parts.host.clock.elapsedMs();
    this.#restsSinceMs = this.#openedMs;
  }

  opened(ws: EngineSocket): void {
    this.#ws = ws;
    this.parts.host.slowClients.watch(this);
    if (this.parts.host.draining) this.leave();
    else this.#next();
  }

  protocolOf(offered: string): string {
    return offered;
  }

  /** While an answer is being sent, its own timeouts apply. */
  get deadlineMs(): number {
    if (this.#reply !== null) return Number.POSITIVE_INFINITY;
    const { socketIdleMsMax, socketOpenMsMax } = this.parts.host;
    return Math.min(this.#restsSinceMs + socketIdleMsMax, this.#openedMs + socketOpenMsMax);
  }

  /** The engine pings. */
  keepOpen(): void {}

  expired(): void {
    if (this.#isOld()) this.#endOld();
    else this.#close(NORMAL, "nothing was asked for long");
  }

  message(bytes: ArrayBuffer | Uint8Array, isBinary: boolean): void {
    if (this.#leaving || this.#ws === null) return;
    if (isBinary) return this.#close(NOT_TEXT, "messages are text");
    const isKnown = this.accountId !== null;
    if (this.#waiting.length >= (isKnown ? WAITING_MAX : 1)) return this.#close(POLICY, "too many messages wait");
    const share = this.parts.host.bodies.open();
    const full = share.grow(bytes.byteLength);
    this.#waiting.push({ body: full === null ? copyOf(bytes) : NO_BODY, share, full });
    this.#next();
  }

  /** The sender's key is valid, until `watch` reports otherwise. Then the current answer is still completed. */
  admitted({ accountId, watch }: SocketOwner): void {
    this.accountId = accountId;
    this.#memory.belongTo(accountId);
    const unwatch = watch?.(() => {
      if (this.#reply === null) this.#close(POLICY, NOT_GOOD);
    });
    this.#unwatch = unwatch ?? this.#unwatch;
    this.#next();
  }

  /** The key is invalid, or may not open a socket now. */
  refuse(error: GatewayError): void {
    const { host, endpoint, opening } = this.parts;
    this.#leaving = true;
    this.#drop();
    const reply = this.#newReply(opening.id, () => this.#ended(POLICY, error.code));
    host.refuse(this.#request(opening.id, NO_BODY, endpoint), reply, error, endpoint);
  }

  drained(): void {
    this.#reply?.drained();
  }

  gone(): void {
    this.#ws = null;
    this.#leaving = true;
    this.#drop();
    this.#unwatch();
    const { host } = this.parts;
    host.slowClients.forget(this);
    this.#memory.close();
    host.closed(this);
    const reply = this.#reply;
    this.#reply = null;
    if (reply === null) return;
    host.finished();
    reply.left();
  }

  /** The listener is shutting down: the current answer is still completed. */
  leave(): void {
    this.#leaving = true;
    this.#drop();
    if (this.#reply === null) this.#close(GOING_AWAY, "the gateway is restarting: connect again");
  }

  /** Sends all messages from `write` at once. */
  cork(write: () => void): void {
    this.#ws?.cork(write);
  }

  sendText(message: Uint8Array | string): void {
    this.#ws?.send(message, false);
  }

  bufferedBytes(): number {
    return this.#ws?.getBufferedAmount() ?? 0;
  }

  /** Closes abruptly: the client must not take the answer for complete. */
  breakOff(): void {
    // Closing inside uWebSockets' parser would free memory that it still uses.
    setImmediate(() => this.#ws?.close());
  }

  #close(code: number, why: string): void {
    this.#leaving = true;
    this.#ws?.end(code, why);
  }

  #isOld(): boolean {
    const { host } = this.parts;
    return host.clock.elapsedMs() - this.#openedMs >= host.socketOpenMsMax;
  }

  #endOld(): void {
    const { host, form, endpoint } = this.parts;
    const minutes = Math.round(host.socketOpenMsMax / MINUTE_MS);
    const error = new GatewayError("websocket_connection_limit_reached", { detail: { minutes } });
    const body = JSON.stringify(endpoint.errors.body(error));
    for (const message of form.whole(error.status, body, {})) this.sendText(message);
    this.#close(NORMAL, "open for as long as one may be");
  }

  #drop(): void {
    for (const { share } of this.#waiting.splice(0)) share.close();
  }

  #newReply(requestId: string, done: (status: number) => void): SocketReply {
    const reply = new SocketReply(this, requestId, done);
    this.#reply = reply;
    this.parts.host.begun();
    return reply;
  }

  #request(id: string, body: Buffer, { method, path }: Endpoint): GatewayRequest {
    const { host, opening } = this.parts;
    const memory = this.#memory;
    const { query, params, address } = opening;
    const headers = this.#headers;
    return { id, method, path, query, params, headers, address, memory, body, startedMs: host.clock.elapsedMs() };
  }

  #begin({ body, share, full }: Waiting, accountId: string): void {
    const { host, form } = this.parts;
    const id = host.newId();
    const reply = this.#newReply(id, (status) => this.#done(status));
    const endpoint = form.wantsNothing(body) ? this.#ready() : this.parts.endpoint;
    const request = this.#request(id, body, endpoint);
    const noRoom = full ?? share.belongTo(accountId);
    if (noRoom === null) return this.#serve(request, endpoint, reply, share);
    share.close();
    host.refuse(request, reply, noRoom, endpoint);
  }

  #serve(request: GatewayRequest, endpoint: Endpoint, reply: SocketReply, share: BodyShare): void {
    Promise.resolve(this.parts.host.handle(request, endpoint, reply))
      .catch(() => reply.cut())
      .finally(() => share.close());
  }

  /** The endpoint for a message that requests nothing: admitted and counted like any other request. */
  #ready(): Endpoint {
    const { endpoint, form } = this.parts;
    const { method, path, auth, bodyBytesMax, errors } = endpoint;
    return { method, path, auth, bodyBytesMax, longWithCredit: true, errors, answer: (call) => form.ready(call) };
  }

  #done(status: number): void {
    // An invalid key stays invalid for the next message.
    if (status === 401) return this.#ended(POLICY, NOT_GOOD);
    const { host } = this.parts;
    this.#reply = null;
    this.#restsSinceMs = host.clock.elapsedMs();
    host.finished();
    if (this.#leaving) return this.leave();
    if (this.#isOld()) return this.#endOld();
    // Deferred: the answer that has just ended is still being recorded.
    if (this.#waiting.length > 0) setImmediate(() => this.#next());
  }

  /** The last answer has left. */
  #ended(code: number, why: string): void {
    this.#reply = null;
    this.parts.host.finished();
    this.#close(code, why);
  }

  #next(): void {
    if (this.#ws === null || this.#reply !== null || this.#leaving || this.accountId === null) return;
    const message = this.#waiting.shift();
    if (message !== undefined) this.#begin(message, this.accountId);
  }
}
