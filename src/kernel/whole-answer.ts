// The reader of an inner call: never disconnects, is never slow, and collects what is streamed before the final part.
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

  /** The streamed bytes; empty where the answer is only its final part. */
  streamed(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}
