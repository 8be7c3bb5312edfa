// Writes an answer to an engine's response: whole, or as a stream that pauses while the client does not read.
import type { Reply } from "../../core/endpoint.ts";
import type { EngineResponse } from "./engine.ts";
import { headerLine, statusLine } from "./head-lines.ts";
import { HeldParts } from "./held-parts.ts";
import type { Edge } from "./server.ts";
import type { OpenBody, SlowClient } from "./slow-clients.ts";
import { type Due, Gathered } from "./tick-end.ts";
import { beginLast, beginWhole } from "./whole-answers.ts";

/**
 * The most bytes per write: with a head they fit into the 16 KiB that uWebSockets gathers for one system call. More would be lost where
 * the client cannot take it: this version drops data that it could not append to gathered data.
 */
const SLICE_BYTES = 14 * 1024;
/** The write size after the client could not take more: it shows whether all earlier bytes have left, and adds little if not. */
const PROBE_BYTES = 4 * 1024;
/** Statuses without a body, and without headers about one (RFC 9110, 15.3.5 and 15.4.5). */
const BODILESS = [204, 304];

/**
 * A `Reply` over an engine's response. Uses the response only while it is open (`#res` is null afterwards), and always corked, so that
 * related writes are one system call. `onGone` listeners added after the client has left are called at once.
 */
export class HttpReply implements Reply, SlowClient, Due {
  deadlineMs = 0;
  readonly #host: Edge;
  #res: EngineResponse | null;
  #headers: string;
  #withBody = true;
  #hasContentType = false;
  /** The status line and headers, until the first bytes are written. */
  #head: string | null = null;
  #begun = false;
  #ended = false;
  #gone = false;
  #closesConnection = false;
  /** The client could not take more at the last write. */
  #blocked = false;
  /** Nor before that, and it is not known yet whether all bytes have left. */
  #probing = false;
  /** The owner of the memory that waiting bytes take. */
  #owner = "";
  /** What the client cannot take yet. */
  #held: HeldParts | null = null;
  /** Small parts written in this turn of the event loop. Streams that write at its end, one after the other, cost less each. */
  #gathered: Gathered | null = null;
  #body: OpenBody | null = null;
  /** The stream's length, where it is known. */
  #bytesTotal: number | null = null;
  #goneListener: (() => void) | null = null;
  #roomListener: (() => void) | null = null;
  /** The argument of `#writeCorked`, so that a write needs no closure. */
  #next: Uint8Array | string = "";
  #writeCorked: (() => void) | null = null;

  /** `headers`: those of every answer, each as `\r\nname: value`. Must be created in the route handler itself. */
  constructor(res: EngineResponse, host: Edge, headers: string) {
    this.#res = res;
    this.#host = host;
    this.#headers = headers;
    res.onAborted(() => this.#leave());
  }

  get closed(): boolean {
    return this.#ended || this.#gone;
  }

  onGone(listener: () => void): void {
    const first = this.#goneListener;
    if (this.#gone) listener();
    else if (first === null) this.#goneListener = listener;
    else {
      this.#goneListener = () => {
        first();
        listener();
      };
    }
  }

  onRoom(listener: () => void): void {
    this.#roomListener = listener;
  }

  header(name: string, value: string): void {
    this.#headers += headerLine(name, value);
    if (name.length === 12 && name.toLowerCase() === "content-type") this.#hasContentType = true;
  }

  belongTo(owner: string): void {
    this.#owner = owner;
  }

  /** The peer's address; empty once the answer has left. */
  remoteAddress(): ArrayBuffer | string {
    return this.#res?.getRemoteAddress() ?? "";
  }

  /** The connection becomes a WebSocket: nothing more is answered here. */
  handOver(): void {
    this.#ended = true;
    this.#finish();
  }

  /** Answers a HEAD: describes the body and omits it. */
  withoutBody(): void {
    this.#withBody = false;
  }

  /** Whether bytes of the answer may have left, so that it is too late for another answer. */
  get begun(): boolean {
    return this.#begun || this.#ended;
  }

  /** The body that is still being read, to abandon when the client leaves; null: it was read completely. */
  whileReading(body: OpenBody | null): void {
    this.#body = body;
  }

  /** Closes the connection after this answer, since the rest of its request will not be read. */
  closeAfterwards(): void {
    this.#closesConnection = true;
  }

  begin(status: number, bytesTotal?: number): void {
    const res = this.#res;
    if (this.closed || res === null) return;
    if (this.#body?.answered?.() === true) this.#closesConnection = true;
    // The client could not tell the end of the stream from the rest of the connection, so the head announces that the connection closes.
    this.#endsConnection();
    this.#begun = true;
    if (bytesTotal !== undefined && (bytesTotal === 0 || !this.#withBody)) {
      this.#ended = true;
      return bytesTotal === 0 ? this.#sendBare(res, status) : this.#sendLast(res, status, "", bytesTotal);
    }
    this.#bytesTotal = bytesTotal ?? null;
    if (bytesTotal === undefined) this.#gathered = new Gathered();
    this.#head = this.#headText(status);
    this.#headers = "";
    this.#writeCorked = () => this.#writeSlice();
    res.onWritable(() => this.#writable());
  }

  write(bytes: Uint8Array | string): boolean {
    if (this.closed || this.#res === null || this.#writeCorked === null || bytes.length === 0) return !this.#blocked;
    if (!this.#blocked && this.#head === null && this.#gather(bytes)) return true;
    this.tickEnded();
    if (this.#blocked) return this.#hold(bytes);
    this.#put(bytes);
    if (this.#blocked) this.#waitForClient();
    return !this.#blocked;
  }

  /** Writes the gathered parts. Where the client cannot take them, their writer learns it with the next part. */
  tickEnded(): void {
    const gathered = this.#gathered;
    if (gathered === null || gathered.length === 0 || this.#res === null) return;
    this.#put(gathered.take());
    if (this.#blocked) this.#waitForClient();
  }

  end(bytes: Uint8Array | string = ""): void {
    if (this.closed || this.#res === null) return;
    if (this.#gathered?.add(bytes) === false) this.tickEnded();
    const last = this.#gathered?.length ? this.#gathered.take() : bytes;
    this.#ended = true;
    if (last.length > 0 && (this.#blocked || last.length > SLICE_BYTES / 3)) {
      this.#hold(last);
      if (!this.#blocked) this.#writable();
      return;
    }
    if (!this.#blocked) this.#endStream(this.#res, last);
  }

  send(status: number, body: Uint8Array | string): void {
    const res = this.#res;
    if (this.closed || res === null) return;
    this.#ended = true;
    if (this.#body?.answered?.() === true) this.#closesConnection = true;
    const bytes = typeof body === "string" && body.length > SLICE_BYTES / 3 ? Buffer.from(body) : body;
    const ends = this.#endsConnection();
    if (bytes.length === 0 || BODILESS.includes(status)) this.#sendBare(res, status);
    else if (ends) this.#sendLast(res, status, this.#withBody ? bytes : "", Buffer.byteLength(bytes));
    else this.#deliver(res, bytes, beginWhole(res, this.#headText(status), bytes));
  }

  cut(): void {
    if (this.#res === null || this.#gone) return;
    this.#goneListener = null;
    this.#breakOff();
  }

  /**
   * Stops writing; remaining listeners are called when the client has gone. Closing inside uWebSockets' parser would free memory that it
   * still uses, so this closes later. Gathered parts are sent first: they wait for the same moment, and have waited longer.
   */
  #breakOff(): void {
    this.#gone = true;
    this.#held?.close();
    setImmediate(() => this.#res?.close());
  }

  keepOpen(): void {
    this.#res?.pause();
    this.#res?.resume();
  }

  expired(): void {
    this.#res?.close();
  }

  /** Whether the connection closes after this answer, which then says so. After a HEAD it does: no body shows that the answer is read. */
  #endsConnection(): boolean {
    const ends = this.#closesConnection || this.#host.draining || !this.#withBody;
    if (ends) this.header("connection", "close");
    return ends;
  }

  /** An answer without a body. */
  #sendBare(res: EngineResponse, status: number): void {
    if (!BODILESS.includes(status)) this.header("content-length", "0");
    res.cork(() => {
      res.writeStatus(this.#headText(status));
      // With arguments, this version's endWithoutBody would leave the response open.
      res.endWithoutBody();
    });
    this.#finish();
  }

  /** Status and headers as the one string that uWebSockets writes between `HTTP/1.1 ` and a line break: a single native call. */
  #headText(status: number): string {
    const type = this.#hasContentType || BODILESS.includes(status) ? "" : "\r\ncontent-type: application/json";
    const closes = this.#closesConnection || this.#host.draining || !this.#withBody;
    return `${statusLine(status)}${type}${closes ? "" : this.#host.keepAliveLine}${this.#headers}`;
  }

  #writeHead(res: EngineResponse): void {
    if (this.#head === null) return;
    res.writeStatus(this.#head);
    this.#head = null;
  }

  /** Writes as much as the client takes, and holds the rest. */
  #put(bytes: Uint8Array | string): void {
    const res = this.#res;
    const write = this.#writeCorked;
    if (res === null || write === null) return;
    if (this.#bytesTotal !== null) {
      this.#putSized(res, bytes, this.#bytesTotal);
      return;
    }
    if (bytes.length <= PROBE_BYTES / 3) {
      this.#next = bytes;
      res.cork(write);
      return;
    }
    const whole = typeof bytes === "string" ? Buffer.from(bytes) : bytes;
    let from = 0;
    while (from < whole.length && !this.#blocked) {
      const to = from + (this.#probing ? PROBE_BYTES : SLICE_BYTES);
      this.#next = from === 0 && to >= whole.length ? whole : whole.subarray(from, to);
      res.cork(write);
      from = to;
    }
    if (from < whole.length) this.#holding().unshift(whole.subarray(from));
  }

  #holding(): HeldParts {
    this.#held ??= new HeldParts(this.#host.answers, this.#owner, () => this.#breakOff());
    return this.#held;
  }

  /** Writes the next bytes of an answer of known length. uWebSockets reports how many it accepted, and the last of them end the answer. */
  #putSized(res: EngineResponse, bytes: Uint8Array | string, bytesTotal: number): void {
    const whole = typeof bytes === "string" ? Buffer.from(bytes) : bytes;
    let rest = whole.subarray(whole.length);
    let done = false;
    res.cork(() => {
      this.#writeHead(res);
      const from = res.getWriteOffset();
      const [roomy, ended] = res.tryEnd(whole, bytesTotal);
      done = ended;
      this.#blocked = !roomy && !ended;
      if (this.#blocked) rest = whole.subarray(res.getWriteOffset() - from);
    });
    if (done) {
      this.#ended = true;
      this.#finish();
    } else if (rest.length > 0) this.#holding().unshift(rest);
  }

  /** Call corked. What this writes is always accepted; returns whether everything written before it has left. */
  #writeSlice(): void {
    const res = this.#res;
    if (res === null) return;
    this.#writeHead(res);
    if (!this.#withBody) return;
    this.#blocked = !res.write(this.#next);
    this.#next = ""; // A view of memory that many streams share would keep all of it until the next part.
    if (!this.#blocked) this.#probing = false;
  }

  /** Keeps a small part until the end of the turn; false: it must be written now. */
  #gather(bytes: Uint8Array | string): boolean {
    const gathered = this.#gathered;
    const isFirst = gathered?.length === 0;
    if (gathered === null || !gathered.add(bytes)) return false;
    if (isFirst) this.#host.atTickEnd(this);
    return true;
  }

  #hold(bytes: Uint8Array | string): false {
    this.#holding().push(typeof bytes === "string" ? Buffer.from(bytes) : bytes);
    return false;
  }

  /** The client can take data again. uWebSockets leaves flushing its buffer to us; an empty cork does that. */
  #writable(): boolean {
    const res = this.#res;
    if (res === null || this.#gone) return true;
    this.#probing ||= this.#blocked;
    this.#blocked = false;
    res.cork(() => {});
    while (!this.#blocked) {
      const next = this.#held?.shift();
      if (next === undefined) break;
      this.#put(next);
    }
    if (this.#res === null || this.#gone) return true;
    if (this.#blocked) this.#waitForClient();
    else if (this.#ended) this.#endStream(res, "");
    else {
      this.#host.slowClients.forget(this);
      this.#roomListener?.();
    }
    return true;
  }

  #endStream(res: EngineResponse, last: Uint8Array | string): void {
    res.cork(() => {
      this.#writeHead(res);
      if (this.#withBody) res.end(last, this.#closesConnection);
      else res.endWithoutBody();
    });
    this.#finish();
  }

  /**
   * Delivers a whole answer as its client reads; `goOn` returns whether all of it has left. Small answers go this way too: while one waits
   * for its client, uWebSockets closes the connection at the next request, so that a client that never reads cannot fill our memory.
   */
  #deliver(res: EngineResponse, body: Uint8Array | string, goOn: () => boolean): void {
    const attempt = (): boolean => {
      if (this.#gone) return true;
      const done = goOn();
      if (done) this.#finish();
      else this.#waitForClient();
      return done;
    };
    if (attempt()) return;
    this.#hold(body);
    res.onWritable(attempt);
  }

  #sendLast(res: EngineResponse, status: number, body: Uint8Array | string, bytesTotal: number): void {
    const goOn = beginLast(res, this.#headText(status), body, bytesTotal);
    this.#deliver(res, body, () => {
      const done = goOn();
      if (done) setImmediate(() => this.#gone || res.close());
      return done;
    });
  }

  #waitForClient(): void {
    this.#held?.moved();
    this.deadlineMs = this.#host.clock.elapsedMs() + this.#host.stalledMsMax;
    this.#host.slowClients.watch(this);
  }

  #leave(): void {
    const listener = this.#ended ? null : this.#goneListener;
    this.#gone = true;
    if (this.#res === null) return;
    this.#body?.abandon();
    this.#finish();
    listener?.();
  }

  #finish(): void {
    this.#res = null;
    this.#held?.close();
    this.#held = null;
    this.#gathered = null;
    this.#body = null;
    this.#goneListener = null;
    this.#roomListener = null;
    this.#host.slowClients.forget(this);
    this.#host.finished();
  }
}
