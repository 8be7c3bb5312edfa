// What a client has no room for yet of its answer, in order, counted as its owner's until the client takes it or leaves.
import type { AnswerBytes, WaitingAnswer } from "../../platform/limits/answer-bytes.ts";

export class HeldParts implements WaitingAnswer {
  readonly owner: string;
  readonly giveUp: () => void;
  readonly #answers: AnswerBytes;
  #parts: Uint8Array[] = [];

  /** `giveUp` is called where there is no room for it among all answers that wait. */
  constructor(answers: AnswerBytes, owner: string, giveUp: () => void) {
    this.#answers = answers;
    this.owner = owner;
    this.giveUp = giveUp;
  }

  push(part: Uint8Array): void {
    this.#parts.push(part);
    this.#answers.take(this, part);
  }

  /** Puts a part before all others: the rest of what was shifted last. */
  unshift(part: Uint8Array): void {
    this.#parts.unshift(part);
    this.#answers.take(this, part);
  }

  shift(): Uint8Array | undefined {
    const part = this.#parts.shift();
    if (part !== undefined) this.#answers.give(this, part);
    return part;
  }

  /** The client has taken some of what is kept as a whole. */
  moved(): void {
    const part = this.shift();
    if (part !== undefined) this.unshift(part);
  }

  /** Keeps nothing any more. */
  close(): void {
    this.#parts = [];
    this.#answers.close(this);
  }
}
