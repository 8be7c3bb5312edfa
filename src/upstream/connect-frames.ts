// Frames of a Connect protocol stream: one byte of flags, a four-byte length, and that many bytes of JSON.
import type { Messages } from "../catalog/script.ts";
import { ChunkList } from "../core/chunk-list.ts";
import { type CutOutcome, MESSAGE_BYTES_MAX, type MessageCutter } from "./message-bytes.ts";

const HEAD_BYTES = 5;
/** The flag of a compressed frame; we never ask for one. */
const COMPRESSED = 1;

/** Reads frames (Connect protocol, streaming RPCs). A frame's `mark` is its flags; 2 marks the last frame. */
export class ConnectFrames implements MessageCutter {
  readonly #heard: Messages["heard"];
  readonly #pending = new ChunkList();
  #needed = HEAD_BYTES;

  constructor(heard: Messages["heard"]) {
    this.#heard = heard;
  }

  push(chunk: Buffer): CutOutcome {
    this.#pending.push(chunk);
    if (this.#pending.length < this.#needed) return "more";
    let bytes = this.#pending.take();
    while (bytes.length >= HEAD_BYTES) {
      const mark = bytes.readUInt8(0);
      const length = bytes.readUInt32BE(1);
      if (length > MESSAGE_BYTES_MAX || (mark & COMPRESSED) !== 0) return "broken";
      this.#needed = HEAD_BYTES + length;
      if (bytes.length < this.#needed) break;
      if (!this.#heard(bytes.subarray(HEAD_BYTES, this.#needed), mark)) return "enough";
      bytes = bytes.subarray(this.#needed);
      this.#needed = HEAD_BYTES;
    }
    this.#pending.push(bytes);
    return "more";
  }

  end(): CutOutcome {
    return this.#pending.length === 0 ? "more" : "broken";
  }
}

export function connectFrame(text: string): Buffer {
  const bytes = Buffer.from(text);
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}
