// One request to an upstream over undici, with our own clocks: the only place that sends bytes out of the gateway.
import type { IncomingHttpHeaders } from "node:http";
import type { Duplex, Readable, Transform } from "node:stream";
import type { Dispatcher } from "undici";
import type { Clock } from "../core/clock.ts";
import type { AttemptFailure } from "../core/route.ts";
import { decoderOf, ENCODINGS, encodingOf } from "./decoding.ts";
import { proxyFailureIn } from "./tunnel.ts";

export interface ExchangeRequest {
  /** Default POST. */
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Bytes that are not all in memory are asked for as they are written. */
  readonly body: string | Buffer | Readable | null;
  /** The protocol that the connection is to change to; once it has, its bytes are the answer's data. */
  readonly upgrade?: "websocket";
  /**
   * Nothing in its answer says where that ends, so its connection has to: it has one of HTTP/1.1 for itself. A stream of HTTP/2 that the
   * vendor has given up (RST_STREAM with CANCEL or NO_ERROR) ends in undici as a whole one does.
   */
  readonly ownConnection?: true;
}

/** Who listens to an exchange. `end` or `failed` is the last word, and neither comes after `abort`. */
export interface ExchangeListener {
  head(status: number, headers: IncomingHttpHeaders): void;
  data(chunk: Buffer): void;
  end(): void;
  failed(failure: AttemptFailure): void;
}

/** Until `answering` is called the first bound runs from the start; after it the gap bound runs between chunks. */
export interface ExchangeClocks {
  readonly firstMsMax: number;
  gapMsMax(): number;
  /** The answer is complete: the gap bound now runs from then on, whatever still comes, and its end is no failure. */
  quiet(): boolean;
}

/** How long a body may go on after the vendor said that it was complete. */
const DRAIN_MS_MAX = 1_000;

function failure(kind: AttemptFailure["kind"], message: string): AttemptFailure {
  return { kind, status: 0, message, retryAfterMs: null };
}

/**
 * A connection that a vendor closes so soon, and without a byte of an answer, is a refusal without words: it takes nothing for it, and an
 * outage in which it does so to every caller counts as no account's cost. Later it may have worked, and a caller may be why it took so long.
 */
const CLOSED_MS_MAX = 5_000;

/** A running request. It is its own undici handler, so that a chunk costs one call. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #listener: ExchangeListener;
  readonly #clocks: ExchangeClocks;
  readonly #clock: Clock;
  #controller: Dispatcher.DispatchController | null = null;
  /** The connection itself, once it speaks another protocol. */
  #socket: Duplex | null = null;
  #timer: NodeJS.Timeout | null = null;
  /** When the timer looks whether the time is up: at the end of that time, or before. */
  #looksMs = 0;
  #over = false;
  #answering = false;
  #paused = false;
  #pausedMs = 0;
  #lastMs = 0;
  #sentMs = 0;
  #hasHead = false;
  /** Undoes the compression of the body; null: the body comes as it is. */
  #decoder: Transform | null = null;
  /** The request has been written whole to the socket, and the vendor has not closed that at once. */
  taken = false;

  constructor(listener: ExchangeListener, clocks: ExchangeClocks, clock: Clock) {
    this.#listener = listener;
    this.#clocks = clocks;
    this.#clock = clock;
    this.#arm(clocks.firstMsMax);
  }

  send(dispatcher: Dispatcher, request: ExchangeRequest): void {
    const { method = "POST", origin, path, body, upgrade } = request;
    const headers = upgrade === undefined ? { "accept-encoding": ENCODINGS, ...request.headers } : request.headers;
    const allowH2 = upgrade === undefined && request.ownConnection !== true ? undefined : false;
    const options: Dispatcher.DispatchOptions = {
      method,
      origin,
      path,
      headers,
      body,
      headersTimeout: 0,
      bodyTimeout: 0,
      ...(upgrade === undefined ? null : { upgrade }),
      ...(allowH2 === undefined ? null : { allowH2 }),
    };
    try {
      dispatcher.dispatch(options, this);
    } catch (error) {
      this.#fail(failure("gateway_internal", String(error)));
    }
  }

  /** The first content has come: from now on only the gap between chunks is bounded. */
  answering(): void {
    if (!this.#answering) this.hurry();
  }

  /** The answer is complete, or goes on after all: what can still come has the bound of that, from now on. */
  hurry(): void {
    if (this.#over) return;
    this.#answering = true;
    this.#lastMs = this.#clock.elapsedMs();
    this.#arm(this.#clocks.gapMsMax());
  }

  pause(): void {
    if (this.#over || this.#paused) return;
    this.#paused = true;
    this.#pausedMs = this.#clock.elapsedMs();
    this.#decoder?.pause();
    this.#controller?.pause();
    this.#socket?.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#lastMs += this.#clock.elapsedMs() - this.#pausedMs;
    this.#decoder?.resume();
    if (this.#decoder?.writableNeedDrain !== true) this.#controller?.resume();
    this.#socket?.resume();
  }

  /** Closes the upstream socket; the listener hears nothing more. */
  abort(): void {
    if (this.#over) return;
    this.#finish();
    this.#controller?.abort(new Error("aborted by the gateway"));
  }

  /** Says something on a connection that has changed its protocol. */
  write(bytes: Buffer): void {
    if (!this.#over) this.#socket?.write(bytes);
  }

  /** The listener has heard enough: the rest of the body is read and dropped, so that the socket can serve again. */
  release(): void {
    if (this.#over) return;
    this.#over = true;
    this.#undecoded();
    this.resume();
    // The decoder, which is gone, may have paused it as well.
    this.#controller?.resume();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#controller?.abort(new Error("the body went on after its end")), DRAIN_MS_MAX);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#over) controller.abort(new Error("aborted by the gateway"));
  }

  onRequestSent(): void {
    this.taken = true;
    this.#sentMs = this.#clock.elapsedMs();
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    // Fifteen views of the first bytes, which undici keeps for its own callers until the answer ends.
    controller.rawHeaders = null;
    this.#hasHead = true;
    if (this.#over || status < 200) return;
    const encoding = encodingOf(headers["content-encoding"]);
    // How an error is encoded matters less than its status.
    if (encoding === null && status < 300) return this.#garbled(new Error("its encoding is not understood"));
    if (encoding !== null && encoding !== "identity") this.#decoder = this.#decoding(decoderOf(encoding));
    this.#listener.head(status, headers);
  }

  #decoding(decoder: Transform): Transform {
    decoder.on("data", (piece: Buffer) => this.#listener.data(piece));
    decoder.on("drain", () => this.#paused || this.#controller?.resume());
    decoder.on("end", () => this.#ended());
    return decoder.on("error", this.#garbled);
  }

  readonly #garbled = (error: Error): void => {
    if (this.#over) return;
    this.#fail({
      ...failure("provider_malformed", `the answer cannot be decoded: ${error.message}`),
      mayHaveRun: true,
    });
    this.#controller?.abort(error);
  };

  /** Whatever is not decoded yet is not wanted any more. */
  #undecoded(): void {
    this.#decoder?.removeAllListeners("data").removeAllListeners("end").destroy();
    this.#decoder = null;
  }

  onRequestUpgrade(
    _: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void {
    this.#socket = socket;
    // One that is torn down says so by its error as well.
    socket.on("error", (error) => this.onResponseError(null, error));
    if (this.#over) return void socket.destroy();
    socket.on("data", (chunk: Buffer) => this.onResponseData(null, chunk));
    socket.on("close", () => this.onResponseEnd());
    this.#listener.head(status, headers);
  }

  onResponseData(_: Dispatcher.DispatchController | null, chunk: Buffer): void {
    if (this.#over) return;
    if (!this.#clocks.quiet()) this.#lastMs = this.#clock.elapsedMs();
    if (this.#decoder === null) this.#listener.data(chunk);
    else if (!this.#decoder.write(chunk)) this.#controller?.pause();
  }

  onResponseEnd(): void {
    if (this.#decoder === null) this.#ended();
    else this.#decoder.end();
  }

  #ended(): void {
    if (this.#over) return this.#finish();
    this.#finish();
    this.#listener.end();
  }

  onResponseError(_: Dispatcher.DispatchController | null, error: Error): void {
    // Without a controller no socket ever took the request up: not a byte of it has been sent.
    const mayHaveRun = this.#controller !== null;
    const isAtOnce = !this.#hasHead && this.#clock.elapsedMs() - this.#sentMs < CLOSED_MS_MAX;
    if (isAtOnce && !this.#over) this.taken = false;
    const kind = proxyFailureIn(error) === null ? "provider_connection_failed" : "gateway_proxy_failed";
    this.#fail({ ...failure(kind, error.message), mayHaveRun });
  }

  #fail(reason: AttemptFailure): void {
    if (this.#over) return this.#finish();
    this.#finish();
    this.#listener.failed(reason);
  }

  #finish(): void {
    this.#over = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#undecoded();
    this.#socket?.destroy();
  }

  /** A timer that looks earlier stays, and sleeps on when it has looked: nearly every answer is there by then. */
  #arm(ms: number): void {
    const looksMs = this.#clock.elapsedMs() + ms;
    if (this.#timer !== null && this.#looksMs <= looksMs) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#looksMs = looksMs;
    this.#timer = setTimeout(this.#look, ms);
  }

  /** What is left of the time that runs; nothing where it is up. */
  #leftMs(): number {
    if (!this.#answering) return 0;
    const silentMs = this.#paused ? 0 : this.#clock.elapsedMs() - this.#lastMs;
    return this.#clocks.gapMsMax() - silentMs;
  }

  /**
   * One timer serves the whole stream: it looks when the last chunk came and sleeps for what is left. Where the time is up, what waits
   * in the socket is read first: a machine that was busy for so long comes to its timers before it comes to what has arrived meanwhile.
   */
  readonly #look = (): void => {
    this.#timer = null;
    const leftMs = this.#leftMs();
    if (leftMs > 1) this.#arm(leftMs);
    else setImmediate(this.#decide);
  };

  readonly #decide = (): void => {
    // Where it was set meanwhile, the vendor was heard from.
    if (this.#over || this.#timer !== null) return;
    if (!this.#answering) return this.#giveUp("no content came in time");
    const leftMs = this.#leftMs();
    if (leftMs > 1) return this.#arm(leftMs);
    if (!this.#clocks.quiet()) return this.#giveUp("the stream fell silent");
    this.#finish();
    this.#controller?.abort(new Error("the answer is complete"));
    this.#listener.end();
  };

  #giveUp(message: string): void {
    if (this.#over) return;
    this.#finish();
    this.#controller?.abort(new Error(message));
    this.#listener.failed(failure("provider_timeout", message));
  }
}
