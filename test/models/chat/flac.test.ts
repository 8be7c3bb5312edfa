// A FLAC file's hold follows from its frames: hours of silence take a few bytes per block, and the length in the header is only the
// sender's claim.
import { describe, expect, it } from "vitest";
import { soundSecondsMax } from "../../../src/models/chat/units/sound-seconds.ts";

const HERTZ = 44_100;
const BLOCK_SAMPLES = 4_096;

function crc8(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x80 ? 0x07 : 0)) & 0xff;
  }
  return crc;
}

/** The marker and a STREAMINFO block that claims no samples. */
function streamInfo(hertz: number): Buffer {
  const info = Buffer.alloc(34);
  info.writeUIntBE(hertz << 4, 10, 3);
  return Buffer.concat([Buffer.from("fLaC"), Buffer.from([0x80, 0, 0, 34]), info]);
}

/** A frame of silence: 4,096 constant samples of one channel, at the stream's own rate. */
function silentFrame(number: number): Buffer {
  const coded = number < 0x80 ? [number] : [0xc0 | (number >> 6), 0x80 | (number & 0x3f)];
  const head = Buffer.from([0xff, 0xf8, 0xc0, 0x08, ...coded]);
  return Buffer.concat([head, Buffer.from([crc8(head), 0x00, 0x00, 0x00, 0x12, 0x34])]);
}

function uploaded(bytes: Buffer, pieceBytes = 65_536) {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
  }
  return { field: "file", filename: "a.flac", contentType: "audio/flac", size: bytes.length, bytes: pieces };
}

const silence = (frames: number) =>
  Buffer.concat([streamInfo(HERTZ), ...Array.from({ length: frames }, (_, at) => silentFrame(at % 2_000))]);

describe("the longest that FLAC can last", () => {
  it("is that of its frames, whatever its head claims", async () => {
    const seconds = await soundSecondsMax(uploaded(silence(1_000)));
    expect(seconds).toBe(Math.ceil((1_000 * BLOCK_SAMPLES) / HERTZ));
  });

  it("is the same in pieces of any length", async () => {
    const bytes = silence(50);
    const whole = await soundSecondsMax(uploaded(bytes));
    for (const pieceBytes of [1, 7, 13, 64]) expect(await soundSecondsMax(uploaded(bytes, pieceBytes))).toBe(whole);
  });

  it("counts at least what 25 bytes a second hide", async () => {
    const bytes = silence(5_000);
    const seconds = (5_000 * BLOCK_SAMPLES) / HERTZ;
    expect(bytes.length / seconds).toBeLessThan(140);
    expect(await soundSecondsMax(uploaded(bytes))).toBeGreaterThanOrEqual(seconds);
  });

  it("of a format that cannot be read is what its bytes could hide", async () => {
    expect(await soundSecondsMax(uploaded(Buffer.from("????".repeat(400))))).toBe(100);
  });
});
