// Outgoing safety: decodes a fetched body and limits its decoded size, so that a small body cannot expand into a huge one.
import { pipeline, type Readable } from "node:stream";
import { decoderOf, type Encoding } from "./decoding.ts";
import { TooLarge, troubleOf } from "./public-trouble.ts";

function decoded(body: Readable, encoding: Encoding): Readable {
  if (encoding === "identity") return body;
  // The decoder waits until its last piece has been read, so memory stays bounded.
  const decoder = decoderOf(encoding);
  pipeline(body, decoder, () => {});
  return decoder;
}

/** The decoded bytes as they arrive. Throws a GatewayError. Calls `ended` once, after reading began; `isWhole`: the body is complete. */
export async function* readBody(
  body: Readable,
  { encoding, bytesMax, ended }: { encoding: Encoding; bytesMax: number; ended: (isWhole: boolean) => void },
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  try {
    for await (const piece of decoded(body, encoding) as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > bytesMax) throw new TooLarge(bytesMax);
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
