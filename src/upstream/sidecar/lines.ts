// The line protocol between the gateway and a vendor's sidecar process: one JSON value per line; an answer repeats its request's `id`.
import type { Readable } from "node:stream";

/** Written by the gateway: first the key, then requests, and ids of requests to cancel. */
export type ToSidecar =
  | { readonly key: string }
  | { readonly id: number; readonly path: string; readonly body: unknown }
  | { readonly cancel: number };

/** Written by the sidecar. */
export interface FromSidecar {
  readonly id: number;
  readonly status: number;
  readonly body: unknown;
}

/** The file descriptor for answers, because packages may print to standard output. */
export const ANSWERS_FD = 3;

/** Calls `onLine` for each line; at a line longer than `bytesMax`, calls `onTooLong` and ignores the rest. */
export function eachLine(
  stream: Readable,
  { bytesMax, onLine, onTooLong }: { bytesMax: number; onLine: (line: string) => void; onTooLong: () => void },
): void {
  let parts: Buffer[] = [];
  let bytes = 0;
  let isOver = false;
  stream.on("data", (chunk: Buffer) => {
    for (let from = 0; from < chunk.length && !isOver; ) {
      const end = chunk.indexOf(10, from);
      const part = chunk.subarray(from, end < 0 ? chunk.length : end);
      parts.push(part);
      bytes += part.length;
      if (bytes > bytesMax) {
        isOver = true;
        parts = [];
        return onTooLong();
      }
      if (end < 0) return;
      const line = Buffer.concat(parts).toString("utf8");
      parts = [];
      bytes = 0;
      from = end + 1;
      onLine(line);
    }
  });
}
