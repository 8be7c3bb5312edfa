// FLAC is counted by its frames: silence of hours is a small file, and what is held for it is what a vendor will hear.
import { describe, expect, it } from "vitest";
import { soundSecondsMax, soundSecondsOfBytes } from "../../src/chat/units/sound-seconds.ts";

function fileOf(bytes: Buffer, piece = 1_000) {
  return {
    field: "file",
    filename: "sound",
    contentType: "application/octet-stream",
    sha256: "",
    size: bytes.length,
    async *bytes() {
      for (let at = 0; at < bytes.length; at += piece) yield bytes.subarray(at, at + piece);
    },
    release() {},
  };
}

function crc8(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x80 ? ((crc << 1) ^ 7) & 0xff : crc << 1;
  }
  return crc;
}

/** The head, which says whatever the test wants of the rate. */
function head(hertz: number): Buffer {
  const info = Buffer.alloc(34);
  info.writeUIntBE(hertz << 4, 10, 3);
  return Buffer.concat([Buffer.from("fLaC"), Buffer.from([0x80, 0, 0, 34]), info]);
}

/** A frame of silence: its header, and a constant. */
function frame(number: number, codes: number, more: readonly number[] = []): Buffer {
  const header = Buffer.from([0xff, 0xf8, codes, 0, number & 0x7f, ...more]);
  return Buffer.concat([header, Buffer.from([crc8(header), 0, 0, 0, 0, 0])]);
}

const silence = (frames: number, codes: number, more: readonly number[] = []) =>
  Array.from({ length: frames }, (_, at) => frame(at, codes, more));

describe("a FLAC file", () => {
  it.each([
    ["of 4,096 samples a frame at the file's own rate", 8_000, 0xc0, [], 4_096 / 8_000],
    ["at 44,100 Hz", 8_000, 0xc9, [], 4_096 / 44_100],
    ["that says its samples in two bytes", 8_000, 0x74, [0xff, 0xff], 65_536 / 8_000],
    ["that says its rate in kilohertz", 8_000, 0xcc, [2], 4_096 / 2_000],
    ["that says its rate in two bytes", 8_000, 0xcd, [0, 100], 4_096 / 100],
  ])("%s sounds as long as its frames", async (_, hertz, codes, more, each) => {
    const file = Buffer.concat([head(hertz), ...silence(1_000, codes, more)]);
    expect(await soundSecondsMax(fileOf(file))).toBe(Math.ceil(1_000 * each - 1e-9));
    expect(await soundSecondsMax(fileOf(file, 7))).toBe(Math.ceil(1_000 * each - 1e-9));
  });

  it("of three hours of silence in 25 bytes a second is held for three hours", async () => {
    const pad = Buffer.alloc(2);
    const frames = silence(21_094, 0xc4).map((one) => Buffer.concat([one, pad]));
    const file = Buffer.concat([head(8_000), ...frames]);
    expect(file.length / 10_800).toBeLessThan(30);
    expect(await soundSecondsMax(fileOf(file, 65_536))).toBeGreaterThanOrEqual(10_800);
  });

  it("behind a tag is none of MP3's", async () => {
    const tag = Buffer.from([0x49, 0x44, 0x33, 4, 0, 0, 0, 0, 0, 10, ...Buffer.alloc(10)]);
    const file = Buffer.concat([tag, head(8_000), ...silence(1_000, 0xc0)]);
    expect(await soundSecondsMax(fileOf(file))).toBe(512);
  });
});

it.each([
  ["a format that is not known", Buffer.from("FORM....AIFC")],
  ["one that is not known behind a tag", Buffer.from([0x49, 0x44, 0x33, 4, 0, 0, 0, 0, 0, 2, 0, 0, 0xff, 0xf1, 0x6c])],
])("%s is held for all that its bytes could hide", async (_, start) => {
  const file = Buffer.concat([start, Buffer.alloc(16_000, "x")]);
  expect(await soundSecondsMax(fileOf(file))).toBeGreaterThanOrEqual(1_000);
});

it("by its bytes alone, a file is never held for less than by what is found in it", async () => {
  const file = fileOf(Buffer.concat([head(8_000), Buffer.alloc(32_000)]));
  expect(soundSecondsOfBytes(file)).toBeGreaterThanOrEqual(await soundSecondsMax(file));
});
