// Shared by the readers of message streams: the size limit of a message, and the outcomes of reading.

/** No vendor sends longer messages; one ends the answer. */
export const MESSAGE_BYTES_MAX = 4 * 1024 * 1024;

/** `over`: the other side marked the end. `enough`: the listener wants no more. `broken`: the bytes are not messages. */
export type CutOutcome = "more" | "over" | "enough" | "broken";

export interface MessageCutter {
  push(chunk: Buffer): CutOutcome;
  end(): CutOutcome;
}
