// Outgoing safety: the body of a fetched address, decoded, and counted after decoding, so that a small body cannot become a huge one.
import { pipeline, type Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { tooLarge, troubleOf } from "./public-trouble.ts";

const DECODERS = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
} as const;

/** What servers are told that they may send. */
export const ENCODINGS = "gzip, deflate, br";

export type Encoding = keyof typeof DECODERS | "identity";

/** The encoding that a header names; null for one that is not understood, and for several on top of each other. */
export function encodingOf(header: string | undefined): Encoding | null {
  const name = (header ?? "").trim().toLowerCase() || "identity";
  return name === "identity" || Object.hasOwn(DECODERS, name) ? (name as Encoding) : null;
}

function decoded(body: Readable, encoding: Encoding): Readable {
  if (encoding === "identity") return body;
  // Each step of the decoder waits until its last piece was read: memory does not grow with what it could make.
  const decoder = DECODERS[encoding]();
  pipeline(body, decoder, () => {});
  return decoder;
}

/**
 * The bytes as they come. Throws a GatewayError: `bad_url` past `bytesMax`, `upstream_error` where the body breaks off.
 * `ended` is called once, however it ends, but not before a reader begins; `isWhole`: nothing more comes of it.
 */
export async function* readBody(
  body: Readable,
  { encoding, bytesMax, ended }: { encoding: Encoding; bytesMax: number; ended: (isWhole: boolean) => void },
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  try {
    for await (const piece of decoded(body, encoding) as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > bytesMax) throw tooLarge(bytesMax);
      yield piece;
    }
  } catch (error) {
    throw troubleOf(error, bytesMax);
  } finally {
    const isWhole = body.readableEnded;
    body.destroy();
    ended(isWhole);
  }
}
