// One request to an upstream over undici, with our own timeouts: the only place that sends bytes out of the gateway.
import type { IncomingHttpHeaders } from "node:http";
import type { Duplex, Transform } from "node:stream";
import type { Dispatcher } from "undici";
import type { UnsignedRequest } from "../catalog/auth.ts";
import { ChunkList } from "../core/chunk-list.ts";
import type { Clock } from "../core/clock.ts";
import type { AttemptFailure } from "../core/route.ts";
import { decoderOf, ENCODINGS, encodingOf } from "./decoding.ts";
import { proxyFailureIn } from "./tunnel.ts";

export interface ExchangeRequest extends Omit<UnsignedRequest, "keyless"> {
  /** Default: POST. */
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  /** The encodings that the answer may have. Default: `ENCODINGS`. */
  readonly encodings?: string;
  /** The protocol to switch the connection to; after the switch, its bytes are the answer's data. */
  readonly upgrade?: "websocket";
  /**
   * The answer's framing does not mark its end, so the connection's end must: the request gets an HTTP/1.1 connection to itself. With
   * HTTP/2, undici ends a stream that the vendor reset (RST_STREAM with CANCEL or NO_ERROR) as if it were complete.
   */
  readonly ownConnection?: true;
}

/** The listener of an exchange. `end` or `failed` comes last, and neither follows `abort`. */
export interface ExchangeListener {
  head(status: number, headers: IncomingHttpHeaders): void;
  data(chunk: Buffer): void;
  end(): void;
  failed(failure: AttemptFailure): void;
}

/** Until `answering` is called, the first limit runs from the start; after it, the gap limit runs between chunks. */
export interface ExchangeClocks {
  readonly firstMsMax: number;
  gapMsMax(): number;
  /** Whether the answer is complete. If so, later data does not restart the gap timer, and its expiry is a normal end. */
  quiet(): boolean;
}

/** Larger pieces are delivered at once, because joining them would cost more than the calls it saves. */
const JOINED_BYTES_MAX = 4 * 1024;

/** How long a body may continue after the vendor marked it complete. */
const DRAIN_MS_MAX = 1_000;

function failure(kind: AttemptFailure["kind"], message: string): AttemptFailure {
  return { kind, status: 0, message, retryAfterMs: null };
}

/**
 * A connection that the vendor closes this early, without a byte of an answer, is a silent refusal: it charges nothing for it, and an
 * outage that hits all callers this way is charged to no account. After that time the vendor may have worked, and the caller may be the
 * reason it took so long.
 */
const CLOSED_MS_MAX = 5_000;

/**
 * The last read and its exchange: undici cuts a read by HTTP chunks, often one for each event, and passes them on one after the other. Kept
 * once for all exchanges, because thousands of open streams would each keep the memory of their last event.
 */
const lastRead: { memory: ArrayBufferLike | null; by: Exchange | null } = { memory: null, by: null };

/** A running request. It implements undici's handler itself, so that a chunk costs one call. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #listener: ExchangeListener;
  readonly #clocks: ExchangeClocks;
  readonly #clock: Clock;
  #controller: Dispatcher.DispatchController | null = null;
  /** The raw connection, once it has switched protocols. */
  #socket: Duplex | null = null;
  #timer: NodeJS.Timeout | null = null;
  /** When the timer fires: at the deadline, or earlier. */
  #looksMs = 0;
  /** The deadline of the first content. */
  readonly #firstUntilMs: number;
  /** The body has arrived whole, so the connection is free. */
  #isWhole = false;
  #over = false;
  #answering = false;
  #paused = false;
  #pausedMs = 0;
  #lastMs = 0;
  #sentMs = 0;
  #hasHead = false;
  /** Decompresses the body; null if it is not compressed. */
  #decoder: Transform | null = null;
  /** The first read has been joined. */
  #hasRead = false;
  /** The pieces of a read that are passed on together. */
  readonly #pieces = new ChunkList();
  /** The whole request has been written to the socket, and the vendor did not close it at once. */
  taken = false;

  constructor(listener: ExchangeListener, clocks: ExchangeClocks, clock: Clock) {
    this.#listener = listener;
    this.#clocks = clocks;
    this.#clock = clock;
    this.#firstUntilMs = clock.elapsedMs() + clocks.firstMsMax;
    // Usually both deadlines share this timer.
    this.#arm(Math.min(clocks.firstMsMax, clocks.gapMsMax()));
  }

  send(dispatcher: Pick<Dispatcher, "dispatch">, request: ExchangeRequest): void {
    const { method = "POST", origin, path, body, upgrade, encodings = ENCODINGS } = request;
    const headers = upgrade === undefined ? { "accept-encoding": encodings, ...request.headers } : request.headers;
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

  /** Call at the first content: from then on only the gap between chunks is limited. */
  answering(): void {
    if (!this.#answering) this.hurry();
  }

  /** Call when the answer is complete, or continues after all: restarts the gap timer with the limit that now applies. */
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
    this.#hasRead = false;
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

  /** Closes the upstream socket; the listener gets no further events. */
  abort(): void {
    if (this.#over) return;
    this.#finish();
    this.#controller?.abort(new Error("aborted by the gateway"));
  }

  /** Writes to a connection that has switched protocols. */
  write(bytes: Buffer): void {
    if (!this.#over) this.#socket?.write(bytes);
  }

  /** The bytes written to a switched connection that the vendor has not taken yet. */
  get unsentBytes(): number {
    return this.#socket?.writableLength ?? 0;
  }

  /** Stops listening: reads and drops the rest of the body, so that the socket can be reused. */
  release(): void {
    if (this.#over) return;
    this.#over = true;
    this.#undecoded();
    this.resume();
    // The decoder was just removed, and may have paused the body too.
    this.#controller?.resume();
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#isWhole) return;
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
    // Free some fifteen views of the first bytes, which undici would keep until the answer ends.
    controller.rawHeaders = null;
    this.#hasHead = true;
    if (this.#over || status < 200) return;
    const encoding = encodingOf(headers["content-encoding"]);
    // An error's status matters more than its encoding.
    if (encoding === null && status < 300) return this.#garbled(new Error("its encoding is not understood"));
    if (encoding !== null && encoding !== "identity") this.#decoder = this.#decoding(decoderOf(encoding));
    this.#listener.head(status, headers);
  }

  #decoding(decoder: Transform): Transform {
    decoder.on("data", (piece: Buffer) => this.#listener.data(piece));
    decoder.on("drain", () => this.#paused || this.#controller?.resume());
    decoder.on("end", () => this.#ended());
    return decoder.on("error", (error) => this.#garbled(error));
  }

  #garbled(error: Error): void {
    if (this.#over) return;
    this.#fail({
      ...failure("provider_malformed", `the answer cannot be decoded: ${error.message}`),
      mayHaveRun: true,
    });
    this.#controller?.abort(error);
  }

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
    // A connection that is torn down also emits an error.
    socket.on("error", (error) => this.onResponseError(null, error));
    if (this.#over) return void socket.destroy();
    socket.on("data", (chunk: Buffer) => this.onResponseData(null, chunk));
    socket.on("close", () => this.onResponseEnd());
    this.#listener.head(status, headers);
  }

  onResponseData(_: Dispatcher.DispatchController | null, chunk: Buffer): void {
    if (this.#over) return;
    if (this.#decoder !== null) {
      this.#heard();
      if (!this.#decoder.write(chunk)) this.#controller?.pause();
      return;
    }
    // An answer's first read often has the whole of it, and later ones an event each.
    const isLater = this.#hasRead && (lastRead.by !== this || lastRead.memory !== chunk.buffer);
    this.#hasRead = true;
    lastRead.by = this;
    lastRead.memory = chunk.buffer;
    if (isLater) {
      if (this.#pieces.length > 0) this.#deliver();
      this.#heard();
      this.#listener.data(chunk);
      return;
    }
    if (this.#pieces.length === 0) process.nextTick(Exchange.#tickEnded, this);
    this.#pieces.push(chunk);
    if (chunk.length > JOINED_BYTES_MAX) this.#deliver();
  }

  // Static, because a function for each exchange would take 60 bytes in every open stream, and time in every call.
  static #tickEnded(exchange: Exchange): void {
    exchange.#deliver();
  }

  static #timerFired(exchange: Exchange): void {
    exchange.#look();
  }

  static #inputRead(exchange: Exchange): void {
    exchange.#decide();
  }

  /** Runs once undici has parsed the read, or before what follows its last piece. */
  #deliver(): void {
    if (this.#pieces.length === 0) return;
    const read = this.#pieces.take();
    if (this.#over) return;
    this.#heard();
    this.#listener.data(read);
  }

  #heard(): void {
    if (!this.#clocks.quiet()) this.#lastMs = this.#clock.elapsedMs();
  }

  onResponseEnd(): void {
    this.#isWhole = true;
    this.#deliver();
    if (this.#decoder === null) this.#ended();
    else this.#decoder.end();
  }

  #ended(): void {
    if (this.#over) return this.#finish();
    this.#finish();
    this.#listener.end();
  }

  onResponseError(_: Dispatcher.DispatchController | null, error: Error): void {
    this.#deliver();
    // Without a controller no socket accepted the request, so no byte of it was sent.
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
    if (lastRead.by === this) lastRead.by = null;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#undecoded();
    this.#socket?.destroy();
  }

  /** Keeps a timer that fires earlier; it rearms itself when it fires, and by then nearly every answer has arrived. */
  #arm(ms: number): void {
    const looksMs = this.#clock.elapsedMs() + ms;
    if (this.#timer !== null && this.#looksMs <= looksMs) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#looksMs = looksMs;
    this.#timer = setTimeout(Exchange.#timerFired, ms, this);
  }

  /** The time left until the deadline, in milliseconds; 0 or less once it has passed. */
  #leftMs(): number {
    if (!this.#answering) return this.#firstUntilMs - this.#clock.elapsedMs();
    const silentMs = this.#paused ? 0 : this.#clock.elapsedMs() - this.#lastMs;
    return this.#clocks.gapMsMax() - silentMs;
  }

  /**
   * One timer serves the whole stream: it fires, compares the time of the last chunk, and sleeps for the rest. At the deadline, it reads
   * waiting socket data first: on a machine that was busy this long, timers run before the data that arrived meanwhile.
   */
  #look(): void {
    this.#timer = null;
    const leftMs = this.#leftMs();
    if (leftMs > 1) this.#arm(leftMs);
    else setImmediate(Exchange.#inputRead, this);
  }

  #decide(): void {
    // A timer set meanwhile means that the vendor sent something.
    if (this.#over || this.#timer !== null) return;
    const leftMs = this.#leftMs();
    if (leftMs > 1) return this.#arm(leftMs);
    if (!this.#answering) return this.#giveUp("no content came in time");
    if (!this.#clocks.quiet()) return this.#giveUp("the stream fell silent");
    this.#finish();
    this.#controller?.abort(new Error("the answer is complete"));
    this.#listener.end();
  }

  #giveUp(message: string): void {
    if (this.#over) return;
    this.#finish();
    this.#controller?.abort(new Error(message));
    this.#listener.failed(failure("provider_timeout", message));
  }
}
