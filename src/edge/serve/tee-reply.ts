// A reply that copies what it passes on, up to a limit: the copy is exactly what the client received.
import type { Reply } from "../../core/endpoint.ts";

export interface Copied {
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
}

/** Receives the bytes of an answer with its media type, as they are sent. */
interface Recorder {
  take(bytes: Buffer, type: string): void;
}

export class TeeReply implements Reply {
  readonly #reply: Reply;
  readonly #bytesMax: number;
  readonly #recorder: Recorder | null;
  readonly #headers: Record<string, string> = {};
  #parts: Buffer[] = [];
  #bytes = 0;
  #ended = false;

  constructor(reply: Reply, bytesMax: number, recorder: Recorder | null = null) {
    this.#reply = reply;
    this.#bytesMax = bytesMax;
    this.#recorder = recorder;
  }

  /** The whole answer; null: it has not ended, or is too long. */
  get copied(): Copied | null {
    if (!this.#ended || this.#bytes > this.#bytesMax) return null;
    return { headers: this.#headers, bytes: Buffer.concat(this.#parts) };
  }

  get closed(): boolean {
    return this.#reply.closed;
  }

  onGone(listener: () => void): void {
    this.#reply.onGone(listener);
  }

  belongTo(owner: string): void {
    this.#reply.belongTo(owner);
  }

  header(name: string, value: string): void {
    this.#headers[name] = value;
    this.#reply.header(name, value);
  }

  begin(status: number, bytesTotal?: number): void {
    this.#reply.begin(status, bytesTotal);
  }

  write(bytes: Uint8Array | string): boolean {
    this.#copy(bytes);
    return this.#reply.write(bytes);
  }

  onRoom(listener: () => void): void {
    this.#reply.onRoom(listener);
  }

  end(bytes?: Uint8Array | string): void {
    if (bytes !== undefined) this.#copy(bytes);
    this.#ended = true;
    this.#reply.end(bytes);
  }

  send(status: number, body: Uint8Array | string): void {
    this.#copy(body);
    this.#ended = true;
    this.#reply.send(status, body);
  }

  cut(): void {
    this.#reply.cut();
  }

  #copy(part: Uint8Array | string): void {
    this.#bytes += Buffer.byteLength(part);
    const fits = this.#bytes <= this.#bytesMax;
    if (!fits) this.#parts = [];
    if (!fits && this.#recorder === null) return;
    const bytes = Buffer.from(part as Uint8Array);
    this.#recorder?.take(bytes, this.#headers["content-type"] ?? "");
    if (fits) this.#parts.push(bytes);
  }
}
