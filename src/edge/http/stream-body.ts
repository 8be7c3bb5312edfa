// Hands a long request body on as it comes: its sender is held back until each part has been taken, so that little of it is ever kept.
import type { GatewayRequest, IncomingBody } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { BLOCK_BYTES, type BlockPool } from "./block-pool.ts";
import type { EngineResponse } from "./engine.ts";
import type { BodyLimits } from "./read-request.ts";
import type { SlowClient } from "./slow-clients.ts";
import { Spill } from "./spill.ts";

/** The least that a sender must manage on the whole, after the time that any body is given: 4 KiB a second. */
const BYTES_PER_MS_MIN = 4;

export interface StreamLimits extends BodyLimits {
  readonly blocks: BlockPool;
  /** Where bodies wait that come faster than they can be held back. */
  readonly spillFolder: string;
}

/**
 * So many parts of a body wait in memory. A sender that is held back may still be heard for as long as its socket fills the reader's
 * buffer, which from the same machine can be megabytes.
 */
const PARTS_MAX = 4;

/** A block of memory and how much of it is filled. */
interface Part {
  readonly block: Uint8Array;
  bytes: number;
}

/**
 * One part at a time leaves the socket; the next is read when the last has been taken. Must be made in the route handler itself, and
 * told when the client leaves (`abandon`) and when its answer begins (`answered`): the response is not touched after either.
 */
export class StreamBody implements IncomingBody, SlowClient {
  bytes = 0;
  readonly #res: EngineResponse;
  readonly #limits: StreamLimits;
  readonly #lengthKnown: boolean;
  readonly #startedMs: number;
  readonly #parts: Part[] = [];
  /** What comes behind `#parts`. */
  readonly #spill: Spill;
  #iterated = false;
  #failure: GatewayError | null = null;
  #whole = false;
  /** The response is no longer ours to touch. */
  #over = false;
  /** When we began to hold the sender back; null: we wait for it. */
  #pausedMs: number | null = null;
  /** How long we have held it back: not to be counted against it. */
  #heldBackMs = 0;
  #wake: () => void = () => {};

  constructor(res: EngineResponse, request: GatewayRequest, limits: StreamLimits) {
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
        const part = this.#parts.shift() ?? (await this.#unspilled());
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

  /** The answer begins: what is left of the body is read past. True: it is not known where it ends, so the connection must. */
  answered(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#drop();
    this.#limits.slowClients.forget(this);
    // The last part may have come behind one that held the sender back, and its connection is good for more requests.
    if (this.#pausedMs !== null) this.#res.resume();
    return !this.#whole && (!this.#lengthKnown || this.#failure !== null);
  }

  /** uWebSockets takes `part` back when this returns, so it is copied, once. */
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
      const detail = { detail: "There is no room for more at the moment." };
      this.#fail(new GatewayError("storage_unavailable", { detail, retryAfterSeconds: 60, cause }));
    }
  }

  async #unspilled(): Promise<Part | null> {
    if (this.#spill.empty) return null;
    const block = this.#limits.blocks.take();
    return { block, bytes: await this.#spill.take(block) };
  }

  /** Fills what is left of the last block first: of a body in small chunks, each would else have a block of its own. */
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
    // It came while the file was looked at.
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
