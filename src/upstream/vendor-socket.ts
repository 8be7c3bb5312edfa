// A WebSocket to a vendor that stays open: passes messages both ways, and reports once why it ended.
import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import type { UnitOffer } from "../catalog/catalog.ts";
import type { Clock } from "../core/clock.ts";
import type { AttemptFailure } from "../core/route.ts";
import { AnswerBody } from "./answer-body.ts";
import { classify, retryAfterMs } from "./classify.ts";
import { Exchange, type ExchangeListener, type ExchangeRequest } from "./exchange.ts";
import { readError } from "./format-kit/error-body.ts";
import type { CutOutcome } from "./message-bytes.ts";
import type { ModelCandidateParts } from "./model-candidate.ts";
import { handshake, SocketReader, textFrame } from "./socket-frames.ts";
import { UNIT_DIALECTS } from "./unit-dialects.ts";
import { failureOfKind, readableFailure, VendorFailure } from "./vendor-failure.ts";
import { exchangeRequest } from "./vendor-request.ts";

export interface VendorSocketOrder {
  readonly requestId: string;
  /** The time limit until the first message, and between two messages. */
  readonly firstMsMax: number;
  readonly silentMsMax: number;
  /** `bytes` are valid only during the call. */
  message(bytes: Buffer): void;
  /** Called once, unless we close it: the vendor refused, or the connection ended. */
  ended(failure: AttemptFailure): void;
}

export class VendorSocket implements ExchangeListener {
  readonly #order: VendorSocketOrder;
  readonly #onFailure: (failure: AttemptFailure) => AttemptFailure;
  readonly #clock: Clock;
  readonly #exchange: Exchange;
  readonly #handshake = handshake();
  #reader: SocketReader | null = null;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #refusal: AnswerBody | null = null;
  #over = false;

  constructor(order: VendorSocketOrder, clock: Clock, onFailure: (failure: AttemptFailure) => AttemptFailure) {
    this.#order = order;
    this.#clock = clock;
    this.#onFailure = onFailure;
    const clocks = { firstMsMax: order.firstMsMax, gapMsMax: () => order.silentMsMax, quiet: () => false };
    this.#exchange = new Exchange(this, clocks, clock);
  }

  start(dispatcher: Dispatcher, asked: ExchangeRequest | Promise<ExchangeRequest>): void {
    Promise.resolve(asked).then(
      (request) => {
        if (this.#over) return;
        const headers = { ...request.headers, ...this.#handshake.headers };
        this.#exchange.send(dispatcher, { ...request, method: "GET", body: null, headers, upgrade: "websocket" });
      },
      (error: unknown) =>
        this.failed(error instanceof VendorFailure ? error.failure : failureOfKind("gateway_internal", String(error))),
    );
  }

  send(message: Uint8Array | string): void {
    this.#exchange.write(textFrame(typeof message === "string" ? Buffer.from(message) : message));
  }

  /** What was sent and has not left yet. */
  get unsentBytes(): number {
    return this.#exchange.unsentBytes;
  }

  pause(): void {
    this.#exchange.pause();
  }

  resume(): void {
    this.#exchange.resume();
  }

  close(): void {
    this.#over = true;
    this.#exchange.abort();
  }

  head(status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
    if (status !== 101) this.#refusal = new AnswerBody(headers);
    else if (headers["sec-websocket-accept"] !== this.#handshake.accept)
      this.failed(failureOfKind("provider_malformed", "no web socket was opened"));
    else
      this.#reader = new SocketReader(
        (bytes) => this.#heard(bytes),
        (bytes) => this.#exchange.write(bytes),
      );
  }

  data(chunk: Buffer): void {
    if (this.#reader === null) this.#refusal?.push(chunk);
    else this.#cut(this.#reader.push(chunk));
  }

  end(): void {
    if (this.#refusal === null) return this.failed(failureOfKind("provider_cut", "the vendor closed the session"));
    const after = retryAfterMs(this.#headers, this.#clock.epochMs());
    this.failed(classify(this.#status, readError(this.#refusal.read().json), after));
  }

  failed(failure: AttemptFailure): void {
    if (this.#over) return;
    this.close();
    this.#order.ended(this.#onFailure(failure));
  }

  #heard(bytes: Buffer): boolean {
    this.#exchange.answering();
    this.#order.message(bytes);
    return !this.#over;
  }

  #cut(outcome: CutOutcome): void {
    if (outcome === "broken") this.failed(failureOfKind("provider_malformed", "the session's frames are broken"));
    else if (outcome === "over") this.failed(failureOfKind("provider_cut", "the vendor closed the session"));
  }
}

/** Opens a session of a model with one of our keys. Nothing is reported before this returns. */
export function openVendorSocket(offer: UnitOffer, order: VendorSocketOrder, parts: ModelCandidateParts): VendorSocket {
  const { adapter, upstreamModel, spec } = offer;
  const { dispatcher, clock, vendorOf, restKey, loginOf } = parts;
  const vendor = vendorOf(adapter);
  const key = vendor.ring.take();
  const asked = { task: "realtime", body: {}, files: [], stream: false };
  const context = { upstreamModel, spec, servedSlug: "", completionId: "", createdS: 0 };
  const request = UNIT_DIALECTS[spec.dialect].request(asked, context);
  const socket = new VendorSocket(order, clock, (failure) => restKey(adapter, key, readableFailure(failure, key)));
  const { "content-type": _, ...headers } = vendor.headers;
  const made = exchangeRequest({ ...vendor, headers }, request, { adapter, requestId: order.requestId });
  socket.start(dispatcher, loginOf(adapter, key).authorize(made));
  return socket;
}
