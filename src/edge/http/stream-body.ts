// Streams a long request body: its sender is paused until each part was taken, so that memory holds little of it.

import type { GatewayRequest, IncomingBody } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { NamelessFile } from "../../platform/storage/nameless-file.ts";
import type { EngineResponse } from "./engine.ts";
import type { Edge } from "./server.ts";
import type { SlowClient } from "./slow-clients.ts";

const BLOCK_BYTES = 128 * 1024;
/** The pool keeps this many free blocks; further ones are left to the garbage collector. */
const KEPT_MAX = 128;

export function createBlockPool() {
  const kept: Uint8Array[] = [];
  return {
    /** A block of `BLOCK_BYTES` with arbitrary content. */
    take: (): Uint8Array => kept.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES),
    /** The caller must not read the block afterwards. */
    give(block: Uint8Array) {
      if (kept.length < KEPT_MAX) kept.push(block);
    },
  };
}

class Spill {
  readonly #file: NamelessFile;
  #at = 0;

  constructor(folder: string) {
    this.#file = new NamelessFile(folder);
  }

  get empty(): boolean {
    return this.#at === this.#file.end;
  }

  /** Throws where the disk is full. */
  put(bytes: Uint8Array): void {
    this.#file.put(bytes);
  }

  /** Fills a block as far as possible; resolves to the number of bytes. */
  async take(block: Uint8Array): Promise<number> {
    const bytes = await this.#file.read(block, this.#at);
    this.#at += bytes;
    if (this.empty) {
      this.#at = 0;
      this.#file.empty();
    }
    return bytes;
  }

  close(): void {
    this.#at = 0;
    this.#file.close();
  }
}

/** The minimum average rate of a sender, after the time that any body may take: 4 KiB a second. */
const BYTES_PER_MS_MIN = 4;

/**
 * The most parts of a body in memory. A paused sender continues until the reader's socket buffer is full, which from the same machine can
 * be megabytes.
 */
const PARTS_MAX = 4;

interface Part {
  readonly block: Uint8Array;
  bytes: number;
}

/**
 * Reads one part at a time from the socket; the next one when the last was taken. Must be created in the route handler itself, and told
 * when the client leaves (`abandon`) and when its answer begins (`answered`): the response must not be used after either.
 */
export class StreamBody implements IncomingBody, SlowClient {
  bytes = 0;
  readonly #res: EngineResponse;
  readonly #limits: Edge;
  readonly #lengthKnown: boolean;
  readonly #startedMs: number;
  readonly #parts: Part[] = [];
  /** What follows `#parts`. */
  readonly #spill: Spill;
  #iterated = false;
  #failure: GatewayError | null = null;
  #whole = false;
  /** The response must no longer be used. */
  #over = false;
  /** When the sender was paused; null: we wait for it. */
  #pausedMs: number | null = null;
  /** How long the sender was paused: does not count against it. */
  #heldBackMs = 0;
  #wake: () => void = () => {};

  constructor(res: EngineResponse, request: GatewayRequest, limits: Edge) {
    this.#res = res;
    this.#limits = limits;
    this.#lengthKnown = !request.headers.has("transfer-encoding");
    this.#startedMs = request.startedMs;
    this.#spill = new Spill(limits.spillFolder);
    limits.slowClients.watch(this);
    res.onData((part, isLast) => this.#take(part, isLast));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    this.#iterated = true;
    try {
      for (;;) {
        // Without a spill nothing is awaited: the rest of the body could arrive meanwhile, and its end would be seen before its parts.
        const part = this.#parts.shift() ?? (this.#spill.empty ? null : await this.#unspilled());
        if (part !== null) {
          try {
            yield part.block.subarray(0, part.bytes);
          } finally {
            this.#limits.blocks.give(part.block);
          }
        } else if (this.#failure !== null) throw this.#failure;
        else if (this.#whole) return;
        else await this.#more();
      }
    } finally {
      this.#spill.close();
    }
  }

  get deadlineMs(): number {
    if (this.#pausedMs !== null) return Number.POSITIVE_INFINITY;
    return this.#startedMs + this.#limits.bodyMsMax + this.#heldBackMs + this.bytes / BYTES_PER_MS_MIN;
  }

  keepOpen(): void {
    // A paused response has no timeout, and must not be resumed here.
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
    // A body that has arrived completely no longer needs its sender.
    if (!this.#whole) this.#fail(new GatewayError("bad_request", { detail: "The body broke off." }));
  }

  /** The answer begins: the rest of the body is skipped. True: its end is unknown, so the connection must close. */
  answered(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#drop();
    this.#limits.slowClients.forget(this);
    // The last part may already be buffered behind the pause, and the connection can serve more requests.
    if (this.#pausedMs !== null) this.#res.resume();
    return !this.#whole && (!this.#lengthKnown || this.#failure !== null);
  }

  /** uWebSockets reuses `part`'s memory after this returns, so it is copied, once. */
  #take(part: ArrayBuffer | Uint8Array, isLast: boolean): void {
    if (this.#over || this.#failure !== null) return;
    this.bytes += part.byteLength;
    this.#keep(part instanceof ArrayBuffer ? new Uint8Array(part) : part);
    if (isLast) {
      this.#whole = true;
      this.#limits.slowClients.forget(this);
    } else if (this.#pausedMs === null && this.#failure === null && this.#parts.length > 0) {
      this.#pausedMs = this.#limits.slowClients.nowMs();
      this.#res.pause();
    }
    this.#wake();
  }

  #keep(bytes: Uint8Array): void {
    if (this.#spill.empty && this.#parts.length <= PARTS_MAX) return this.#copy(bytes);
    try {
      this.#spill.put(bytes);
    } catch (cause) {
      const detail = "There is no room for more at the moment.";
      this.#fail(new GatewayError("storage_unavailable", { detail, retryAfterSeconds: 60, cause }));
    }
  }

  async #unspilled(): Promise<Part> {
    const block = this.#limits.blocks.take();
    return { block, bytes: await this.#spill.take(block) };
  }

  /** Fills the last block first: otherwise each small chunk of a body would take a block of its own. */
  #copy(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      let last = this.#parts.at(-1);
      if (last === undefined || last.bytes === BLOCK_BYTES) {
        last = { block: this.#limits.blocks.take(), bytes: 0 };
        this.#parts.push(last);
      }
      const piece = bytes.subarray(at, at + BLOCK_BYTES - last.bytes);
      last.block.set(piece, last.bytes);
      last.bytes += piece.length;
      at += piece.length;
    }
  }

  #drop(): void {
    for (const { block } of this.#parts.splice(0)) this.#limits.blocks.give(block);
    // Its reader closes it at the end.
    if (!this.#iterated) this.#spill.close();
  }

  #more(): Promise<void> {
    // A part arrived while the file was being read.
    if (this.#parts.length > 0) return Promise.resolve();
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
    this.#drop();
    this.#wake();
  }
}
