// The parts of an answer that its client cannot take yet, in order. Their memory counts against their owner until the client takes them or
// leaves.
import type { AnswerBytes, WaitingAnswer } from "../../platform/limits/answer-bytes.ts";

export class HeldParts implements WaitingAnswer {
  readonly owner: string;
  readonly giveUp: () => void;
  readonly #answers: AnswerBytes;
  #parts: Uint8Array[] = [];

  /** `giveUp` is called where the limit for all waiting answers leaves no room. */
  constructor(answers: AnswerBytes, owner: string, giveUp: () => void) {
    this.#answers = answers;
    this.owner = owner;
    this.giveUp = giveUp;
  }

  push(part: Uint8Array): void {
    this.#parts.push(part);
    this.#answers.take(this, part);
  }

  /** Puts back the rest of the part that was shifted last. */
  unshift(part: Uint8Array): void {
    this.#parts.unshift(part);
    this.#answers.take(this, part);
  }

  shift(): Uint8Array | undefined {
    const part = this.#parts.shift();
    if (part !== undefined) this.#answers.give(this, part);
    return part;
  }

  /** The client has taken some of a whole answer. */
  moved(): void {
    const part = this.shift();
    if (part !== undefined) this.unshift(part);
  }

  close(): void {
    this.#parts = [];
    this.#answers.close(this);
  }
}
