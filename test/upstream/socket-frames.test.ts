// Frames of a vendor's web socket: what we send is masked with a new mask each time, and a message without end breaks the connection.
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { SocketReader, textFrame } from "../../src/upstream/socket-frames.ts";

const MIB = 1024 * 1024;

/** The payload and mask of a client's frame. */
function unmasked(frame: Buffer) {
  const short = frame.readUInt8(1) & 0x7f;
  const from = short < 126 ? 6 : short === 126 ? 8 : 14;
  const length = short < 126 ? short : short === 126 ? frame.readUInt16BE(2) : Number(frame.readBigUInt64BE(2));
  const mask = frame.subarray(from - 4, from);
  const payload = Buffer.from(frame.subarray(from).map((byte, at) => byte ^ (mask[at % 4] ?? 0)));
  return {
    first: frame.readUInt8(0),
    isMasked: frame.readUInt8(1) >= 0x80,
    length,
    mask: mask.toString("hex"),
    payload,
  };
}

test.each([0, 1, 3, 4, 5, 125, 126, 1_330, 65_535, 65_536])("a message of %i bytes arrives as it was", (bytes) => {
  const message = randomBytes(bytes);
  const { first, isMasked, length, payload } = unmasked(textFrame(message));
  expect([first, isMasked, length]).toEqual([0x81, true, bytes]);
  expect(payload.equals(message)).toBe(true);
});

test("each frame has a mask of its own", () => {
  const masks = Array.from({ length: 3_000 }, () => unmasked(textFrame(Buffer.from("hello"))).mask);
  expect(new Set(masks).size).toBeGreaterThan(2_990);
});

/** A server's frame with a length of 64 bits, which it announces. */
function served(first: number, announced: number, payload = Buffer.alloc(0)): Buffer {
  const head = Buffer.from([first, 127, 0, 0, 0, 0, 0, 0, 0, 0]);
  head.writeBigUInt64BE(BigInt(announced), 2);
  return Buffer.concat([head, payload]);
}

test("a frame that announces more than a message may have is refused at its head", () => {
  const reader = new SocketReader(
    () => true,
    () => {},
  );
  expect(reader.push(served(0x81, 2 ** 40))).toBe("broken");
});

test("a message whose fragments never end is refused at four megabytes", () => {
  const reader = new SocketReader(
    () => true,
    () => {},
  );
  const piece = Buffer.alloc(MIB);
  const outcomes = [1, 0, 0, 0, 0].map((opcode) => reader.push(served(opcode, MIB, piece)));
  expect(outcomes).toEqual(["more", "more", "more", "more", "broken"]);
});
