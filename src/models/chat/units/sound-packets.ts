// Duration of packet-based containers: Ogg (RFC 3533) and WebM. Times in their headers are not trusted, because a packet of one byte can be
// 120 ms of Opus (RFC 6716, section 3.1).

import { mp4Seconds } from "./mp4-seconds.ts";
import { hidden, type Walk, walked } from "./sound-walk.ts";

const UNKNOWN_PACKET_MS = 1_000;
const OPUS_HERTZ = 48_000;
const OPUS_FRAMES_MS: readonly (readonly number[])[] = [
  [10, 20, 40, 60],
  [10, 20, 10, 20],
  [2.5, 5, 10, 20],
];
const OPUS_PACKET_MS_MAX = 120;

/** The duration of an Opus packet, from its first two bytes. */
function opusMs(first: number, second: number): number {
  const config = first >> 3;
  const ms = OPUS_FRAMES_MS[config < 12 ? 0 : config < 16 ? 1 : 2]?.[config & 3] ?? 60;
  const code = first & 3;
  const frames = code === 0 ? 1 : code === 3 ? second & 63 : 2;
  return Math.min(OPUS_PACKET_MS_MAX, ms * frames);
}

function textAt(bytes: Uint8Array, from: number, to: number): string {
  return String.fromCharCode(...bytes.subarray(from, to));
}

function uint32(bytes: Uint8Array, at: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(at, true);
}

interface OggStream {
  readonly isOpus: boolean;
  readonly hertz: number;
  /** The longest packet duration; for Opus, each packet's first bytes tell. */
  readonly packetMs: number;
  /** The first time stamp; a recording may start in the middle of a broadcast. */
  fromSeconds: number | null;
}

function oggStream(head: Uint8Array): OggStream {
  if (textAt(head, 0, 8) === "OpusHead") return { isOpus: true, hertz: OPUS_HERTZ, packetMs: 0, fromSeconds: null };
  if (textAt(head, 1, 7) !== "vorbis" || head.length < 29)
    return { isOpus: false, hertz: OPUS_HERTZ, packetMs: UNKNOWN_PACKET_MS, fromSeconds: null };
  const hertz = Math.max(1, uint32(head, 12));
  return { isOpus: false, hertz, packetMs: (2 ** ((head[28] ?? 0xd0) >> 4) * 1_000) / hertz, fromSeconds: null };
}

/** The packets that start in a page: the offset, and the length so far. */
function packetsOf(table: Uint8Array, isContinued: boolean): readonly (readonly [at: number, bytes: number])[] {
  const packets: (readonly [number, number])[] = [];
  let [at, from, begun] = [0, 0, !isContinued];
  for (const [index, lace] of table.entries()) {
    at += lace;
    if (lace === 255 && index < table.length - 1) continue;
    if (begun) packets.push([from, at - from]);
    [from, begun] = [at, true];
  }
  return packets;
}

function* oggSeconds(): Walk {
  const streams = new Map<number, OggStream>();
  let soundMs = 0;
  let said = 0;
  for (;;) {
    const head = yield 27;
    if (head.length === 0) return Math.max(soundMs / 1_000, said);
    // Any data after this may still be audio.
    if (head.length < 27 || textAt(head, 0, 4) !== "OggS")
      return Math.max(soundMs / 1_000, said) + (yield* hidden(head.length));
    const [flags, serial, laces] = [head[5] ?? 0, uint32(head, 14), head[26] ?? 0];
    const granules = uint32(head, 6) + uint32(head, 10) * 2 ** 32;
    const table = yield laces;
    const body = yield table.reduce((sum, lace) => sum + lace, 0);
    const isFirst = (flags & 2) !== 0 || !streams.has(serial);
    const stream = (isFirst ? null : streams.get(serial)) ?? oggStream(body);
    streams.set(serial, stream);
    // A granule position of all ones means that no packet ends in this page.
    if (!isFirst && granules < 2 ** 63) {
      stream.fromSeconds ??= granules / stream.hertz;
      said = Math.max(said, granules / stream.hertz - stream.fromSeconds);
    }
    // The first packet of a stream is its header, however many streams there are.
    const packets = packetsOf(table, (flags & 1) !== 0).slice(isFirst ? 1 : 0);
    for (const [at, bytes] of packets) {
      if (bytes === 0) continue;
      soundMs += stream.isOpus ? opusMs(body[at] ?? 0, body[at + 1] ?? 63) : stream.packetMs;
    }
  }
}

/** WebM elements to descend into: Segment, Cluster, BlockGroup, Info, Tracks, TrackEntry. */
const WEBM_INSIDE = new Set([0x18538067, 0x1f43b675, 0xa0, 0x1549a966, 0x1654ae6b, 0xae]);
const [BLOCK, SIMPLE_BLOCK, TRACK, TRACK_NUMBER, CODEC, SCALE, CLUSTER_TIME, DURATION] = [
  0xa1, 0xa3, 0xae, 0xd7, 0x86, 0x2ad7b1, 0xe7, 0x4489,
];
const SMALL_MAX = 64;
const NS_PER_SECOND = 1e9;

/** An element id (`keepsMark`) or size; the leading zeros of its first byte give its length. Null at the end. */
function* vint(keepsMark: boolean): Generator<number, number | null, Uint8Array> {
  const [first] = yield 1;
  if (first === undefined || first === 0) return null;
  const more = Math.clz32(first) - 24;
  const rest = yield more;
  if (rest.length < more) return null;
  const mark = 0x80 >> more;
  const isUnknown = first === (mark | (mark - 1)) && rest.every((byte) => byte === 255);
  if (isUnknown && !keepsMark) return Number.POSITIVE_INFINITY;
  return rest.reduce((sum, byte) => sum * 256 + byte, keepsMark ? first : first & (mark - 1));
}

function unsigned(bytes: Uint8Array): number {
  return bytes.reduce((sum, byte) => sum * 256 + byte, 0);
}

function float(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return bytes.length === 4 ? view.getFloat32(0) : bytes.length === 8 ? view.getFloat64(0) : 0;
}

/**
 * The duration of a block's frames, by the codec of its track; `at` is the offset after the track number. Each laced frame counts as the
 * longest possible.
 */
function blockMs(block: Uint8Array, at: number, codec: string): number {
  if (/^[VSB]_/.test(codec)) return 0;
  const isLaced = ((block[at + 2] ?? 0) & 6) !== 0;
  const frames = isLaced ? (block[at + 3] ?? 255) + 1 : 1;
  if (codec !== "A_OPUS") return frames * UNKNOWN_PACKET_MS;
  return isLaced ? frames * OPUS_PACKET_MS_MAX : opusMs(block[at + 3] ?? 0, block[at + 4] ?? 63);
}

function* webmSeconds(): Walk {
  const codecs = new Map<number, string>();
  let entry = { number: 0, codec: "" };
  let [soundMs, said, scaleNs, clusterAt] = [0, 0, 1_000_000, 0];
  let from: number | null = null;
  for (;;) {
    const id = yield* vint(true);
    const size = id === null ? null : yield* vint(false);
    if (size === null) return Math.max(soundMs / 1_000, said) + (yield* hidden(0));
    if (id === TRACK) entry = { number: 0, codec: "" };
    if (WEBM_INSIDE.has(id ?? 0)) continue;
    if (size === Number.POSITIVE_INFINITY) return Math.max(soundMs / 1_000, said) + (yield* hidden(0));
    const body = yield Math.min(size, SMALL_MAX);
    if (size > body.length) yield -(size - body.length);
    if (id === TRACK_NUMBER) entry.number = unsigned(body);
    else if (id === CODEC) entry.codec = textAt(body, 0, body.length);
    else if (id === SCALE) scaleNs = unsigned(body);
    else if (id === CLUSTER_TIME) clusterAt = unsigned(body);
    else if (id === DURATION) said = Math.max(said, (float(body) * scaleNs) / NS_PER_SECOND);
    if (id === TRACK_NUMBER || id === CODEC) codecs.set(entry.number, entry.codec);
    if (id !== BLOCK && id !== SIMPLE_BLOCK) continue;
    const bytes = Math.clz32(body[0] ?? 1) - 23;
    const track = unsigned(body.subarray(0, bytes)) % 2 ** (7 * bytes);
    const atTick = clusterAt + ((((body[bytes] ?? 0) << 24) | ((body[bytes + 1] ?? 0) << 16)) >> 16);
    from ??= atTick;
    said = Math.max(said, ((atTick - from) * scaleNs) / NS_PER_SECOND);
    soundMs += blockMs(body, bytes, codecs.get(track) ?? "");
  }
}

/** Walks by file signature and its offset. */
const WALKS: readonly { readonly at: number; readonly says: string; walk(): Walk }[] = [
  { at: 0, says: "OggS", walk: oggSeconds },
  { at: 0, says: "\x1a\x45\xdf\xa3", walk: webmSeconds },
  { at: 4, says: "ftyp", walk: mp4Seconds },
];

/** The most seconds that an Ogg, WebM or MP4 file can last; null for other formats. */
export async function packetSecondsMax(head: Uint8Array, pieces: AsyncIterable<Uint8Array>): Promise<number | null> {
  const found = WALKS.find(({ at, says }) => textAt(head, at, at + 4) === says);
  return found === undefined ? null : walked(found.walk(), pieces);
}
