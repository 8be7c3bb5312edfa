// The duration of FLAC audio, summed over its frames (RFC 9639, 9.1), because the length in the header cannot be trusted.

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
export function isFlac(head: Buffer): boolean {
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
