// Adapts a node:http or node:http2 response to the engine interface.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Socket } from "node:net";
import type { EngineRequest, EngineResponse } from "./engine.ts";

export type NodeMessage = IncomingMessage | Http2ServerRequest;
export type NodeReply = ServerResponse | Http2ServerResponse;

/** The common part of both response types, whose overloads TypeScript cannot merge. */
interface Writer {
  write(bytes: Uint8Array | string): boolean;
  end(bytes: Uint8Array | string): unknown;
}

const NO_BYTES = new Uint8Array(0);
/** The most bytes of a whole answer passed to Node.js before it reports how many have left. */
const SLICE_BYTES = 64 * 1024;
/** Copying a longer chunk costs more than another piece of a write. */
const COPIED_BYTES_MAX = 4 * 1024;
const LAST_CHUNK = "0\r\n\r\n";
const BEYOND_ASCII = /[\x80-\xff]/;
/** A client that does not read the end of its answer loses its connection after this time. */
const UNREAD_END_MS_MAX = 60_000;

/** Node.js reads headers as Latin-1; the edge expects UTF-8. */
function utf8(value: string): string {
  return BEYOND_ASCII.test(value) ? Buffer.from(value, "latin1").toString() : value;
}

const ABSOLUTE = /^https?:\/\/([^/?#]+)/i;

export class NodeRequest implements EngineRequest {
  readonly #message: NodeMessage;
  readonly #target: string;
  /** The host of an absolute target, which overrides the Host header (RFC 9112, 3.2.2). */
  readonly #authority: string | null = null;

  constructor(message: NodeMessage) {
    this.#message = message;
    const { url = "" } = message;
    this.#target = url;
    const absolute = url.startsWith("/") ? null : ABSOLUTE.exec(url);
    if (absolute === null) return;
    const rest = url.slice(absolute[0].length);
    this.#authority = absolute[1] ?? "";
    this.#target = rest.startsWith("/") ? rest : `/${rest}`;
  }

  getCaseSensitiveMethod(): string {
    return this.#message.method ?? "";
  }

  getUrl(): string {
    const at = this.#target.indexOf("?");
    return at < 0 ? this.#target : this.#target.slice(0, at);
  }

  getQuery(): string | undefined {
    const at = this.#target.indexOf("?");
    return at < 0 ? undefined : this.#target.slice(at + 1);
  }

  getHeader(lowerCaseName: string): string {
    const value = this.#message.headers[lowerCaseName];
    return utf8(Array.isArray(value) ? (value[0] ?? "") : (value ?? ""));
  }

  forEach(see: (lowerCaseName: string, value: string) => void): void {
    const { rawHeaders, headers } = this.#message;
    // A body of unknown length over HTTP/2 needs no header.
    if ("stream" in this.#message && !this.#message.stream.endAfterHeaders && headers["content-length"] === undefined)
      see("transfer-encoding", "chunked");
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
      const name = (rawHeaders[i] ?? "").toLowerCase();
      const value = utf8(rawHeaders[i + 1] ?? "");
      if (name === "host" || name === ":authority") see("host", this.#authority ?? value);
      else if (!name.startsWith(":")) see(name, value);
    }
  }
}

/** The headers of a head, as alternating names and values. */
function headerPairs(lines: readonly string[]): string[] {
  const pairs: string[] = [];
  for (const line of lines) {
    const at = line.indexOf(":");
    pairs.push(line.slice(0, at), line.slice(at + 2));
  }
  return pairs;
}

/** HTTP/2 has no connection headers, and takes repeated names as a list. */
function http2Headers(pairs: readonly string[]): Record<string, string[]> {
  const headers: Record<string, string[]> = {};
  for (let i = 0; i + 1 < pairs.length; i += 2) {
    const name = pairs[i]?.toLowerCase() ?? "";
    if (name !== "connection") headers[name] = [...(headers[name] ?? []), pairs[i + 1] ?? ""];
  }
  return headers;
}

function ignore(): void {}

/** A chunk and `last`, in one piece. */
function chunkOf(bytes: Uint8Array | string, last: string): Buffer {
  const length = Buffer.byteLength(bytes);
  const head = length === 0 ? "" : `${length.toString(16)}\r\n`;
  const tail = length === 0 ? last : `\r\n${last}`;
  const chunk = Buffer.allocUnsafe(head.length + length + tail.length);
  for (let at = 0; at < head.length; at++) chunk[at] = head.charCodeAt(at);
  if (typeof bytes === "string") chunk.write(bytes, head.length);
  else chunk.set(bytes, head.length);
  const from = head.length + length;
  for (let at = 0; at < tail.length; at++) chunk[from + at] = tail.charCodeAt(at);
  return chunk;
}

/** Writes a chunk in one piece, or a long one without copying it. */
function writeChunk(socket: Socket, bytes: Uint8Array | string): boolean {
  if (bytes.length <= COPIED_BYTES_MAX) return socket.write(chunkOf(bytes, ""));
  socket.cork();
  socket.write(`${Buffer.byteLength(bytes).toString(16)}\r\n`, "latin1");
  socket.write(bytes);
  const hasRoom = socket.write("\r\n", "latin1");
  socket.uncork();
  return hasRoom;
}

export class NodeResponse implements EngineResponse {
  readonly #message: NodeMessage;
  readonly #reply: NodeReply;
  readonly #writer: Writer;
  readonly #address: string;
  #head: string | null = null;
  #bytesTotal: number | null = null;
  #offset = 0;
  #hasRoom = true;
  #finished = false;
  /** The last write exceeded the client's capacity, so its writer waits for `onWritable`. */
  #writerWaits = false;
  #aborted: (() => void) | null = null;
  #writable: ((offset: number) => boolean) | null = null;

  constructor(message: NodeMessage, reply: NodeReply) {
    this.#message = message;
    this.#reply = reply;
    this.#writer = reply;
    this.#address = message.socket.remoteAddress ?? "";
    const source = "stream" in reply ? reply.stream : reply;
    if ("stream" in reply) source.on("drain", () => this.roomAgain());
    source.once("finish", () => {
      // An HTTP/2 stream also finishes when its client resets it.
      if (!this.ended) return;
      this.#finished = true;
      this.roomAgain();
    });
    source.once("close", () => {
      if (!this.#finished) this.abort();
    });
    // A connection error shows in the connection's end.
    message.on("error", ignore);
    reply.on("error", ignore);
  }

  /** The answer announces that the connection closes after it. */
  isLast = false;
  /** The body is chunked here, in one piece per chunk, because Node.js would pass four pieces to the socket. */
  isChunked = false;
  /** Takes the chunks that follow the head and the first chunk. */
  #chunks: Socket | null = null;

  ended = false;

  abort(): void {
    const handler = this.#aborted;
    this.#aborted = null;
    this.#writable = null;
    handler?.();
  }

  onAborted(handler: () => void): void {
    this.#aborted = handler;
  }

  onData(handler: (part: Uint8Array, isLast: boolean) => void): void {
    const { headers } = this.#message;
    let left = headers["content-length"] === undefined ? null : Number(headers["content-length"]);
    let isWaiting = left !== null && left > 0;
    this.#message.on("data", (part: Uint8Array) => {
      isWaiting = false;
      if (left !== null) left -= part.length;
      handler(part, left === 0);
    });
    this.#message.once("end", () => {
      if (left !== 0) handler(NO_BYTES, true);
    });
    // The reader of a body that did not arrive with its head must learn that it has to wait.
    setImmediate(() => {
      if (isWaiting && !this.#finished) handler(NO_BYTES, false);
    });
  }

  onWritable(handler: (offset: number) => boolean): void {
    this.#writable = handler;
  }

  pause(): void {
    this.#message.pause();
  }

  resume(): void {
    this.#message.resume();
  }

  /** Corks each write separately, since only then it is known whether the client can take more. */
  cork(write: () => void): void {
    write();
  }

  writeStatus(head: string): void {
    this.#head = head;
  }

  write(bytes: Uint8Array | string): boolean {
    if (this.#chunks !== null) this.#hasRoom = writeChunk(this.#chunks, bytes);
    else {
      const socket = this.#cork();
      this.#hasRoom = this.#writer.write(this.isChunked ? chunkOf(bytes, "") : bytes);
      socket?.uncork();
      if (this.isChunked) this.#chunks = socket;
    }
    this.#writerWaits = !this.#hasRoom;
    return this.#hasRoom;
  }

  tryEnd(bytes: Uint8Array | string, bytesTotal: number): [ok: boolean, done: boolean] {
    this.#bytesTotal ??= bytesTotal;
    const whole = typeof bytes === "string" ? Buffer.from(bytes) : bytes;
    const from = this.#offset;
    const hasBody = this.#message.method !== "HEAD";
    const socket = this.#cork();
    if (hasBody) this.#writeSlices(whole);
    else this.#end(NO_BYTES);
    socket?.uncork();
    const tookAll = !hasBody || this.#offset - from === whole.length;
    const done = this.ended && this.#pendingBytes() === 0;
    const ok = tookAll && (this.ended ? done : this.#hasRoom);
    this.#writerWaits = !ok;
    return [ok, done];
  }

  getWriteOffset(): number {
    return this.#offset;
  }

  end(bytes: Uint8Array | string = NO_BYTES): void {
    if (this.ended) return;
    const socket = this.#cork();
    this.#end(bytes);
    socket?.uncork();
    this.#hurryEnd();
  }

  endWithoutBody(): void {
    this.end();
  }

  close(): void {
    const isSent = this.ended && this.#pendingBytes() === 0;
    // HTTP/2: refuse the rest of the request. HTTP/1.1: Node.js closes the connection after an answer with `Connection: close`.
    if ("stream" in this.#reply) this.#reply.stream[isSent ? "close" : "destroy"]();
    else if (!isSent) this.#message.socket.destroy();
  }

  getRemoteAddress(): string {
    return this.#address;
  }

  /** The head is sent with the first bytes. */
  #sendHead(): void {
    if (this.#head === null) return;
    const [status = "", ...lines] = this.#head.split("\r\n");
    this.#head = null;
    const pairs = headerPairs(lines);
    this.isLast ||= lines.includes("connection: close");
    if (this.#bytesTotal !== null) pairs.push("Content-Length", String(this.#bytesTotal));
    const code = Number(status.slice(0, 3));
    if ("stream" in this.#reply) this.#reply.writeHead(code, http2Headers(pairs));
    else {
      this.#reply.writeHead(code, status.slice(4), pairs);
      this.isChunked = this.#reply.chunkedEncoding && this.#message.method !== "HEAD";
      if (this.isChunked) this.#reply.chunkedEncoding = false;
    }
  }

  /** Sends the head, which leaves in one system call with what is written before the returned socket is uncorked. */
  #cork(): Socket | null {
    const socket = "stream" in this.#reply ? null : this.#reply.socket;
    socket?.cork();
    this.#sendHead();
    return socket;
  }

  /** Hands over as much of a whole answer as fits. */
  #writeSlices(bytes: Uint8Array): void {
    if (this.#offset === this.#bytesTotal) this.#end(NO_BYTES);
    for (let at = 0; at < bytes.length && this.#hasRoom && !this.ended; at += SLICE_BYTES) {
      const slice = bytes.subarray(at, at + SLICE_BYTES);
      this.#offset += slice.length;
      if (this.#offset === this.#bytesTotal) this.#end(slice);
      else this.#hasRoom = this.#writer.write(slice);
    }
  }

  #end(bytes: Uint8Array | string): void {
    if (this.ended) return;
    this.ended = true;
    this.#writer.end(this.isChunked ? chunkOf(bytes, LAST_CHUNK) : bytes);
  }

  #pendingBytes(): number {
    return this.#finished ? 0 : this.#reply.writableLength;
  }

  /** The connection has taken everything. Over HTTP/1.1 its owner calls this. */
  roomAgain(): void {
    this.#hasRoom = true;
    if (!this.#writerWaits) return;
    this.#writerWaits = false;
    this.#writable?.(this.#offset);
  }

  /**
   * The edge stops watching an answer that was handed over, so the socket's timeout takes over, until Node.js sets the one for idle
   * connections.
   */
  #hurryEnd(): void {
    if (this.#pendingBytes() === 0) return;
    if ("stream" in this.#reply) this.#reply.stream.setTimeout(UNREAD_END_MS_MAX, () => this.close());
    else this.#message.socket.setTimeout(UNREAD_END_MS_MAX);
  }
}
