// The client side of a web socket (RFC 6455): the handshake's headers, and writing and reading frames.
import { createHash, randomBytes, randomFillSync } from "node:crypto";
import type { Messages } from "../catalog/script.ts";
import { ChunkList } from "../core/chunk-list.ts";
import { type CutOutcome, MESSAGE_BYTES_MAX, type MessageCutter } from "./message-bytes.ts";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const CONTINUATION = 0;
const TEXT = 1;
const BINARY = 2;
const CLOSE = 8;
const PING = 9;
const PONG = 10;
const CONTROL_BYTES_MAX = 125;
const NORMAL = Buffer.from([0x03, 0xe8]);

/** The headers that a request adds to open a socket, and the value that the answer must return (RFC 6455, 4.1). */
export function handshake(): { readonly headers: Readonly<Record<string, string>>; readonly accept: string } {
  const key = randomBytes(16).toString("base64");
  const accept = createHash("sha1")
    .update(key + GUID)
    .digest("base64");
  return { headers: { "sec-websocket-key": key, "sec-websocket-version": "13" }, accept };
}

/** Random bytes for the masks of many frames, because each call for some takes about a microsecond. */
const MASKS = Buffer.alloc(4_096);
let masksUsed = MASKS.length;

/** Masks the payload that begins at `from`, four bytes at a time. A vendor must not be able to predict the mask (RFC 6455, 10.3). */
function mask(whole: Buffer, from: number): void {
  if (masksUsed === MASKS.length) {
    randomFillSync(MASKS);
    masksUsed = 0;
  }
  const key = MASKS.subarray(masksUsed, masksUsed + 4);
  masksUsed += 4;
  whole.set(key, from - 4);
  const [a = 0, b = 0, c = 0, d = 0] = key;
  let at = from;
  for (; at + 3 < whole.length; at += 4) {
    whole[at] = (whole[at] ?? 0) ^ a;
    whole[at + 1] = (whole[at + 1] ?? 0) ^ b;
    whole[at + 2] = (whole[at + 2] ?? 0) ^ c;
    whole[at + 3] = (whole[at + 3] ?? 0) ^ d;
  }
  for (; at < whole.length; at++) whole[at] = (whole[at] ?? 0) ^ (key[(at - from) & 3] ?? 0);
}

/** Encodes one unfragmented message, masked as clients must (RFC 6455, 5.3). */
function frame(opcode: number, payload: Uint8Array): Buffer {
  const { length } = payload;
  const extra = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const from = 2 + extra + 4;
  const whole = Buffer.allocUnsafe(from + length);
  whole.writeUInt8(0x80 | opcode, 0);
  whole.writeUInt8(0x80 | (extra === 0 ? length : extra === 2 ? 126 : 127), 1);
  if (extra === 2) whole.writeUInt16BE(length, 2);
  if (extra === 8) whole.writeBigUInt64BE(BigInt(length), 2);
  whole.set(payload, from);
  mask(whole, from);
  return whole;
}

export function saidFrame(payload: Uint8Array): Buffer {
  return frame(BINARY, payload);
}

export function textFrame(payload: Uint8Array): Buffer {
  return frame(TEXT, payload);
}

interface Head {
  readonly isLast: boolean;
  readonly opcode: number;
  /** The size of the head itself. */
  readonly bytes: number;
  readonly length: number;
}

/** Parses the head of a server's frame; null if it is incomplete. An invalid head gets an infinite length. */
function headOf(bytes: Buffer): Head | null {
  if (bytes.length < 2) return null;
  const first = bytes.readUInt8(0);
  const second = bytes.readUInt8(1);
  const short = second & 0x7f;
  const extra = short === 126 ? 2 : short === 127 ? 8 : 0;
  if (bytes.length < 2 + extra) return null;
  const long = extra === 2 ? bytes.readUInt16BE(2) : Number(extra === 8 ? bytes.readBigUInt64BE(2) : short);
  // We negotiate no extensions, and servers must not mask.
  const isStrange = (first & 0x70) !== 0 || (second & 0x80) !== 0;
  return {
    isLast: (first & 0x80) !== 0,
    opcode: first & 0x0f,
    bytes: 2 + extra,
    length: isStrange ? Number.POSITIVE_INFINITY : long,
  };
}

/** Reads a server's messages; answers pings and the close frame. A message's `mark` is its opcode. */
export class SocketReader implements MessageCutter {
  readonly #heard: Messages["heard"];
  readonly #reply: (bytes: Buffer) => void;
  readonly #pending = new ChunkList();
  #needed = 2;
  /** The fragments of an unfinished message. */
  readonly #fragments = new ChunkList();
  #opcode = CONTINUATION;

  constructor(heard: Messages["heard"], reply: (bytes: Buffer) => void) {
    this.#heard = heard;
    this.#reply = reply;
  }

  push(chunk: Buffer): CutOutcome {
    this.#pending.push(chunk);
    if (this.#pending.length < this.#needed) return "more";
    let bytes = this.#pending.take();
    this.#needed = 2;
    for (let head = headOf(bytes); head !== null; head = headOf(bytes)) {
      if (head.length > MESSAGE_BYTES_MAX) return "broken";
      const end = head.bytes + head.length;
      this.#needed = end;
      if (bytes.length < end) break;
      const outcome = this.#take(head, bytes.subarray(head.bytes, end));
      if (outcome !== "more") return outcome;
      bytes = bytes.subarray(end);
      this.#needed = 2;
    }
    this.#pending.push(bytes);
    return "more";
  }

  /** A connection that ends without a close frame is broken: the rest of its data is lost. */
  end(): CutOutcome {
    return "broken";
  }

  #take(head: Head, payload: Buffer): CutOutcome {
    const { opcode, isLast } = head;
    if (opcode >= CLOSE)
      return isLast && payload.length <= CONTROL_BYTES_MAX ? this.#control(opcode, payload) : "broken";
    const continues = opcode === CONTINUATION;
    if (continues === (this.#opcode === CONTINUATION)) return "broken";
    if (!continues) this.#opcode = opcode;
    this.#fragments.push(payload);
    if (this.#fragments.length > MESSAGE_BYTES_MAX) return "broken";
    if (!isLast) return "more";
    const mark = this.#opcode;
    this.#opcode = CONTINUATION;
    return this.#heard(this.#fragments.take(), mark) ? "more" : "enough";
  }

  #control(opcode: number, payload: Buffer): CutOutcome {
    if (opcode === PING) this.#reply(frame(PONG, payload));
    if (opcode === CLOSE) this.#reply(frame(CLOSE, NORMAL));
    return opcode === CLOSE ? "over" : "more";
  }
}
