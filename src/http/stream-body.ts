// Hands a long request body on as it comes: its sender is held back until each part has been taken, so that little of it is ever kept.
import type { HttpResponse } from "uWebSockets.js";
import { GatewayError } from "../errors.ts";
import type { GatewayRequest, IncomingBody } from "../plan.ts";
import type { BodyLimits } from "./read-request.ts";
import type { SlowClient } from "./slow-clients.ts";

/** The least that a sender must manage on the whole, after the time that any body is given: 32 KiB a second. */
const BYTES_PER_MS_MIN = 32;

/**
 * One part at a time leaves the socket; the next is read when the last has been taken. Must be made in the route handler itself, and
 * told when the client leaves (`abandon`) and when its answer begins (`answered`): the response is not touched after either.
 */
export class StreamBody implements IncomingBody, SlowClient {
  bytes = 0;
  readonly #res: HttpResponse;
  readonly #limits: BodyLimits;
  readonly #lengthKnown: boolean;
  readonly #startedMs: number;
  #parts: Uint8Array[] = [];
  #failure: GatewayError | null = null;
  #whole = false;
  /** The response is no longer ours to touch. */
  #over = false;
  /** When we began to hold the sender back; null: we wait for it. */
  #pausedMs: number | null = null;
  /** How long we have held it back: not to be counted against it. */
  #heldBackMs = 0;
  #wake: () => void = () => {};

  constructor(res: HttpResponse, request: GatewayRequest, limits: BodyLimits) {
    this.#res = res;
    this.#limits = limits;
    this.#lengthKnown = !request.headers.has("transfer-encoding");
    this.#startedMs = request.startedMs;
    limits.slowClients.watch(this);
    res.onData((part, isLast) => this.#take(part, isLast));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    for (;;) {
      const part = this.#parts.shift();
      if (part !== undefined) yield part;
      else if (this.#failure !== null) throw this.#failure;
      else if (this.#whole) return;
      else await this.#more();
    }
  }

  get deadlineMs(): number {
    if (this.#pausedMs !== null) return Number.POSITIVE_INFINITY;
    return this.#startedMs + this.#limits.bodyMsMax + this.#heldBackMs + this.bytes / BYTES_PER_MS_MIN;
  }

  keepOpen(): void {
    // A response that is held back has no timeout, and must not be read on.
    if (this.#pausedMs !== null) return;
    this.#res.pause();
    this.#res.resume();
  }

  expired(): void {
    const seconds = Math.round((this.#limits.slowClients.nowMs() - this.#startedMs) / 1_000);
    this.#fail(new GatewayError("request_timeout", { detail: { seconds } }));
  }

  abandon(): void {
    this.#over = true;
    this.#limits.slowClients.forget(this);
    // What has come whole is worth as much without its sender.
    if (!this.#whole) this.#fail(new GatewayError("bad_request", { detail: { detail: "The body broke off." } }));
  }

  /** The answer begins: what is left of the body is read past. True: nobody knows where it ends, so the connection must. */
  answered(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#parts = [];
    this.#limits.slowClients.forget(this);
    // The last part may have come behind one that held the sender back, and its connection is good for more requests.
    if (this.#pausedMs !== null) this.#res.resume();
    return !this.#whole && (!this.#lengthKnown || this.#failure !== null);
  }

  /** uWebSockets takes `part` back when this returns, so it is copied, once. */
  #take(part: ArrayBuffer, isLast: boolean): void {
    if (this.#over || this.#failure !== null) return;
    this.bytes += part.byteLength;
    if (part.byteLength > 0) this.#parts.push(new Uint8Array(part.slice(0)));
    if (isLast) {
      this.#whole = true;
      this.#limits.slowClients.forget(this);
    } else if (this.#pausedMs === null && this.#parts.length > 0) {
      this.#pausedMs = this.#limits.slowClients.nowMs();
      this.#res.pause();
    }
    this.#wake();
  }

  #more(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    if (this.#pausedMs !== null && !this.#over) {
      this.#heldBackMs += this.#limits.slowClients.nowMs() - this.#pausedMs;
      this.#pausedMs = null;
      this.#res.resume();
    }
    return promise;
  }

  #fail(failure: GatewayError): void {
    this.#failure = failure;
    this.#parts = [];
    this.#wake();
  }
}
