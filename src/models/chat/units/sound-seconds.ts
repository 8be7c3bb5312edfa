// An upper bound on the duration of an audio file, before any vendor processes it.
import type { UploadedFile } from "../../../platform/uploads/form-body.ts";
import { packetSecondsMax } from "./sound-packets.ts";
import { HIDDEN_BYTES_PER_SECOND } from "./sound-walk.ts";

/** The longest frame header: two bytes of sync, two of codes, a number of at most seven, two sizes of at most two, a checksum. */
const HEADER_BYTES_MAX = 16;
const CRC8_POLYNOMIAL = 0x07;
/** The offset of the sample rate in the metadata, twenty bits. */
const RATE_AT = 18;
const LOWEST_HERTZ = 8_000;
const HERTZ: readonly number[] = [
  0, 88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000,
];

const CRC8 = Uint8Array.from({ length: 256 }, (_, start) => {
  let crc = start;
  for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x80 ? CRC8_POLYNOMIAL : 0)) & 0xff;
  return crc;
});

/** True if a file starts as FLAC. */
function isFlac(head: Buffer): boolean {
  return head.toString("latin1", 0, 4) === "fLaC";
}

/** The byte length of a frame number, from its first byte; 0 where it is invalid. */
function numberBytes(first: number): number {
  if (first < 0x80) return 1;
  const ones = Math.clz32(~(first << 24));
  return ones >= 2 && ones <= 7 ? ones : 0;
}

/** The samples in a block, by code; `more` is the extra field after the number, where the code refers to it. */
function blockSamples(code: number, more: number): number {
  if (code === 1) return 192;
  if (code <= 5) return 576 << (code - 2);
  return code <= 7 ? more + 1 : 256 << (code - 8);
}

/** The sample rate by code; `usual` is the metadata's, where the code refers to it. */
function hertzOf(code: number, more: number, usual: number): number {
  if (code === 0) return usual;
  if (code <= 11) return HERTZ[code] ?? usual;
  return code === 12 ? more * 1_000 : code === 13 ? more : more * 10;
}

/** The duration of the frame whose header starts at `at`; 0 if none does. */
function frameSeconds(bytes: Buffer, at: number, usualHertz: number): number {
  const codes = bytes[at + 2] ?? 0;
  const shape = bytes[at + 3] ?? 0;
  const [sizeCode, rateCode] = [codes >> 4, codes & 15];
  if (sizeCode === 0 || rateCode === 15 || shape >> 4 > 10 || ((shape >> 1) & 7) === 3 || (shape & 1) === 1) return 0;
  const number = numberBytes(bytes[at + 4] ?? 0xff);
  if (number === 0) return 0;
  let end = at + 4 + number;
  const sized = (bytesOf: number): number => {
    const value = bytesOf === 0 || end + bytesOf > bytes.length ? 0 : bytes.readUIntBE(end, bytesOf);
    end += bytesOf;
    return value;
  };
  const samples = blockSamples(sizeCode, sized(sizeCode === 6 ? 1 : sizeCode === 7 ? 2 : 0));
  const hertz = hertzOf(rateCode, sized(rateCode === 12 ? 1 : rateCode > 12 ? 2 : 0), usualHertz);
  let crc = 0;
  for (let each = at; each < end; each++) crc = CRC8[crc ^ (bytes[each] ?? 0)] ?? 0;
  return end < bytes.length && crc === bytes[end] ? samples / Math.max(1, hertz) : 0;
}

/** The sum of all frame headers at any byte: too high where audio looks like one (once in 10 million bytes), never too low. */
export async function flacSecondsMax(head: Buffer, blocks: AsyncIterable<Uint8Array>): Promise<number> {
  const said = head.length >= RATE_AT + 3 ? head.readUIntBE(RATE_AT, 3) >> 4 : 0;
  const usualHertz = said === 0 ? LOWEST_HERTZ : said;
  let seconds = 0;
  let rest: Buffer = Buffer.alloc(0);
  const count = (bytes: Buffer, until: number): void => {
    for (let at = bytes.indexOf(0xff); at >= 0 && at < until; at = bytes.indexOf(0xff, at + 1)) {
      if (((bytes[at + 1] ?? 0) & 0xfe) === 0xf8) seconds += frameSeconds(bytes, at, usualHertz);
    }
  };
  for await (const block of blocks) {
    const bytes = Buffer.concat([rest, block]);
    const until = Math.max(0, bytes.length - HEADER_BYTES_MAX);
    count(bytes, until);
    rest = bytes.subarray(until);
  }
  count(rest, rest.length);
  return seconds;
}

/** The lowest bit rate of MPEG layer III, for bytes between frames. */
const MP3_BYTES_PER_SECOND_MIN = 1_000;
const HEAD_BYTES = 4_096;

/** Layer III bit rates in kilobits per second, by version (1, then 2 and 2.5). */
const MP3_KBITS: readonly (readonly number[])[] = [
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
];
const MP3_HERTZ: Readonly<Record<number, readonly number[]>> = {
  3: [44_100, 48_000, 32_000],
  2: [22_050, 24_000, 16_000],
  0: [11_025, 12_000, 8_000],
};

/** The size and duration of the layer III frame with this header; null if it is not one. */
function mp3Frame(header: number): { readonly bytes: number; readonly seconds: number } | null {
  const version = (header >>> 19) & 3;
  const hertz = MP3_HERTZ[version]?.[(header >>> 10) & 3];
  const kbits = MP3_KBITS[version === 3 ? 0 : 1]?.[(header >>> 12) & 15];
  // Eleven sync bits, and layer III.
  if (header >>> 21 !== 0x7ff || ((header >>> 17) & 3) !== 1 || !hertz || !kbits) return null;
  const samples = version === 3 ? 1_152 : 576;
  return {
    bytes: Math.floor((samples / 8) * ((kbits * 1_000) / hertz)) + ((header >>> 9) & 1),
    seconds: samples / hertz,
  };
}

/** Walks frame by frame. Other bytes count as the most audio that they could hide: layer III's lowest rate where most frames are. */
class Mp3Clock {
  seconds = 0;
  #header = 0;
  #known = 0;
  #skip = 0;
  #framed = 0;
  #strange = 0;

  constructor(skip: number) {
    this.#skip = skip;
  }

  take(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at++) {
      if (this.#skip > 0) {
        const past = Math.min(this.#skip, bytes.length - at);
        this.#skip -= past;
        at += past - 1;
        continue;
      }
      this.#header = ((this.#header << 8) | (bytes[at] ?? 0)) >>> 0;
      if (++this.#known < 4) continue;
      const frame = mp3Frame(this.#header);
      if (frame === null) {
        this.#strange++;
        this.#known = 3;
      } else {
        this.seconds += frame.seconds;
        this.#framed += frame.bytes;
        this.#skip = Math.max(0, frame.bytes - 4);
        this.#known = 0;
      }
    }
  }

  get secondsMax(): number {
    const isMp3 = this.#framed >= this.#strange;
    return this.seconds + this.#strange / (isMp3 ? MP3_BYTES_PER_SECOND_MIN : HIDDEN_BYTES_PER_SECOND);
  }
}

/** The size of an ID3 tag before the first frame; its length field has seven bits per byte. */
function id3Bytes(head: Buffer): number {
  if (head.toString("latin1", 0, 3) !== "ID3" || head.length < 10) return 0;
  return 10 + [6, 7, 8, 9].reduce((size, at) => size * 128 + ((head[at] ?? 0) & 127), 0);
}

/** The offset of the first RIFF chunk with this name; -1 if it is not in the head. Ignores the name inside other chunks. */
function chunkAt(head: Buffer, name: string): number {
  for (let at = 12; at + 8 <= head.length; ) {
    if (head.toString("latin1", at, at + 4) === name) return at;
    const size = head.readUInt32LE(at + 4);
    at += 8 + size + (size & 1);
  }
  return -1;
}

/** The format code WAVE_FORMAT_EXTENSIBLE: the real code is in the first bytes of a 16-byte code. */
const EXTENSIBLE = 0xfffe;
const SUBFORMAT_AT = 32;

/** Bytes per second of uncompressed audio; null if it is compressed or unknown. */
function wavRate(head: Buffer): number | null {
  if (head.toString("latin1", 0, 4) !== "RIFF" || head.toString("latin1", 8, 12) !== "WAVE") return null;
  const at = chunkAt(head, "fmt ");
  if (at < 0 || head.length < at + SUBFORMAT_AT + 2) return null;
  const [format, channels, hertz, bits] = [at + 8, at + 10, at + 12, at + 22].map((place, index) => {
    return index === 2 ? head.readUInt32LE(place) : head.readUInt16LE(place);
  });
  const code = format === EXTENSIBLE ? head.readUInt16LE(at + SUBFORMAT_AT) : format;
  const isPlain = code === 1 || code === 3;
  const rate = (channels ?? 0) * (hertz ?? 0) * ((bits ?? 0) / 8);
  return isPlain && rate >= 1 ? rate : null;
}

const isMp4 = (start: Buffer): boolean => start.toString("latin1", 4, 8) === "ftyp";

/** The bytes of a file after the first `skip`. */
async function* behind(file: UploadedFile, skip: number): AsyncIterable<Uint8Array> {
  let left = skip;
  for await (const block of file.bytes()) {
    const past = Math.min(left, block.length);
    left -= past;
    if (past < block.length) yield block.subarray(past);
  }
}

async function headOf(blocks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const block of blocks) {
    parts.push(block);
    bytes += block.length;
    if (bytes >= HEAD_BYTES) break;
  }
  return Buffer.concat(parts).subarray(0, HEAD_BYTES);
}

/**
 * Never less than a vendor can find in the file, whatever its header claims. `isStrict`, for accounts whose calls too often cost more than
 * their holds: what only the container's tables vouch for counts as the most it could hide.
 */
export async function soundSecondsMax(file: UploadedFile, isStrict = false): Promise<number> {
  const head = await headOf(file.bytes());
  const rate = wavRate(head);
  if (rate !== null) return Math.ceil(file.size / rate);
  // Decoders skip a tag before any format.
  const skip = id3Bytes(head);
  const start = skip === 0 ? head : await headOf(behind(file, skip));
  if (isFlac(start)) return Math.ceil(await flacSecondsMax(start, behind(file, skip)));
  const hiddenSeconds = Math.ceil(file.size / HIDDEN_BYTES_PER_SECOND);
  if (isStrict && isMp4(start)) return hiddenSeconds;
  const packets = await packetSecondsMax(start, behind(file, skip));
  if (packets !== null) return Math.ceil(packets);
  // A vendor may read what we cannot, so count the most that could be hidden in it.
  const mayBeMp3 = skip > 0 || (head.length >= 4 && mp3Frame(head.readUInt32BE(0)) !== null);
  if (!mayBeMp3) return hiddenSeconds;
  const clock = new Mp3Clock(skip);
  for await (const block of file.bytes()) clock.take(block);
  return Math.ceil(clock.secondsMax);
}
