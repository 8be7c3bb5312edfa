// The duration of MP4 audio (ISO/IEC 14496-12), from its sample table, where each sample is one AAC frame; a shorter duration in the header
// is ignored. Other layouts are not supported here.
import { hidden, type Walk } from "./sound-walk.ts";

/** Enough for the tables of a day of audio. */
const TABLES_BYTES_MAX = 4 * 1_048_576;
/** The longest AAC frame, with eight channels. */
const SAMPLE_BYTES_MAX = 8_192;
const SAMPLES_PER_FRAME = 1_024;
/** A duration with all 32 bits set is unknown. */
const UNKNOWN_TIME = 0xffffffff;
/** Sample rates by index in an AudioSpecificConfig (ISO/IEC 14496-3, table 1.18). */
const AAC_HERTZ = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
];
/** AAC Main to LTP, and the two that first state half of the output rate; a frame's duration follows from that half rate. */
const AAC_KINDS = new Set([1, 2, 3, 4, 5, 29]);

/** Track types without audio: video, text and time codes. */
const SILENT = new Set(["vide", "text", "sbtl", "subt", "tmcd", "meta"]);

interface Box {
  readonly type: string;
  /** The offset after the box header. */
  readonly from: number;
  readonly to: number;
}

/** Reads the tables of one file in place. Anything invalid throws RangeError, as does reading past the end. */
class Tables {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  u8 = (at: number): number => this.#view.getUint8(at);
  u16 = (at: number): number => this.#view.getUint16(at);
  u32 = (at: number): number => this.#view.getUint32(at);
  u64 = (at: number): number => this.u32(at) * 2 ** 32 + this.u32(at + 4);

  text(at: number): string {
    return String.fromCharCode(...this.#bytes.subarray(at, at + 4));
  }

  boxes(from: number, to: number): readonly Box[] {
    const found: Box[] = [];
    for (let at = from; at + 8 <= to; ) {
      const size = this.u32(at);
      if (size < 8 || at + size > to) throw new RangeError("a box is longer than what it is in");
      const type = this.text(at + 4);
      found.push({ type, from: at + 8, to: at + size });
      at += size;
    }
    return found;
  }

  /** The only box of this path; throws if there is none or more than one. */
  one(inside: Pick<Box, "from" | "to">, ...path: readonly string[]): Box {
    let box: Pick<Box, "from" | "to"> = inside;
    for (const name of path) {
      const [first, ...more] = this.boxes(box.from, box.to).filter(({ type }) => type === name);
      if (first === undefined || more.length > 0) throw new RangeError(`${name} is not there once`);
      box = first;
    }
    return { type: path.at(-1) ?? "", ...box };
  }
}

/** The time scale (units per second) and the duration in an `mvhd` or `mdhd`. */
function timeOf(tables: Tables, { from }: Box): { readonly scale: number; readonly seconds: number } {
  const isLong = tables.u8(from) === 1;
  const scale = Math.max(1, tables.u32(from + (isLong ? 20 : 12)));
  const length = isLong ? tables.u64(from + 24) : tables.u32(from + 16);
  const isKnown = isLong ? length < 2 ** 63 : length !== UNKNOWN_TIME;
  return { scale, seconds: isKnown ? length / scale : 0 };
}

/** The length and content offset of a descriptor; seven bits per byte (ISO/IEC 14496-1, 8.3.3). */
function descriptor(tables: Tables, at: number, tag: number): number {
  if (tables.u8(at) !== tag) throw new RangeError(`no descriptor ${tag}`);
  let next = at + 1;
  while (tables.u8(next) >= 0x80) {
    next += 1;
    if (next > at + 4) throw new RangeError("a length of more than four bytes");
  }
  return next + 1;
}

function hertzOf(tables: Tables, esds: Box): number {
  const es = descriptor(tables, esds.from + 4, 3);
  if ((tables.u8(es + 2) & 0xe0) !== 0) throw new RangeError("a stream that depends on others");
  const decoder = descriptor(tables, es + 3, 4);
  if (tables.u8(decoder) !== 0x40) throw new RangeError("no AAC");
  const config = descriptor(tables, decoder + 13, 5);
  const bits = tables.u16(config);
  const hertz = AAC_HERTZ[(bits >> 7) & 15];
  if (!AAC_KINDS.has(bits >> 11) || hertz === undefined) throw new RangeError("a kind of AAC that is not known");
  return hertz;
}

/** The duration of an audio track's samples. */
function soundOf(tables: Tables, stbl: Box): number {
  const stsd = tables.one(stbl, "stsd");
  const entry = tables.one({ from: stsd.from + 8, to: stsd.to }, "mp4a");
  if (tables.u32(stsd.from + 4) !== 1 || tables.u16(entry.from + 8) !== 0) throw new RangeError("not one plain entry");
  const hertz = hertzOf(tables, tables.one({ from: entry.from + 28, to: entry.to }, "esds"));
  const stsz = tables.one(stbl, "stsz").from;
  const [each, count] = [tables.u32(stsz + 4), tables.u32(stsz + 8)];
  let longest = each;
  if (each === 0) for (let n = 0; n < count; n++) longest = Math.max(longest, tables.u32(stsz + 12 + 4 * n));
  // A sample longer than any frame may contain several.
  if (longest > SAMPLE_BYTES_MAX) throw new RangeError("a sample that is no frame");
  return (count * SAMPLES_PER_FRAME) / hertz;
}

/** The duration according to the table of sample times. */
function timesOf(tables: Tables, stbl: Box, scale: number): number {
  const stts = tables.one(stbl, "stts").from;
  const rows = tables.u32(stts + 4);
  let units = 0;
  for (let row = 0; row < rows; row++) units += tables.u32(stts + 8 + 8 * row) * tables.u32(stts + 12 + 8 * row);
  return units / scale;
}

/** The silence that an edit list puts first; throws if it plays anything twice. */
function silenceOf(tables: Tables, trak: Box, movieScale: number): number {
  const edts = tables.boxes(trak.from, trak.to).find(({ type }) => type === "edts");
  if (edts === undefined) return 0;
  const { from } = tables.one(edts, "elst");
  const isLong = tables.u8(from) === 1;
  let [units, played] = [0, 0];
  for (let row = 0; row < tables.u32(from + 4); row++) {
    const at = from + 8 + row * (isLong ? 20 : 12);
    const isEmpty = tables.u32(at + (isLong ? 8 : 4)) === UNKNOWN_TIME;
    if (isEmpty) units += isLong ? tables.u64(at) : tables.u32(at);
    else played += 1;
  }
  if (played > 1) throw new RangeError("what plays in parts may play one twice");
  return units / movieScale;
}

/** Throws on tables with unknown content. */
function secondsIn(moov: Uint8Array): number {
  const tables = new Tables(moov);
  const whole = { from: 0, to: moov.length };
  const boxes = tables.boxes(0, moov.length);
  if (boxes.some(({ type }) => type === "mvex")) throw new RangeError("its samples come in fragments");
  const movie = timeOf(tables, tables.one(whole, "mvhd"));
  let { seconds } = movie;
  for (const trak of boxes.filter(({ type }) => type === "trak")) {
    const mdia = tables.one(trak, "mdia");
    const handler = tables.text(tables.one(mdia, "hdlr").from + 8);
    const own = timeOf(tables, tables.one(mdia, "mdhd"));
    seconds = Math.max(seconds, own.seconds);
    if (SILENT.has(handler)) continue;
    const stbl = tables.one(mdia, "minf", "stbl");
    const sound = Math.max(soundOf(tables, stbl), timesOf(tables, stbl, own.scale));
    seconds = Math.max(seconds, sound + silenceOf(tables, trak, movie.scale));
  }
  return seconds;
}

/** Walks the file's boxes to its tables, wherever they are. */
export function* mp4Seconds(): Walk {
  let [bytes, seconds] = [0, -1];
  for (;;) {
    const head = yield 8;
    bytes += head.length;
    if (head.length === 0 && seconds >= 0) return seconds;
    if (head.length < 8) return yield* hidden(bytes);
    const tables = new Tables(head);
    const [size, type] = [tables.u32(0), tables.text(4)];
    // This box extends to the end of the file.
    if (size === 0 && seconds >= 0) return seconds;
    let long: Uint8Array | null = null;
    if (size === 1) long = yield 8;
    bytes += long?.length ?? 0;
    if (long !== null && long.length < 8) return yield* hidden(bytes);
    const left = long === null ? size - 8 : new Tables(long).u64(0) - 16;
    const isTables = type === "moov" && seconds < 0;
    if (left < 0 || type === "moof" || (isTables && left > TABLES_BYTES_MAX)) return yield* hidden(bytes);
    if (!isTables) {
      bytes += left;
      if (left > 0) yield -left;
      continue;
    }
    const moov = yield left;
    bytes += moov.length;
    try {
      seconds = secondsIn(moov);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return yield* hidden(bytes);
    }
  }
}
