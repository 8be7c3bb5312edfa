// Outgoing safety: the body of a fetched address, decoded, and counted after decoding, so that a small body cannot become a huge one.
import { pipeline, type Readable } from "node:stream";
import { decoderOf, type Encoding } from "./decoding.ts";
import { tooLarge, troubleOf } from "./public-trouble.ts";

function decoded(body: Readable, encoding: Encoding): Readable {
  if (encoding === "identity") return body;
  // Each step of the decoder waits until its last piece was read: memory does not grow with what it could make.
  const decoder = decoderOf(encoding);
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
