// What the readers of streams of messages have in common: how long a message may be, and how reading goes on.

/** A longer message is no vendor's output, and ends the answer. */
export const MESSAGE_BYTES_MAX = 4 * 1024 * 1024;

/** `over`: the other side has said that this was all. `enough`: its listener wants no more. `broken`: these are no messages. */
export type CutOutcome = "more" | "over" | "enough" | "broken";

export interface MessageCutter {
  push(chunk: Buffer): CutOutcome;
  /** The bytes have ended. */
  end(): CutOutcome;
}
