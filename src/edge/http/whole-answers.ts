// Writes answers whose every byte is known when they begin: as any other, or as the last of their connection.
import type { EngineResponse } from "./engine.ts";

/**
 * Returns a function that sends as much of the answer as the client takes, at first and whenever it has room again: true once all of it
 * has left. uWebSockets remembers how far it has come and keeps no copy.
 */
export function beginWhole(res: EngineResponse, head: string, body: Uint8Array | string): () => boolean {
  const bytesTotal = Buffer.byteLength(body);
  let bytes: Uint8Array | null = null;
  let taken = false;
  const first = (): void => {
    res.writeStatus(head);
    taken = res.tryEnd(body, bytesTotal)[0];
  };
  const next = (): void => {
    bytes ??= typeof body === "string" ? Buffer.from(body) : body;
    taken = res.tryEnd(bytes.subarray(res.getWriteOffset()), bytesTotal)[0];
  };
  let put = first;
  return () => {
    res.cork(put);
    put = next;
    return taken;
  };
}

/**
 * The same for the last answer of a connection, or what it says of itself to a HEAD, so that nothing behind its request is heard. For
 * uWebSockets it never comes to its end, so that it breaks the connection at whatever comes behind the request. The last byte is given
 * to it by itself: it takes that when all before it has left.
 */
export function beginLast(
  res: EngineResponse,
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
