// The server's side of a web socket (RFC 6455): what the sandbox needs where a vendor speaks one.
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const TEXT = 1;
const BINARY = 2;
const NORMAL_CLOSE = Buffer.from([0x88, 0x02, 0x03, 0xe8]);
/** What is said to the sandbox in one message, and all of it together, is no longer than a command. */
const SAID_BYTES_MAX = 4 * 1024 * 1024;
const HEAD_BYTES_MIN = 6;

type Said = readonly (string | Uint8Array)[];

/** A frame of a server: nothing masks it. */
export function serverFrame(payload: string | Uint8Array): Buffer {
  const bytes = Buffer.from(payload);
  const { length } = bytes;
  const extra = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const head = Buffer.alloc(2 + extra);
  head.writeUInt8(0x80 | (typeof payload === "string" ? TEXT : BINARY), 0);
  head.writeUInt8(extra === 0 ? length : extra === 2 ? 126 : 127, 1);
  if (extra === 2) head.writeUInt16BE(length, 2);
  if (extra === 8) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, bytes]);
}

/** The first message of a client, and where what follows it begins; null: not all of it has come. Throws where it is none. */
function firstMessage(
  bytes: Buffer,
): { readonly payload: Buffer; readonly isBinary: boolean; readonly end: number } | null {
  if (bytes.length < HEAD_BYTES_MIN) return null;
  const second = bytes.readUInt8(1);
  const short = second & 0x7f;
  const extra = short === 126 ? 2 : short === 127 ? 8 : 0;
  const start = HEAD_BYTES_MIN + extra;
  if (bytes.length < start) return null;
  const length = extra === 2 ? bytes.readUInt16BE(2) : extra === 8 ? Number(bytes.readBigUInt64BE(2)) : short;
  if ((second & 0x80) === 0 || length > SAID_BYTES_MAX) throw new Error("no frame of a client");
  if (bytes.length < start + length) return null;
  const mask = bytes.subarray(start - 4, start);
  const payload = Buffer.from(bytes.subarray(start, start + length).map((byte, at) => byte ^ (mask[at & 3] ?? 0)));
  return { payload, isBinary: (bytes.readUInt8(0) & 0x0f) === BINARY, end: start + length };
}

/** Opens the socket that was asked for. */
export function openSocket({ headers }: IncomingMessage, socket: Duplex): void {
  const accept = createHash("sha1").update(`${headers["sec-websocket-key"]}${GUID}`).digest("base64");
  const head = ["HTTP/1.1 101 Switching Protocols", "upgrade: websocket", "connection: upgrade"];
  socket.write(`${[...head, `sec-websocket-accept: ${accept}`].join("\r\n")}\r\n\r\n`);
}

/**
 * Listens to an open socket: `answerTo` is given all binary messages whenever another has come, and what it answers is said before the
 * farewell; undefined: it listens on.
 */
export function converse(
  socket: Duplex,
  head: Buffer,
  answerTo: (said: readonly Uint8Array[]) => Said | undefined,
): void {
  const said: Buffer[] = [];
  let pending = head;
  const listen = (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    for (let message = firstMessage(pending); message !== null; message = firstMessage(pending)) {
      pending = pending.subarray(message.end);
      if (!message.isBinary) continue;
      said.push(message.payload);
      const answer = answerTo(said);
      if (answer === undefined) continue;
      socket.off("data", onData);
      for (const one of answer) socket.write(serverFrame(one));
      return void socket.end(NORMAL_CLOSE);
    }
  };
  const onData = (chunk: Buffer) => {
    try {
      listen(chunk);
    } catch {
      socket.destroy();
    }
  };
  socket.on("data", onData);
  socket.on("end", () => socket.destroy());
}
