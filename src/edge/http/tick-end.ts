// Deferred work for the end of a turn of the event loop, when all pending input was read.
import { ChunkList } from "../../core/chunk-list.ts";

/** Larger parts, alone or together, do not wait. */
const GATHERED_BYTES_MAX = 4 * 1024;

export interface Due {
  tickEnded(): void;
}

/** Returns a function that registers objects, each called once at the end of this turn of the event loop, in order. */
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

/** The small parts of a stream written in one turn of the event loop. */
export class Gathered extends ChunkList<Uint8Array> {
  /** Keeps a part. False: it is too large, alone or with the others. */
  add(bytes: Uint8Array | string): boolean {
    const part = typeof bytes === "string" ? Buffer.from(bytes) : bytes;
    if (this.length + part.length > GATHERED_BYTES_MAX) return false;
    this.push(part);
    return true;
  }
}
