// An in-memory reply, for calls made in process.
import type { Reply } from "../../core/endpoint.ts";
import type { AnswerBytes, WaitingAnswer } from "../../platform/limits/answer-bytes.ts";

export interface KeptAnswer {
  /** 0: the answer was cut off, or its client left. */
  readonly status: number;
  readonly type: string;
  readonly bytes: Buffer;
  /** From the headers of a payment without an account: the challenge and the receipt. */
  readonly asked?: string;
  readonly receipt?: string;
}

const KEPT = { "payment-required": "asked", "payment-response": "receipt" } as const;

export class KeptReply implements Reply, WaitingAnswer {
  closed = false;
  /** The owner that the answer's memory counts against. */
  owner = "";
  readonly answer: Promise<KeptAnswer>;
  readonly #parts: Buffer[] = [];
  readonly #listeners: (() => void)[] = [];
  readonly #payment: { asked?: string; receipt?: string } = {};
  #status = 0;
  #type = "";
  #settle: (answer: KeptAnswer) => void = () => {};

  readonly #answers: AnswerBytes;

  constructor(answers: AnswerBytes) {
    this.#answers = answers;
    this.answer = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  onGone(listener: () => void): void {
    this.#listeners.push(listener);
  }

  belongTo(owner: string): void {
    this.owner = owner;
  }

  /** Called when waiting answers take too much memory: the call continues, and its client gets a cut-off answer. */
  giveUp(): void {
    this.#close(0);
  }

  header(name: string, value: string): void {
    if (name === "content-type") this.#type = value;
    if (name === "payment-required" || name === "payment-response") this.#payment[KEPT[name]] = value;
  }

  begin(status: number): void {
    this.#status = status;
  }

  write(bytes: Uint8Array | string): boolean {
    if (this.closed) return true;
    const part = Buffer.from(bytes as Uint8Array);
    this.#parts.push(part);
    this.#answers.take(this, part);
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

  leave(): void {
    if (this.closed) return;
    this.#close(0);
    for (const listener of this.#listeners) listener();
  }

  #close(status: number): void {
    if (this.closed) return;
    this.closed = true;
    this.#answers.close(this);
    this.#settle({ status, type: this.#type, bytes: Buffer.concat(this.#parts), ...this.#payment });
  }
}
