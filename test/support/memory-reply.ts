// An in-memory reply, for serving without a transport.
import type { Reply } from "../../src/core/endpoint.ts";

export interface MemoryReply extends Reply {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly cutOff: boolean;
  body(): Buffer;
  text(): string;
  /** The client leaves. */
  leave(): void;
  /** From now on `write` returns false until `room` is called. */
  fill(): void;
  room(): void;
  /** Settles when the answer has ended or broken off. */
  readonly ended: Promise<void>;
}

class KeptReply implements MemoryReply {
  status = 0;
  readonly headers = new Map<string, string>();
  closed = false;
  cutOff = false;
  readonly ended: Promise<void>;
  readonly #chunks: Buffer[] = [];
  #full = false;
  #gone: (() => void) | null = null;
  #onRoom: (() => void) | null = null;
  #settle: () => void = () => {};

  constructor() {
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  onGone(listener: () => void): void {
    this.#gone = listener;
  }

  onRoom(listener: () => void): void {
    this.#onRoom = listener;
  }

  belongTo(): void {}

  header(name: string, value: string): void {
    this.headers.set(name, value);
  }

  begin(status: number): void {
    this.status = status;
  }

  write(bytes: Uint8Array | string): boolean {
    if (!this.closed) this.#chunks.push(Buffer.from(bytes as Uint8Array));
    return !this.#full;
  }

  end(bytes?: Uint8Array | string): void {
    if (this.closed) return;
    if (bytes !== undefined) this.write(bytes);
    this.#close();
  }

  send(status: number, body: Uint8Array | string): void {
    this.begin(status);
    this.end(body);
  }

  cut(): void {
    this.cutOff = true;
    this.#close();
  }

  body(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  text(): string {
    return this.body().toString("utf8");
  }

  leave(): void {
    if (this.closed) return;
    this.#close();
    this.#gone?.();
  }

  fill(): void {
    this.#full = true;
  }

  room(): void {
    this.#full = false;
    this.#onRoom?.();
  }

  #close(): void {
    this.closed = true;
    this.#settle();
  }
}

export function createMemoryReply(): MemoryReply {
  return new KeptReply();
}
