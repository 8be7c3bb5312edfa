// Writes the last answer of a connection, or what it says of itself to a HEAD, so that nothing behind its request is heard.
import type { HttpResponse } from "uWebSockets.js";

/**
 * Begins the answer, and returns a function that goes on with it: true once all of it has left, false while the client has no room. For
 * uWebSockets it never comes to its end, so that it breaks the connection at whatever comes behind the request. The last byte is given
 * to it by itself: it takes that when all before it has left.
 */
export function beginLast(
  res: HttpResponse,
  head: string,
  body: Uint8Array | string,
  bytesTotal: number,
): () => boolean {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  const put = (to: number): boolean => {
    let taken = true;
    res.cork(() => {
      const from = res.getWriteOffset();
      taken = from >= to || res.tryEnd(bytes.subarray(from, to), bytesTotal + 1)[0];
    });
    return taken;
  };
  res.cork(() => {
    res.writeStatus(head);
    // The first call alone says how long the answer is.
    res.tryEnd("", bytesTotal);
  });
  return () => put(bytes.length - 1) && put(bytes.length);
}
