// The lines between the gateway and a vendor's sidecar process: JSON, one a line, a request's `id` in its answer.
import type { Readable } from "node:stream";

/** What the gateway writes: first the key, then requests, and the ids of those that are not waited for any more. */
export type ToSidecar =
  | { readonly key: string }
  | { readonly id: number; readonly path: string; readonly body: unknown }
  | { readonly cancel: number };

/** What it reads. */
export interface FromSidecar {
  readonly id: number;
  readonly status: number;
  readonly body: unknown;
}

/** The stream on which a sidecar answers: what a package prints goes elsewhere. */
export const ANSWERS_FD = 3;

/** Hears each line of a stream; `onTooLong` where one is longer than `bytesMax`, and nothing after it. */
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
