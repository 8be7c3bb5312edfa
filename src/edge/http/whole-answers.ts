// Writes answers of known length: normally, or as the last of their connection.
import type { EngineResponse } from "./engine.ts";

/**
 * Returns a function that sends as much of the answer as the client takes, at first and whenever it can take more: true once all of it has
 * left. uWebSockets remembers the position and keeps no copy.
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
 * The same for the last answer of a connection, or for its head after a HEAD: whatever follows the request is ignored. For uWebSockets the
 * answer never ends, so it closes the connection at any data after the request. The last byte is written separately: uWebSockets accepts
 * it once everything before it has left.
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
    // Only the first call sets the answer's length.
    res.tryEnd("", bytesTotal);
  });
  return () => put(bytes.length - 1) && put(bytes.length);
}
