// The longest that crafted Ogg and WebM files can sound: a vendor cannot bill more than the hold.
import { describe, expect, it } from "vitest";
import { soundSecondsMax } from "../../../src/models/chat/units/sound-seconds.ts";

function secondsOf(bytes: Buffer, piece = 1_000): Promise<number> {
  const file = { field: "file", filename: "a", contentType: "audio/ogg", size: bytes.length };
  return soundSecondsMax({
    ...file,
    async *bytes() {
      for (let at = 0; at < bytes.length; at += piece) yield bytes.subarray(at, at + piece);
    },
  });
}

interface Page {
  readonly packets: readonly Buffer[];
  readonly flags?: number;
  readonly granule?: bigint;
  readonly serial?: number;
}

function page({ packets, flags = 0, granule = 0n, serial = 7 }: Page): Buffer {
  const laces = packets.flatMap(({ length }) => [...Array<number>(Math.floor(length / 255)).fill(255), length % 255]);
  const head = Buffer.alloc(27);
  head.write("OggS");
  head[5] = flags;
  head.writeBigUInt64LE(granule, 6);
  head.writeUInt32LE(serial, 14);
  head[26] = laces.length;
  return Buffer.concat([head, Buffer.from(laces), ...packets]);
}

const BOS = 2;
const opusHead = page({ packets: [Buffer.from("OpusHead\x01\x01")], flags: BOS });
/** 20 ms of ordinary speech. */
const speech = Buffer.concat([Buffer.from([0x48]), Buffer.alloc(60)]);
/** Two frames of 60 ms in one byte. */
const crafted = Buffer.from([0x19]);
const pages = (count: number, packet: Buffer, each: number, more: Partial<Page> = {}) =>
  Array.from({ length: count }, () => page({ packets: Array<Buffer>(each).fill(packet), ...more }));

describe("Opus in Ogg", () => {
  it("is as long as its packets, in whatever pieces they come", async () => {
    const file = Buffer.concat([opusHead, ...pages(100, speech, 50)]);
    expect(await secondsOf(file)).toBe(100);
    expect(await secondsOf(file, 7)).toBe(100);
  });

  it("of a byte a packet is twelve hundred times what its bytes would say, and is counted", async () => {
    const file = Buffer.concat([opusHead, ...pages(100, crafted, 255)]);
    expect(file.length).toBeLessThan(60_000);
    expect(await secondsOf(file)).toBe(3_060);
  });

  it("is counted behind a tag as well", async () => {
    const tag = Buffer.concat([Buffer.from("ID3\x04\0\0"), Buffer.from([0, 0, 40, 0]), Buffer.alloc(40 * 128)]);
    expect(await secondsOf(Buffer.concat([tag, opusHead, ...pages(100, crafted, 255)]))).toBe(3_060);
  });

  it("does not hide behind pages that all begin a stream, a time that says less, or one that says more", async () => {
    const begun = Buffer.concat([opusHead, ...pages(100, crafted, 255, { flags: BOS })]);
    expect(await secondsOf(begun)).toBeGreaterThan(3_000);
    const told = Buffer.concat([
      opusHead,
      ...pages(1, speech, 50, { granule: 1n }),
      ...pages(1, speech, 50, { granule: 48_000_001n }),
    ]);
    expect(await secondsOf(told)).toBe(1_000);
  });

  it("does not begin at the time that a broadcast has", async () => {
    const late = 48_000n * 3_600n;
    const file = Buffer.concat([opusHead, ...pages(2, speech, 50, { granule: late })]);
    expect(await secondsOf(file)).toBe(2);
  });

  it("counts a packet over two pages once, and what is no page as the least that could be hidden", async () => {
    const long = Buffer.concat([speech, Buffer.alloc(255 - speech.length)]);
    const whole = page({ packets: [long] });
    // Its last lacing value is 255: it continues in the next page.
    const open = Buffer.concat([whole.subarray(0, 26), Buffer.from([1, 255]), long]);
    const rest = page({ packets: [Buffer.alloc(20)], flags: 1 });
    expect(await secondsOf(Buffer.concat([opusHead, ...Array<Buffer>(50).fill(Buffer.concat([open, rest]))]))).toBe(1);
    expect(await secondsOf(Buffer.concat([opusHead, Buffer.alloc(16_000, "x")]))).toBeGreaterThanOrEqual(1_000);
  });
});

it("Vorbis in Ogg is as long as the most that its packets can be", async () => {
  const head = Buffer.alloc(30);
  head.write("\x01vorbis");
  head.writeUInt32LE(8_000, 12);
  head[28] = 0xb8;
  const file = Buffer.concat([page({ packets: [head], flags: BOS }), ...pages(10, Buffer.alloc(1), 250)]);
  expect(await secondsOf(file)).toBe(2_500 * (2_048 / 8_000));
});

/** An EBML element with a size of eight bytes; null: its size is unknown, as in a live recording. */
function element(id: number, body: Buffer | null): Buffer {
  const name = Buffer.from(id.toString(16), "hex");
  const size = Buffer.alloc(8, 255);
  size[0] = 1;
  if (body !== null) size.writeBigUInt64BE((1n << 56n) | BigInt(body.length));
  return Buffer.concat([name, size, body ?? Buffer.alloc(0)]);
}

const ebml = element(0x1a45dfa3, Buffer.from("webm"));
const track = (number: number, codec: string) =>
  element(0xae, Buffer.concat([element(0xd7, Buffer.from([number])), element(0x86, Buffer.from(codec))]));
const block = (number: number, packet: Buffer, at = 0, flags = 0) =>
  element(0xa3, Buffer.concat([Buffer.from([0x80 | number, at >> 8, at & 255, flags]), packet]));

describe("WebM", () => {
  const open = (...tracks: Buffer[]) => [
    ebml,
    element(0x18538067, null),
    element(0x1654ae6b, Buffer.concat(tracks)),
    element(0x1f43b675, null),
  ];

  it("as a browser records it is as long as its packets of sound", async () => {
    const blocks = Array.from({ length: 500 }, () => [block(1, speech), block(2, Buffer.alloc(900))]).flat();
    const file = Buffer.concat([...open(track(1, "A_OPUS"), track(2, "V_VP8")), ...blocks]);
    expect(await secondsOf(file)).toBe(10);
    expect(await secondsOf(file, 3)).toBe(10);
  });

  it("is no shorter for what its head says, nor for many frames in a block", async () => {
    const lie = element(0x1549a966, element(0x4489, Buffer.from([0x3f, 0x80, 0, 0])));
    const blocks = Array.from({ length: 100 }, () => block(1, crafted));
    expect(await secondsOf(Buffer.concat([...open(track(1, "A_OPUS")), lie, ...blocks]))).toBe(12);
    const laced = Array.from({ length: 10 }, () => block(1, Buffer.from([255, 0x18]), 0, 2));
    expect(await secondsOf(Buffer.concat([...open(track(1, "A_OPUS")), ...laced]))).toBe(Math.ceil(10 * 256 * 0.12));
  });

  it("is as long as its times say, where they leap", async () => {
    const leap = Buffer.concat([element(0xe7, Buffer.from([0])), block(1, speech)]);
    const later = Buffer.concat([element(0xe7, Buffer.from([0x10, 0, 0])), block(1, speech)]);
    expect(await secondsOf(Buffer.concat([...open(track(1, "A_OPUS")), leap, later]))).toBe(1_049);
  });
});
