// Writes an answer to a response of the engine: whole, or as a stream that stops when the client does not read.
import type { Reply } from "../../core/endpoint.ts";
import type { EngineResponse } from "./engine.ts";
import { headerLine, statusLine } from "./head-lines.ts";
import { HeldParts } from "./held-parts.ts";
import type { OpenBody, ReplyHost } from "./reply-host.ts";
import type { SlowClient } from "./slow-clients.ts";
import { type Due, Gathered } from "./tick-end.ts";
import { beginLast, beginWhole } from "./whole-answers.ts";

/**
 * The most that is written in one go: what fits, with a head, into the 16 KiB that uWebSockets gathers for one system call. More would
 * be lost when the client has no room: this version forgets data that it could not put behind gathered data.
 */
const SLICE_BYTES = 14 * 1024;
/** After a client had no room: a write of this size tells whether all earlier bytes have left, and adds but so many if not. */
const PROBE_BYTES = 4 * 1024;
/** Answers that have no body, and so nothing to say about one (RFC 9110, 15.3.5 and 15.4.5). */
const BODILESS = [204, 304];

/**
 * A `Reply` over the response of an engine. The response is touched only while it lives (`#res` is null afterwards), and always corked, so that
 * what belongs together is one system call. `onGone` listeners that come after the client has left are called at once.
 */
export class HttpReply implements Reply, SlowClient, Due {
  deadlineMs = 0;
  readonly #host: ReplyHost;
  #res: EngineResponse | null;
  #headers: string;
  #withBody = true;
  #hasContentType = false;
  /** The status line and headers, while they wait for the first bytes. */
  #head: string | null = null;
  #begun = false;
  #ended = false;
  #gone = false;
  #closesConnection = false;
  /** The client had no room at the last write. */
  #blocked = false;
  /** It had none before that, and nothing has shown yet that all has left. */
  #probing = false;
  /** Whose memory it is that the client has no room for. */
  #owner = "";
  /** What the client has no room for yet. */
  #held: HeldParts | null = null;
  /** Small parts of this turn of the event loop. Streams that write theirs one after the other at its end cost less each. */
  #gathered: Gathered | null = null;
  #body: OpenBody | null = null;
  /** How long the stream will be, where that is known. */
  #bytesTotal: number | null = null;
  #goneListener: (() => void) | null = null;
  #roomListener: (() => void) | null = null;
  /** The argument of `#writeCorked`, so that a write needs no closure. */
  #next: Uint8Array | string = "";
  #writeCorked: (() => void) | null = null;

  /** `headers` are those that every answer has, each as `\r\nname: value`. Must be made in the route handler itself. */
  constructor(res: EngineResponse, host: ReplyHost, headers: string) {
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

  /** The address of the other end; empty once the answer has left. */
  remoteAddress(): ArrayBuffer | string {
    return this.#res?.getRemoteAddress() ?? "";
  }

  /** The connection becomes a socket: nothing is answered here any more. */
  handOver(): void {
    this.#ended = true;
    this.#finish();
  }

  /** Answers a HEAD: what is written is described and left out. */
  withoutBody(): void {
    this.#withBody = false;
  }

  /** Whether bytes of the answer may have left, so that another answer is no longer possible. */
  get begun(): boolean {
    return this.#begun || this.#ended;
  }

  /** The body that is still being read, to be let go when the client leaves; null: it has been. */
  whileReading(body: OpenBody | null): void {
    this.#body = body;
  }

  /** Ends the connection with this answer, since the rest of its request will not be read. */
  closeAfterwards(): void {
    this.#closesConnection = true;
  }

  begin(status: number, bytesTotal?: number): void {
    const res = this.#res;
    if (this.closed || res === null) return;
    if (this.#body?.answered?.() === true) this.#closesConnection = true;
    // What is left of a stream's connection cannot be told apart from the stream, so its end is announced in its head.
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

  /** Writes what was gathered. Where the client has no room, its writer hears of it at the next part. */
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
   * Nothing is written any more, and a listener that is left hears that the client has gone when it has. Closing inside uWebSockets' own
   * parser would free what it is still working on. What was gathered goes out first: it waits for the same moment, and has waited longer.
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

  /** Whether the connection ends with this answer, which then says so. After a HEAD it does: nothing else tells whether it is read. */
  #endsConnection(): boolean {
    const ends = this.#closesConnection || this.#host.draining || !this.#withBody;
    if (ends) this.header("connection", "close");
    return ends;
  }

  /** An answer without bytes. */
  #sendBare(res: EngineResponse, status: number): void {
    if (!BODILESS.includes(status)) this.header("content-length", "0");
    res.cork(() => {
      res.writeStatus(this.#headText(status));
      // With arguments, this version's endWithoutBody would leave the response open.
      res.endWithoutBody();
    });
    this.#finish();
  }

  /** Status and headers in the one string that uWebSockets writes between `HTTP/1.1 ` and a line break: one native call for all. */
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

  /** Writes as much as the client takes and holds the rest. */
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

  /** The next bytes of an answer of known length: uWebSockets tells how many it took, and ends the answer with the last of them. */
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

  /** Called corked. What this writes is taken in any case; the answer says whether what was written before it has left. */
  #writeSlice(): void {
    const res = this.#res;
    if (res === null) return;
    this.#writeHead(res);
    if (!this.#withBody) return;
    this.#blocked = !res.write(this.#next);
    this.#next = ""; // A view of memory that many streams share would keep all of it until the next part.
    if (!this.#blocked) this.#probing = false;
  }

  /** Keeps a small part for the end of the turn; false: it has to be written now. */
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

  /** The client has room. uWebSockets leaves it to us to flush what it holds; an empty cork does that. */
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
   * Delivers a whole answer as its client reads; `goOn` tells whether all of it has left. Small ones go this way too: while one waits for
   * its client, uWebSockets ends the connection at the next request, so that a client who asks and never reads cannot fill our memory.
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
