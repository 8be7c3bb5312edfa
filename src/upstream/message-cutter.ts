// Splits a streamed answer into messages as they arrive, and keeps only the current one in memory.
import type { Messages } from "../catalog/script.ts";
import { ChunkList } from "../core/chunk-list.ts";
import { ConnectFrames } from "./connect-frames.ts";
import { type CutOutcome, MESSAGE_BYTES_MAX, type MessageCutter } from "./message-bytes.ts";
import { SocketReader } from "./socket-frames.ts";

const LF = 10;

class Lines implements MessageCutter {
  readonly #heard: Messages["heard"];
  readonly #line = new ChunkList();

  constructor(heard: Messages["heard"]) {
    this.#heard = heard;
  }

  push(chunk: Buffer): CutOutcome {
    let start = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
      this.#line.push(chunk.subarray(start, end));
      start = end + 1;
      const outcome = this.end();
      if (outcome !== "more") return outcome;
    }
    this.#line.push(chunk.subarray(start));
    return this.#line.length > MESSAGE_BYTES_MAX ? "broken" : "more";
  }

  /** Ignores blank lines. */
  end(): CutOutcome {
    if (this.#line.length > MESSAGE_BYTES_MAX) return "broken";
    const line = this.#line.take();
    return line.every((byte) => byte <= 0x20) || this.#heard(line, 0) ? "more" : "enough";
  }
}

/** Makes a splitter for messages of that form. `reply` writes to the other side of a web socket. */
export function messageCutter({ form, heard }: Messages, reply: (bytes: Buffer) => void): MessageCutter {
  if (form === "web-socket") return new SocketReader(heard, reply);
  return form === "lines" ? new Lines(heard) : new ConnectFrames(heard);
}
