// One keep-alive connection of the load generators: writes raw requests, and barely parses answers.
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

const LF = 10;
const CR = 13;
const DONE = "[DONE]\n\n";
/** The statuses of whole answers: a conditional request is answered with 304 and no body. */
const GOOD = new Set([200, 304]);
/** Parser states. */
const AT = { head: 0, fixed: 1, size: 2, data: 3, dataEnd: 4, trailer: 5 } as const;

/** The result of one request. Times are `performance.now()`. */
export interface Exchange {
  status: number;
  /** Complete server-sent events. */
  events: number;
  bytes: number;
  /** When the second event ended: the first is the role, the second the first word. 0 where there was none. */
  firstTokenAt: number;
  endedAt: number;
  /** The answer ended properly; a stream's last event was `[DONE]`. */
  whole: boolean;
}

export interface ConnectionOptions {
  readonly port: number;
  readonly tls?: boolean;
  /** Called when the answer has ended or the connection broke. */
  readonly onEnd: (exchange: Exchange, connection: Connection) => void;
  /** Called when an event ends, with the milliseconds since the last one. */
  readonly onGap?: (ms: number) => void;
  /** Called after every read, with the answer's events so far. */
  readonly onRead?: (events: number) => void;
  /** Read one byte per call of `readByte`. */
  readonly slow?: boolean;
}

// Reads are synchronous, so all connections share one buffer.
const shared = Buffer.allocUnsafeSlow(65_536);

export class Connection {
  readonly #socket: Socket;
  readonly #onEnd: ConnectionOptions["onEnd"];
  readonly #onGap: ConnectionOptions["onGap"];
  readonly #onRead: ConnectionOptions["onRead"];
  readonly ready: Promise<void>;
  closed = false;
  /** Bytes received, heads and framing included. */
  received = 0;
  #state: number = AT.head;
  #head = "";
  /** Bytes left of a fixed body or of the current chunk. */
  #left = 0;
  #line = "";
  #afterLf = false;
  /** The last bytes of the body so far. */
  readonly #tail = Buffer.alloc(DONE.length);
  #lastEventAt = 0;
  #exchange: Exchange | null = null;

  constructor(options: ConnectionOptions) {
    this.#onEnd = options.onEnd;
    this.#onGap = options.onGap;
    this.#onRead = options.onRead;
    const slow = options.slow === true;
    const buffer = slow ? Buffer.allocUnsafe(1) : shared;
    const callback = (length: number): boolean => {
      this.#read(buffer, length);
      return !slow;
    };
    const { port, tls = false } = options;
    const address = { host: "127.0.0.1", port, noDelay: true, onread: { buffer, callback } };
    this.#socket = tls ? connectTls({ ...address, rejectUnauthorized: false }) : connect(address);
    this.ready = new Promise((resolve, reject) => {
      this.#socket.once(tls ? "secureConnect" : "connect", resolve);
      this.#socket.once("error", reject);
    });
    this.#socket.on("error", () => {});
    this.#socket.once("close", () => {
      this.closed = true;
      this.#end(false);
    });
  }

  get busy(): boolean {
    return this.#exchange !== null;
  }

  send(request: string): void {
    this.#exchange = { status: 0, events: 0, bytes: 0, firstTokenAt: 0, endedAt: 0, whole: false };
    this.#state = AT.head;
    this.#head = "";
    this.#tail.fill(0);
    this.#afterLf = false;
    this.#socket.write(request, "utf8");
  }

  readByte(): void {
    this.#socket.resume();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #end(proper: boolean): void {
    const exchange = this.#exchange;
    if (exchange === null) return;
    this.#exchange = null;
    exchange.endedAt = performance.now();
    exchange.whole =
      proper && GOOD.has(exchange.status) && (exchange.events === 0 || this.#tail.toString("latin1") === DONE);
    this.#onEnd(exchange, this);
  }

  #read(bytes: Buffer, length: number): void {
    this.received += length;
    let at = 0;
    while (at < length) {
      if (this.#exchange === null) {
        this.destroy();
        return;
      }
      switch (this.#state) {
        case AT.head:
          at = this.#readHead(bytes, at, length);
          break;
        case AT.fixed:
        case AT.data: {
          const take = Math.min(this.#left, length - at);
          this.#body(bytes, at, at + take);
          this.#left -= take;
          at += take;
          if (this.#left > 0) break;
          if (this.#state === AT.fixed) this.#end(true);
          else this.#state = AT.dataEnd;
          break;
        }
        case AT.dataEnd:
          if (bytes[at++] === LF) this.#state = AT.size;
          break;
        case AT.size:
          at = this.#readSize(bytes, at);
          break;
        default:
          // The empty line after the last chunk; the bench's servers send no trailers.
          if (bytes[at++] === LF) this.#end(true);
      }
    }
  }

  #readHead(bytes: Buffer, at: number, length: number): number {
    const from = this.#head.length;
    this.#head += bytes.toString("latin1", at, length);
    const end = this.#head.indexOf("\r\n\r\n", Math.max(0, from - 3));
    if (end < 0) return length;
    const head = this.#head.slice(0, end).toLowerCase();
    if (this.#exchange !== null) this.#exchange.status = Number(head.slice(9, 12));
    const fixed = /\r\ncontent-length: *(\d+)/.exec(head);
    this.#left = Number(fixed?.[1] ?? 0);
    this.#state = fixed === null ? AT.size : AT.fixed;
    this.#line = "";
    if ((fixed !== null && this.#left === 0) || this.#exchange?.status === 304) this.#end(true);
    return at + end + 4 - from;
  }

  #readSize(bytes: Buffer, at: number): number {
    const byte = bytes[at] ?? 0;
    if (byte !== LF) {
      if (byte !== CR) this.#line += String.fromCharCode(byte);
      return at + 1;
    }
    this.#left = Number.parseInt(this.#line, 16);
    this.#line = "";
    this.#state = this.#left === 0 ? AT.trailer : AT.data;
    return at + 1;
  }

  /** Counts the blank lines that end events, wherever the reads are cut. */
  #body(bytes: Buffer, start: number, end: number): void {
    const exchange = this.#exchange;
    if (exchange === null) return;
    exchange.bytes += end - start;
    const before = exchange.events;
    for (let at = bytes.indexOf(LF, start); at >= 0 && at < end; at = bytes.indexOf(LF, at + 1)) {
      if (at === start ? this.#afterLf : bytes[at - 1] === LF) exchange.events += 1;
    }
    if (this.#onGap !== undefined && exchange.events > before) this.#measureGap(this.#onGap);
    this.#afterLf = bytes[end - 1] === LF;
    if (before < 2 && exchange.events >= 2) exchange.firstTokenAt = performance.now();
    this.#onRead?.(exchange.events);
    const length = end - start;
    if (length < DONE.length) this.#tail.copyWithin(0, length);
    bytes.copy(this.#tail, Math.max(0, DONE.length - length), Math.max(start, end - DONE.length), end);
  }

  #measureGap(onGap: (ms: number) => void): void {
    const now = performance.now();
    if (this.#lastEventAt > 0) onGap(now - this.#lastEventAt);
    this.#lastEventAt = now;
  }
}
