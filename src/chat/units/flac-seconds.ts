// How long a FLAC file sounds (RFC 9639): by its frames, because silence takes a few bytes a frame, and its head may say anything.

const MARK = "fLaC";
/** The four bytes that every frame begins with, a number of one to seven, two fields of at most two, and a check of one. */
const HEADER_BYTES_MAX = 16;
const RATES = [0, 88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000];
const RATE_AT = 18;
const POLYNOMIAL = 0x07;

const CRC8 = Uint8Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x80 ? ((crc << 1) ^ POLYNOMIAL) & 0xff : crc << 1;
  return crc;
});

/** How many bytes the number of a frame takes, by its first. */
function numberBytes(first: number): number {
  const ones = Math.clz32(~(first << 24));
  return ones === 0 ? 1 : Math.min(7, ones);
}

/** Of a code that has the number behind the header, so many bytes; else none. */
function sizeBytes(code: number): number {
  return code === 6 ? 1 : code === 7 ? 2 : 0;
}

function rateBytes(code: number): number {
  return code === 12 ? 1 : code === 13 || code === 14 ? 2 : 0;
}

function numberAt(bytes: Buffer, at: number, length: number): number {
  return length === 0 ? 0 : bytes.readUIntBE(at, length);
}

function samplesOf(code: number, told: number): number {
  if (code === 1) return 192;
  if (code <= 5) return 576 * 2 ** (code - 2);
  return code <= 7 ? told + 1 : 256 * 2 ** (code - 8);
}

function hertzOf(code: number, told: number, fileHertz: number): number {
  if (code === 0) return fileHertz;
  if (code === 12) return told * 1_000;
  return code === 13 ? told : code === 14 ? told * 10 : (RATES[code] ?? 0);
}

/** How long the frame sounds whose header is at `at`; 0: none is. */
function frameSeconds(bytes: Buffer, at: number, fileHertz: number): number {
  const [second = 0, third = 0] = [bytes[at + 1], bytes[at + 2]];
  const [sizeCode, rateCode] = [third >> 4, third & 15];
  if ((second & 0xfe) !== 0xf8 || sizeCode === 0 || rateCode === 15) return 0;
  const sizeAt = at + 4 + numberBytes(bytes[at + 4] ?? 0);
  const rateAt = sizeAt + sizeBytes(sizeCode);
  const end = rateAt + rateBytes(rateCode);
  if (end >= bytes.length) return 0;
  let crc = 0;
  for (let place = at; place < end; place++) crc = CRC8[crc ^ (bytes[place] ?? 0)] ?? 0;
  if (crc !== bytes[end]) return 0;
  const hertz = hertzOf(rateCode, numberAt(bytes, rateAt, rateBytes(rateCode)), fileHertz);
  return samplesOf(sizeCode, numberAt(bytes, sizeAt, sizeBytes(sizeCode))) / Math.max(1, hertz);
}

/** Whether a file that begins like this is FLAC. */
export function isFlac(head: Buffer): boolean {
  return head.toString("latin1", 0, MARK.length) === MARK;
}

/**
 * Every header of a frame counts, wherever it stands: a reader finds none that is not looked at here, and what looks like one by chance,
 * once in millions of bytes, counts as well.
 */
export async function flacSeconds(head: Buffer, blocks: AsyncIterable<Uint8Array>): Promise<number> {
  const fileHertz = head.length < RATE_AT + 3 ? 0 : head.readUIntBE(RATE_AT, 3) >> 4;
  let seconds = 0;
  let kept: Buffer = Buffer.alloc(0);
  const count = (bytes: Buffer, until: number) => {
    for (let at = bytes.indexOf(0xff); at >= 0 && at < until; at = bytes.indexOf(0xff, at + 1)) {
      seconds += frameSeconds(bytes, at, fileHertz);
    }
  };
  for await (const block of blocks) {
    const bytes = Buffer.concat([kept, block]);
    const until = Math.max(0, bytes.length - HEADER_BYTES_MAX);
    count(bytes, until);
    kept = bytes.subarray(until);
  }
  count(kept, kept.length);
  // What sums of fractions leave behind the microsecond is no sound.
  return Math.round(seconds * 1e6) / 1e6;
}
