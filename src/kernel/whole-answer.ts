// The reader of an inner call: it never leaves, is never slow, and keeps what comes before the last part.
import type { AnswerReader } from "../core/plan.ts";

export class WholeAnswer implements AnswerReader {
  readonly closed = false;
  readonly #chunks: Uint8Array[] = [];

  onGone(): void {}

  onRoom(): void {}

  admitted(): void {}

  begin(): void {}

  write(bytes: Uint8Array): boolean {
    this.#chunks.push(bytes);
    return true;
  }

  /** What was streamed; empty where the answer is its last part alone. */
  streamed(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}
