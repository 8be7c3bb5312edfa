// What servers may compress their answers with, and what undoes it piece by piece: what has come is passed on at once.
import type { Transform, TransformCallback } from "node:stream";
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from "node:zlib";

/** A zstd stream may make us keep so much of what it has said, as a power of two (RFC 9659). */
const ZSTD_WINDOW_LOG_MAX = 23;
/** A frame of zstd that says "whole": a magic number, a size and one block of plain bytes. */
const WHOLE = Buffer.from("whole");
const WHOLE_FRAME = Buffer.concat([Buffer.from("28b52ffd2005290000", "hex"), WHOLE]);

/** Node's zstd does not say that a stream was cut off. In one that is whole another frame may follow, and is read as that. */
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

/** What servers are told that they may send. */
export const ENCODINGS = "gzip, deflate, br, zstd";
/** The same where an answer comes event by event, which compression only delays. */
export const STREAM_ENCODINGS = "identity, gzip;q=0.5, deflate;q=0.5, br;q=0.5, zstd;q=0.5";

export type Encoding = keyof typeof DECODERS | "identity";

/** The encoding that a header names; null for one that is not understood, and for several on top of each other, in one header or more. */
export function encodingOf(header: string | readonly string[] | undefined): Encoding | null {
  const told = String(header ?? "").trim();
  const name = told.toLowerCase() || "identity";
  return name === "identity" || Object.hasOwn(DECODERS, name) ? (name as Encoding) : null;
}

/** An empty body decodes to an empty one. */
export function decoderOf(encoding: Exclude<Encoding, "identity">): Transform {
  const decoder = DECODERS[encoding]();
  const flush = decoder._flush.bind(decoder);
  decoder._flush = (done: TransformCallback) => (decoder.bytesWritten === 0 ? done() : flush(done));
  return decoder;
}
