// The answer to one request on a socket: each event is a message, and so is an error; pauses while the client does not read.
import type { Reply } from "../../core/endpoint.ts";
import { SseScanner } from "../../upstream/sse-scanner.ts";
import { HeldParts } from "./held-parts.ts";
import type { Edge } from "./server.ts";
import type { SlowClient } from "./slow-clients.ts";
import type { Socket } from "./socket.ts";

/** No event is longer: the last one has at most a vendor's whole answer and the request's own data. */
const EVENT_BYTES_MAX = 64 * 1024 * 1024;
/** The most bytes in a socket's system buffers before its writer waits. */
const BUFFERED_BYTES_MAX = 64 * 1024;
const DONE = Buffer.from("[DONE]");
/** The headers of an error that clients over HTTP act on. */
const TOLD_HEADERS = ["retry-after", "x-should-retry"];

export class SocketReply implements Reply, SlowClient {
  deadlineMs = 0;
  readonly #socket: Socket;
  readonly #host: Edge;
  readonly #done: (status: number) => void;
  readonly #scanner: SseScanner;
  readonly #headers: Record<string, string>;
  #status = 200;
  #ended = false;
  #gone = false;
  #owner = "";
  #held: HeldParts | null = null;
  #goneListener: (() => void) | null = null;
  #roomListener: (() => void) | null = null;

  /** `done` is called once, when the last message was handed over: with the status of a whole answer, otherwise 200. */
  constructor(socket: Socket, requestId: string, done: (status: number) => void) {
    this.#socket = socket;
    this.#host = socket.parts.host;
    this.#done = done;
    this.#headers = { "x-request-id": requestId };
    this.#scanner = new SseScanner((bytes, start, end) => {
      const data = bytes.subarray(start, end);
      if (!data.equals(DONE)) this.#say(data);
    }, EVENT_BYTES_MAX);
  }

  get closed(): boolean {
    return this.#ended || this.#gone;
  }

  onGone(listener: () => void): void {
    const first = this.#goneListener;
    if (this.#gone) listener();
    else
      this.#goneListener = () => {
        first?.();
        listener();
      };
  }

  onRoom(listener: () => void): void {
    this.#roomListener = listener;
  }

  belongTo(owner: string): void {
    this.#owner = owner;
  }

  header(name: string, value: string): void {
    const lower = name.toLowerCase();
    if (TOLD_HEADERS.includes(lower)) this.#headers[lower] = value;
  }

  begin(): void {}

  write(bytes: Uint8Array | string): boolean {
    if (this.closed) return true;
    this.#read(bytes);
    if (this.#isFull()) this.#waitForClient();
    return this.#held === null && !this.#isFull();
  }

  end(bytes: Uint8Array | string = ""): void {
    if (this.closed) return;
    this.#read(bytes);
    this.#end(200);
  }

  send(status: number, body: Uint8Array | string): void {
    if (this.closed) return;
    const text = typeof body === "string" ? body : Buffer.from(body).toString();
    this.#socket.cork(() => {
      for (const message of this.#socket.parts.form.whole(status, text, this.#headers)) this.#say(Buffer.from(message));
    });
    this.#end(status);
  }

  cut(): void {
    if (this.closed) return;
    this.#goneListener = null;
    this.#socket.breakOff();
  }

  left(): void {
    const listener = this.#ended ? null : this.#goneListener;
    this.#gone = true;
    this.#forget();
    listener?.();
  }

  /** The client has taken some of the buffered data. */
  drained(): void {
    if (this.#gone) return;
    this.#socket.cork(() => {
      while (this.#held !== null && !this.#isFull()) {
        const next = this.#held.shift();
        if (next === undefined) this.#held = null;
        else this.#socket.sendText(next);
      }
    });
    if (this.#held !== null || this.#isFull()) return this.#waitForClient();
    this.#host.slowClients.forget(this);
    if (this.#ended) this.#done(this.#status);
    else this.#roomListener?.();
  }

  keepOpen(): void {}

  expired(): void {
    this.#socket.breakOff();
  }

  #read(bytes: Uint8Array | string): void {
    const part =
      typeof bytes === "string" ? Buffer.from(bytes) : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#socket.cork(() => this.#scanner.push(part));
  }

  #isFull(): boolean {
    return this.#socket.bufferedBytes() > BUFFERED_BYTES_MAX;
  }

  #say(message: Uint8Array): void {
    if (this.#gone) return;
    if (this.#held === null && !this.#isFull()) return this.#socket.sendText(message);
    // A copy: the original memory is reused.
    this.#held ??= new HeldParts(this.#host.answers, this.#owner, () => this.#socket.breakOff());
    this.#held.push(Buffer.from(message));
  }

  #waitForClient(): void {
    this.deadlineMs = this.#host.clock.elapsedMs() + this.#host.stalledMsMax;
    this.#host.slowClients.watch(this);
  }

  /** The next request begins when this answer was handed over. */
  #end(status: number): void {
    this.#ended = true;
    this.#status = status;
    if (this.#held !== null || this.#isFull()) this.#waitForClient();
    else if (!this.#gone) this.#done(status);
  }

  #forget(): void {
    this.#host.slowClients.forget(this);
    this.#held?.close();
    this.#held = null;
    this.#goneListener = null;
    this.#roomListener = null;
  }
}
