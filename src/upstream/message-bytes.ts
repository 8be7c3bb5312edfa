// What the readers of streams of messages have in common: the bytes of the message that is being read, and how reading goes on.

/** A longer message is nobody's output, and ends the answer. */
export const MESSAGE_BYTES_MAX = 4 * 1024 * 1024;

/** `over`: the other side has said that this was all. `enough`: whoever hears it wants no more. `broken`: these are no messages. */
export type CutOutcome = "more" | "over" | "enough" | "broken";

export interface MessageCutter {
  push(chunk: Buffer): CutOutcome;
  /** The bytes have ended. */
  end(): CutOutcome;
}

/** Bytes that have come and are no whole message yet; however many pieces they came in, they are joined once. */
export class Pending {
  #chunks: Buffer[] = [];
  length = 0;

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.length += chunk.length;
  }

  /** All of them, which are then no longer here. */
  take(): Buffer {
    const [only] = this.#chunks;
    const all = this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.length = 0;
    return all;
  }
}
