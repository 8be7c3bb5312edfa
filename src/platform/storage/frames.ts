// Framing for messages between processes of this machine: four bytes of length, one for the type, and text.
import type { Socket } from "node:net";

/** The maximum message. Both sides are ours, so a longer one is a bug and is not buffered. */
export const FRAME_BYTES_MAX = 256 * 1_048_576;
const LENGTH_BYTES = 4;
const HEAD_BYTES = LENGTH_BYTES + 1;
/** Text is passed on as it is; everything else is JSON. */
const TEXT = 0;
const JSON_VALUE = 1;

/** Throws RangeError if the message is too long. */
export function frameOf(message: unknown): Buffer {
  const isText = typeof message === "string";
  const text = isText ? message : JSON.stringify(message);
  const length = Buffer.byteLength(text);
  if (length > FRAME_BYTES_MAX) throw new RangeError(`a message of ${length} bytes is too long for the store's socket`);
  const frame = Buffer.allocUnsafe(HEAD_BYTES + length);
  frame.writeUInt32LE(length, 0);
  frame[LENGTH_BYTES] = isText ? TEXT : JSON_VALUE;
  frame.write(text, HEAD_BYTES);
  return frame;
}

/** Splits a socket's bytes into messages. Drops an incomplete message at the end. */
export class FrameReader {
  readonly #onMessage: (message: unknown) => void;
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** The bytes needed to make progress. */
  #needed = HEAD_BYTES;

  constructor(onMessage: (message: unknown) => void) {
    this.#onMessage = onMessage;
  }

  /** Throws if the bytes are not a valid message. */
  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < this.#needed) return;
    const all = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks, this.#bytes);
    let at = 0;
    for (;;) {
      this.#needed = HEAD_BYTES;
      if (all.length - at < HEAD_BYTES) break;
      const length = all.readUInt32LE(at);
      if (length > FRAME_BYTES_MAX) throw new RangeError(`a message of ${length} bytes is too long`);
      this.#needed = HEAD_BYTES + length;
      if (all.length - at < this.#needed) break;
      const text = all.toString("utf8", at + HEAD_BYTES, at + this.#needed);
      const isText = all[at + LENGTH_BYTES] === TEXT;
      at += this.#needed;
      this.#onMessage(isText ? text : JSON.parse(text));
    }
    this.#chunks = at < all.length ? [all.subarray(at)] : [];
    this.#bytes = all.length - at;
  }
}

/** Calls `onMessage` for each message that arrives. Destroys the socket if its bytes are none, or `onMessage` throws. */
export function readFrames(socket: Socket, onMessage: (message: unknown) => void): void {
  const reader = new FrameReader(onMessage);
  socket.on("data", (chunk: Buffer) => {
    try {
      reader.push(chunk);
    } catch {
      socket.destroy();
    }
  });
}
