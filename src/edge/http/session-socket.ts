// A caller's WebSocket that is a session: its messages go to the endpoint's session, and what the session runs is paid for call by call.
import type { GatewayRequest, OverSession, Session, SessionClient } from "../../core/endpoint.ts";
import { GatewayError, refusalIn } from "../../core/errors.ts";
import type { AnswerReader, Ended, Plan } from "../../core/plan.ts";
import { copyOf, type EdgeSocket, type EngineSocket, SESSION_MESSAGE_BYTES_MAX } from "./engine.ts";
import type { SlowClient } from "./slow-clients.ts";
import type { ListedSocket, SessionOwner, SocketOwner, SocketParts } from "./socket.ts";

/** Close codes of RFC 6455, 7.4.1. */
const NOT_TEXT = 1003;
const POLICY = 1008;
/** A client with more unread bytes must read some before its deadline. */
const UNREAD_BYTES_MAX = 64 * 1024;
const NO_BODY = Buffer.alloc(0);
const BINARY = new GatewayError("bad_request", { detail: "Messages are text." });

export class SessionSocket implements EdgeSocket, ListedSocket, SlowClient {
  readonly messageBytesMax = SESSION_MESSAGE_BYTES_MAX;
  accountId: string | null = null;
  /** Until then a client that reads nothing may keep us waiting. */
  deadlineMs = Number.POSITIVE_INFINITY;
  readonly #parts: SocketParts<OverSession>;
  #ws: EngineSocket | null = null;
  #owner: SocketOwner | null = null;
  #session: Session | null = null;
  /** Messages that arrived before the key was found. */
  #early: Buffer[] = [];
  #earlyBytes = 0;
  #closing = false;
  #unwatch = () => {};

  constructor(parts: SocketParts<OverSession>) {
    this.#parts = parts;
  }

  protocolOf(offered: string): string {
    const { protocol } = this.#parts.form;
    return offered.split(",").some((one) => one.trim() === protocol) ? protocol : "";
  }

  opened(ws: EngineSocket): void {
    this.#ws = ws;
    this.#parts.host.slowClients.watch(this);
    this.#begin();
  }

  admitted(owner: SocketOwner): void {
    this.accountId = owner.accountId;
    this.#owner = owner;
    this.#begin();
  }

  refuse(error: GatewayError): void {
    // The engine may still be opening the socket.
    setImmediate(() => {
      this.#send(this.#parts.form.errorMessage(error));
      this.#close(POLICY, error.code);
    });
  }

  message(bytes: ArrayBuffer | Uint8Array, isBinary: boolean): void {
    if (this.#closing) return;
    if (isBinary) {
      this.#send(this.#parts.form.errorMessage(BINARY));
      return this.#close(NOT_TEXT, "messages are text");
    }
    if (this.#session !== null) return this.#session.message(viewOf(bytes));
    this.#earlyBytes += bytes.byteLength;
    if (this.#earlyBytes > SESSION_MESSAGE_BYTES_MAX) return this.#close(POLICY, "too many messages wait");
    this.#early.push(copyOf(bytes));
  }

  drained(): void {
    this.deadlineMs = Number.POSITIVE_INFINITY;
    this.#session?.drained();
  }

  leave(): void {
    if (this.#session === null) this.#close(1001, "the gateway is restarting: connect again");
    else this.#session.leave();
  }

  gone(): void {
    this.#ws = null;
    this.#closing = true;
    this.#unwatch();
    const { host } = this.#parts;
    host.slowClients.forget(this);
    host.closed(this);
    this.#session?.gone();
  }

  keepOpen(): void {}

  expired(): void {
    // Closing inside uWebSockets' parser would free memory that it still uses.
    setImmediate(() => this.#ws?.close());
  }

  #begin(): void {
    const { form, opening, endpoint, host } = this.#parts;
    const { session: owner, watch } = this.#owner ?? {};
    if (this.#ws === null || owner === undefined || this.#session !== null || this.#closing) return;
    const { id, headers, query, params, address } = opening;
    const { method, path } = endpoint;
    const startedMs = host.clock.elapsedMs();
    const request: GatewayRequest = { id, method, path, query, params, headers, address, body: NO_BODY, startedMs };
    let session: Session;
    try {
      session = form.open(request, this.#clientOf(owner));
    } catch (error) {
      return this.refuse(refusalIn(error));
    }
    this.#session = session;
    const unwatch = watch?.(() => {
      this.#send(form.errorMessage(new GatewayError("invalid_token", { detail: "The key is no longer valid." })));
      this.#close(POLICY, "the key is not good any more");
    });
    this.#unwatch = unwatch ?? this.#unwatch;
    for (const message of this.#early.splice(0)) session.message(message);
    if (host.draining) session.leave();
  }

  #clientOf(owner: SessionOwner): SessionClient {
    return {
      caller: owner.caller,
      grant: owner.grant,
      send: (message) => this.#send(message),
      bufferedBytes: () => this.#ws?.getBufferedAmount() ?? 0,
      close: (code, reason) => this.#close(code, reason),
      pay: (plan, reader) => this.#pay(owner, plan, reader),
    };
  }

  /** A running plan counts as an open request, so that a shutdown waits for its charge. */
  async #pay(owner: SessionOwner, plan: Plan, reader: AnswerReader): Promise<Ended> {
    const { host } = this.#parts;
    host.begun();
    try {
      return await owner.pay(host.newId(), plan, reader);
    } finally {
      host.finished();
    }
  }

  #send(message: Uint8Array | string): void {
    const { host } = this.#parts;
    if (this.#ws === null || this.#closing) return;
    this.#ws.send(message, false);
    if (this.#ws.getBufferedAmount() <= UNREAD_BYTES_MAX) this.deadlineMs = Number.POSITIVE_INFINITY;
    else if (this.deadlineMs === Number.POSITIVE_INFINITY) this.deadlineMs = host.clock.elapsedMs() + host.stalledMsMax;
  }

  #close(code: number, reason: string): void {
    if (this.#closing) return;
    this.#closing = true;
    // After the current message: uWebSockets must not close a socket inside its handler.
    setImmediate(() => this.#ws?.end(code, reason.slice(0, 120)));
  }
}

function viewOf(bytes: ArrayBuffer | Uint8Array): Buffer {
  return bytes instanceof ArrayBuffer
    ? Buffer.from(bytes)
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
