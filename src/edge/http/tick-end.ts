// What waits for the end of a turn of the event loop, when all that had come in has been read.
import { ChunkList } from "../../core/chunk-list.ts";

/** Parts that are larger together do not wait. */
const GATHERED_BYTES_MAX = 4 * 1024;

/** Someone with something to do then. */
export interface Due {
  tickEnded(): void;
}

/** Returns a function that calls each of those given to it once, at the end of this turn of the event loop, one after the other. */
export function tickEnd(): (due: Due) => void {
  let waiting: Due[] = [];
  const run = (): void => {
    const due = waiting;
    waiting = [];
    for (const one of due) one.tickEnded();
  };
  return (due) => {
    if (waiting.push(due) === 1) setImmediate(run);
  };
}

/** The small parts of a stream that were written in one turn of the event loop. */
export class Gathered extends ChunkList<Uint8Array> {
  /** Keeps a part. False: it is too large, alone or with the others. */
  add(bytes: Uint8Array | string): boolean {
    const part = typeof bytes === "string" ? Buffer.from(bytes) : bytes;
    if (this.length + part.length > GATHERED_BYTES_MAX) return false;
    this.push(part);
    return true;
  }
}
