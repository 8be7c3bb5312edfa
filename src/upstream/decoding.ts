// The content encodings we accept, and their streaming decoders, which pass on each piece as it arrives.
import type { Transform, TransformCallback } from "node:stream";
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from "node:zlib";

/** The largest zstd window, as a power of two: it bounds the memory of a decoder (RFC 9659). */
const ZSTD_WINDOW_LOG_MAX = 23;
/** A zstd frame whose content is "whole": magic number, size and one raw block. */
const WHOLE = Buffer.from("whole");
const WHOLE_FRAME = Buffer.concat([Buffer.from("28b52ffd2005290000", "hex"), WHOLE]);

/** Node's zstd does not report a truncated stream. Only after a complete one can another frame be decoded, so one is appended. */
function zstd() {
  const stream = createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX } });
  const push = stream.push.bind(stream);
  stream._flush = (done: TransformCallback) => {
    const said: Buffer[] = [];
    stream.push = (piece) => piece === null || said.push(piece) > 0;
    stream._transform(WHOLE_FRAME, "utf8", (error) => {
      stream.push = push;
      done(error ?? (Buffer.concat(said).equals(WHOLE) ? null : new Error("unexpected end of file")));
    });
  };
  return stream;
}

const DECODERS = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd,
} as const;

/** The accept-encoding value of a unary request. */
export const ENCODINGS = "gzip, deflate, br, zstd";
/** For event streams, which compression only delays. */
export const STREAM_ENCODINGS = "identity, gzip;q=0.5, deflate;q=0.5, br;q=0.5, zstd;q=0.5";

export type Encoding = keyof typeof DECODERS | "identity";

/** The encoding that a content-encoding header names; null if it is unknown, or if there are several, in one header or more. */
export function encodingOf(header: string | readonly string[] | undefined): Encoding | null {
  const told = String(header ?? "").trim();
  const name = told.toLowerCase() || "identity";
  return name === "identity" || Object.hasOwn(DECODERS, name) ? (name as Encoding) : null;
}

/** Decodes an empty body to an empty one. */
export function decoderOf(encoding: Exclude<Encoding, "identity">): Transform {
  const decoder = DECODERS[encoding]();
  const flush = decoder._flush.bind(decoder);
  decoder._flush = (done: TransformCallback) => (decoder.bytesWritten === 0 ? done() : flush(done));
  return decoder;
}
