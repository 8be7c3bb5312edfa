// The longest that crafted MP4 files can sound: by their samples, even where a header claims less.
import { describe, expect, it } from "vitest";
import { soundSecondsMax } from "../../../src/models/chat/units/sound-seconds.ts";

function secondsOf(bytes: Buffer, { piece = 1_000, isStrict = false } = {}): Promise<number> {
  const file = { field: "file", filename: "a.m4a", contentType: "audio/mp4", size: bytes.length };
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += piece) yield bytes.subarray(at, at + piece);
  }
  return soundSecondsMax({ ...file, bytes: pieces }, isStrict);
}

function box(type: string, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(body.length + 8);
  head.write(type, 4, "latin1");
  return Buffer.concat([head, body]);
}
const words = (...values: readonly number[]) => {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [at, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, 4 * at);
  return bytes;
};

interface Sound {
  readonly samples: number;
  readonly sampleBytes?: number;
  /** Lists each sample's size. */
  readonly sizes?: readonly number[];
  /** The duration of every sample in the time table, in units of 1/44,100 s. */
  readonly delta?: number;
  readonly saysSeconds?: number;
  /** An index: 4 means 44,100 Hz, 11 means 8,000 Hz. */
  readonly rate?: number;
  readonly kind?: number;
  readonly codec?: string;
  readonly handler?: string;
  readonly edits?: readonly (readonly number[])[];
  readonly more?: readonly Buffer[];
}

function descriptor(tag: number, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag, 0x80, body.length]), body]);
}

function moov(sound: Sound): Buffer {
  const { samples, sampleBytes = 200, sizes, delta = 1_024, saysSeconds = 0, rate = 4, kind = 2 } = sound;
  const { codec = "mp4a", handler = "soun", edits, more = [] } = sound;
  const config = Buffer.alloc(2);
  config.writeUInt16BE((kind << 11) | (rate << 7) | (1 << 3));
  const decoder = descriptor(4, Buffer.concat([Buffer.from([0x40, 0x15]), Buffer.alloc(11)]), descriptor(5, config));
  const esds = box("esds", words(0), descriptor(3, Buffer.from([0, 1, 0]), decoder));
  const stbl = box(
    "stbl",
    box("stsd", words(0, 1), box(codec, Buffer.alloc(28), esds)),
    box("stts", words(0, 1, samples, delta)),
    box("stsz", sizes === undefined ? words(0, sampleBytes, samples) : words(0, 0, samples, ...sizes)),
  );
  const mdhd = box("mdhd", words(0, 0, 0, 44_100, saysSeconds * 44_100, 0));
  const hdlr = box("hdlr", words(0, 0), Buffer.from(handler), Buffer.alloc(13));
  const elst = edits === undefined ? [] : [box("edts", box("elst", words(0, edits.length, ...edits.flat())))];
  const trak = box("trak", ...elst, box("mdia", mdhd, hdlr, box("minf", stbl)));
  return box("moov", box("mvhd", words(0, 0, 0, 1_000, saysSeconds * 1_000), Buffer.alloc(80)), trak, ...more);
}

const FTYP = box("ftyp", Buffer.from("M4A \0\0\0\0"));
const MDAT = box("mdat", Buffer.alloc(5_000));
const file = (sound: Sound) => Buffer.concat([FTYP, MDAT, moov(sound)]);
/** The most seconds that these bytes could hide. */
const hiddenIn = (bytes: Buffer) => Math.ceil(bytes.length / 16);
/** Ten seconds of AAC at 44,100 samples a second. */
const TEN = 430;

describe("MP4", () => {
  it("is as long as its samples, in whatever pieces it comes", async () => {
    for (const piece of [1, 7, 100_000]) expect(await secondsOf(file({ samples: TEN }), { piece })).toBe(10);
  });

  it("is read where its tables stand first, and where its sound has no length", async () => {
    const open = Buffer.concat([words(0), Buffer.from("mdat"), Buffer.alloc(5_000)]);
    expect(await secondsOf(Buffer.concat([FTYP, moov({ samples: TEN }), open]))).toBe(10);
  });

  it("is as long as its samples where its times and its heads say less", async () => {
    expect(await secondsOf(file({ samples: 1_000_000, delta: 1 }))).toBe(Math.ceil((1_000_000 * 1_024) / 44_100));
  });

  it("is as long as its times, or its head, where those say more", async () => {
    expect(await secondsOf(file({ samples: TEN, delta: 44_100 }))).toBe(TEN);
    expect(await secondsOf(file({ samples: TEN, saysSeconds: 90 }))).toBe(90);
  });

  it("is longer at a slower rate", async () => {
    expect(await secondsOf(file({ samples: TEN, rate: 11 }))).toBe(56);
  });

  it("is counted by a track of sound that calls itself another's", async () => {
    const bytes = file({ samples: 100_000, handler: "wide" });
    expect(await secondsOf(bytes)).toBe(Math.ceil((100_000 * 1_024) / 44_100));
  });

  it("begins with the silence that its edits put in front", async () => {
    const edits = [
      [60_000, -1, 0x10000],
      [10_000, 0, 0x10000],
    ];
    expect(await secondsOf(file({ samples: TEN, edits }))).toBe(70);
  });

  const twice = [
    [10_000, 0, 0x10000],
    [10_000, 0, 0x10000],
  ];
  it.each<[string, Buffer]>([
    ["plays a part twice", file({ samples: TEN, edits: twice })],
    ["has samples that are longer than a frame", file({ samples: TEN, sampleBytes: 9_000 })],
    ["has one such", file({ samples: 3, sizes: [200, 9_000, 200] })],
    ["has fewer sizes than samples", file({ samples: 1_000, sizes: [200] })],
    ["is of another codec", file({ samples: TEN, codec: "alac" })],
    ["is of a kind of AAC with other frames", file({ samples: TEN, kind: 23 })],
    ["comes in fragments", file({ samples: 0, more: [box("mvex")] })],
    ["goes on in fragments", Buffer.concat([file({ samples: TEN }), box("moof", Buffer.alloc(100)), MDAT])],
    ["has a box that is longer than the file's tables", Buffer.concat([FTYP, box("moov", words(1_000), words(0))])],
    ["has no tables", Buffer.concat([FTYP, MDAT])],
    ["ends within a head", Buffer.concat([FTYP, Buffer.from([0, 0, 0])])],
    ["has more tables than a day of sound", Buffer.concat([FTYP, box("moov", Buffer.alloc(5_000_000))])],
  ])("that %s is as long as its bytes could hide", async (_, bytes) => {
    expect(await secondsOf(bytes)).toBe(hiddenIn(bytes));
  });

  it("is as long as its bytes could hide for an account whose bounds are strict", async () => {
    const bytes = file({ samples: TEN });
    expect(await secondsOf(bytes, { isStrict: true })).toBe(hiddenIn(bytes));
  });
});

describe("a tag of ID3", () => {
  const tag = Buffer.from([...Buffer.from("ID3"), 4, 0, 0, 0, 0, 0, 0]);
  const frame = Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0x00]), Buffer.alloc(413)]);

  it("makes no MP3 of what stands behind it", async () => {
    const bytes = Buffer.concat([tag, Buffer.from("#!AMR\n"), Buffer.alloc(16_000, 4)]);
    expect(await secondsOf(bytes)).toBeGreaterThanOrEqual(1_000);
  });

  it("is left out in front of one, and so is what little stands between its frames", async () => {
    const bytes = Buffer.concat([tag, Buffer.alloc(500), ...Array<Buffer>(383).fill(frame)]);
    expect(await secondsOf(bytes)).toBe(11);
  });
});
