// The video that a sandbox's demos end in: a real one, of still cards, small enough to be made here. H.264 in an MP4, every pixel as it is.

const SECOND = 1_000;
/** In blocks of sixteen pixels: the smallest that has the shape. */
const SIDE_BLOCKS = 9;
const BLOCK = 16;
/** Of blocks that are given as they are, without a prediction. */
const AS_IT_IS = 25;
const INTRA = 7;
/** Brightness and the two colours of each card, one after the other. */
const CARDS = [
  [90, 160, 100],
  [110, 90, 150],
  [120, 120, 90],
  [80, 130, 180],
] as const;
const MARK = 235;

/** Bits, the first one highest. */
class Bits {
  readonly #bytes: number[] = [];
  #byte = 0;
  #count = 0;

  put(value: number, width: number): this {
    for (let at = width - 1; at >= 0; at--) {
      this.#byte = (this.#byte << 1) | ((value >>> at) & 1);
      this.#count += 1;
      if (this.#count === 8) {
        this.#bytes.push(this.#byte);
        this.#byte = 0;
        this.#count = 0;
      }
    }
    return this;
  }

  /** A number in the code of Golomb, as the standard writes most of them. */
  number(value: number): this {
    const width = 32 - Math.clz32(value + 1);
    return this.put(0, width - 1).put(value + 1, width);
  }

  align(): this {
    return this.#count === 0 ? this : this.put(0, 8 - this.#count);
  }

  bytes(values: Iterable<number>): this {
    for (const value of values) this.#bytes.push(value);
    return this;
  }

  end(): Buffer {
    this.put(1, 1).align();
    return Buffer.from(this.#bytes);
  }
}

/** A unit of the stream: two zeros and a small byte must not follow each other inside of it. */
function unit(kind: number, bits: Bits): Buffer {
  const out = [kind];
  let zeros = 0;
  for (const byte of bits.end()) {
    if (zeros === 2 && byte <= 3) {
      out.push(3);
      zeros = 0;
    }
    out.push(byte);
    zeros = byte === 0 ? zeros + 1 : 0;
  }
  return Buffer.from(out);
}

interface Shape {
  /** In blocks. */
  readonly across: number;
  readonly down: number;
}

function shapeOf({ width, height }: { readonly width: number; readonly height: number }): Shape {
  const long = Math.round((SIDE_BLOCKS * Math.max(width, height)) / Math.min(width, height));
  return width >= height ? { across: long, down: SIDE_BLOCKS } : { across: SIDE_BLOCKS, down: long };
}

function sequenceSet({ across, down }: Shape): Buffer {
  const bits = new Bits().put(66, 8).put(0xc0, 8).put(30, 8).number(0).number(0).number(2).number(1).put(0, 1);
  return unit(
    0x67,
    bits
      .number(across - 1)
      .number(down - 1)
      .put(0b1100, 4),
  );
}

function pictureSet(): Buffer {
  return unit(
    0x68,
    new Bits()
      .number(0)
      .number(0)
      .put(0, 2)
      .number(0)
      .number(0)
      .number(0)
      .put(0, 3)
      .number(0)
      .number(0)
      .number(0)
      .put(0b100, 3),
  );
}

/** One card, with as many marks along its middle as say which one it is. */
function picture({ across, down }: Shape, at: number): Buffer {
  const [light, blue, red] = CARDS[at % CARDS.length] ?? CARDS[0];
  const bits = new Bits()
    .number(0)
    .number(INTRA)
    .number(0)
    .put(0, 4)
    .number(at % 256)
    .put(0, 2)
    .number(0)
    .number(1);
  const middle = Math.floor(down / 2);
  for (let y = 0; y < down; y++) {
    for (let x = 0; x < across; x++) {
      const isMark = y === middle && x % 2 === 1 && (x - 1) / 2 <= at;
      bits.number(AS_IT_IS).align();
      bits.bytes(new Uint8Array(BLOCK * BLOCK).fill(isMark ? MARK : light));
      bits.bytes(new Uint8Array(64).fill(isMark ? 128 : blue)).bytes(new Uint8Array(64).fill(isMark ? 128 : red));
    }
  }
  return unit(0x65, bits);
}

function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [at, value] of values.entries()) bytes.writeUInt32BE(value, 4 * at);
  return bytes;
}

function box(name: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([words(body.length + 8), Buffer.from(name, "latin1"), body]);
}

const halves = (...values: readonly number[]) => Buffer.from(values.flatMap((value) => [value >> 8, value & 255]));
const UNITY = words(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000);

/** What kind of pictures they are. */
function description({ across, down }: Shape): Buffer {
  const [sequence, set] = [sequenceSet({ across, down }), pictureSet()];
  const how = Buffer.concat([
    Buffer.from([1, 66, 0xc0, 30, 0xff, 0xe1]),
    halves(sequence.length),
    sequence,
    Buffer.from([1]),
    halves(set.length),
    set,
  ]);
  const size = halves(across * BLOCK, down * BLOCK);
  const dots = words(0x480000, 0x480000, 0);
  const head = [
    Buffer.alloc(6),
    halves(1),
    Buffer.alloc(16),
    size,
    dots,
    halves(1),
    Buffer.alloc(32),
    halves(24, 0xffff),
  ];
  return box("stsd", words(0, 1), box("avc1", ...head, box("avcC", how)));
}

function header(shape: Shape, samples: readonly Buffer[], lengths: readonly number[], from: number): Buffer {
  const whole = lengths.reduce((sum, one) => sum + one, 0);
  const sizes = words(shape.across * BLOCK * 0x10000, shape.down * BLOCK * 0x10000);
  const track = box("tkhd", words(7, 0, 0, 1, 0, whole, 0, 0, 0, 0), UNITY, sizes);
  const table = box(
    "stbl",
    description(shape),
    box("stts", words(0, lengths.length, ...lengths.flatMap((length) => [1, length]))),
    box("stsc", words(0, 1, 1, samples.length, 1)),
    box("stsz", words(0, 0, samples.length, ...samples.map(({ length }) => length))),
    box("stco", words(0, 1, from)),
  );
  const handler = box("hdlr", words(0, 0), Buffer.from("vide"), Buffer.alloc(12), Buffer.from("\0"));
  const data = box("dinf", box("dref", words(0, 1), box("url ", words(1))));
  const media = box("minf", box("vmhd", words(1, 0, 0)), data, table);
  const mdia = box("mdia", box("mdhd", words(0, 0, 0, SECOND, whole), halves(0x55c4, 0)), handler, media);
  const movie = Buffer.concat([
    words(0, 0, 0, SECOND, whole, 0x10000),
    halves(0x100, 0),
    words(0, 0),
    UNITY,
    Buffer.alloc(24),
    words(2),
  ]);
  return box("moov", box("mvhd", movie), box("trak", track, mdia));
}

/** One still card for each so many seconds, in the shape of the size. */
export function smallVideo(
  seconds: readonly number[],
  size: { readonly width: number; readonly height: number },
): Buffer {
  const shape = shapeOf(size);
  const samples = seconds.map((_, at) => {
    const bytes = picture(shape, at);
    return Buffer.concat([words(bytes.length), bytes]);
  });
  const lengths = seconds.map((one) => Math.round(one * SECOND));
  const kind = box("ftyp", Buffer.from("isom"), words(0x200), Buffer.from("isomiso2avc1mp41"));
  const head = header(shape, samples, lengths, 0);
  const from = kind.length + head.length + 8;
  return Buffer.concat([kind, header(shape, samples, lengths, from), box("mdat", ...samples)]);
}
