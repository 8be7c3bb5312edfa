// A reply in memory, for a call that is made inside of the process: its client is a function that waits for all of it.
import type { Reply } from "../endpoint.ts";

export interface KeptAnswer {
  /** 0: the answer broke off, or its client left. */
  readonly status: number;
  readonly type: string;
  readonly bytes: Buffer;
}

export class KeptReply implements Reply {
  closed = false;
  readonly answer: Promise<KeptAnswer>;
  readonly #parts: Buffer[] = [];
  readonly #listeners: (() => void)[] = [];
  #status = 0;
  #type = "";
  #settle: (answer: KeptAnswer) => void = () => {};

  constructor() {
    this.answer = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  onGone(listener: () => void): void {
    this.#listeners.push(listener);
  }

  belongTo(): void {}

  header(name: string, value: string): void {
    if (name === "content-type") this.#type = value;
  }

  begin(status: number): void {
    this.#status = status;
  }

  write(bytes: Uint8Array | string): boolean {
    if (!this.closed) this.#parts.push(Buffer.from(bytes as Uint8Array));
    return true;
  }

  onRoom(): void {}

  end(bytes?: Uint8Array | string): void {
    if (bytes !== undefined) this.write(bytes);
    this.#close(this.#status);
  }

  send(status: number, body: Uint8Array | string): void {
    this.begin(status);
    this.end(body);
  }

  cut(): void {
    this.#close(0);
  }

  /** Its client leaves. */
  leave(): void {
    if (this.closed) return;
    this.#close(0);
    for (const listener of this.#listeners) listener();
  }

  #close(status: number): void {
    if (this.closed) return;
    this.closed = true;
    this.#settle({ status, type: this.#type, bytes: Buffer.concat(this.#parts) });
  }
}
