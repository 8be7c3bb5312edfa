// Buffers bytes on disk in a file without a name, which takes no memory and cannot be left behind.
import { randomUUID } from "node:crypto";
import { closeSync, openSync, read, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const readAsync = promisify(read);

/** Takes no disk space before the first `put`. */
export class NamelessFile {
  readonly #folder: string;
  #file: number | null = null;
  #end = 0;
  #reading = 0;
  #closed = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The number of bytes in it. */
  get end(): number {
    return this.#end;
  }

  /** Waits only for the page cache. Throws if the disk is full. */
  put(bytes: Uint8Array): void {
    if (this.#closed) return;
    if (this.#file === null) {
      const path = join(this.#folder, `tollgate-${randomUUID()}`);
      this.#file = openSync(path, "wx+", 0o600);
      unlinkSync(path);
    }
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at, bytes.length - at, this.#end + at);
    this.#end += bytes.length;
  }

  /** Fills a block from `start` on, as far as there are bytes; returns how many. Once closed, returns 0. */
  async read(block: Uint8Array, start: number): Promise<number> {
    if (this.#file === null || this.#closed) return 0;
    this.#reading++;
    try {
      return (await readAsync(this.#file, block, 0, Math.min(block.length, this.#end - start), start)).bytesRead;
    } finally {
      this.#reading--;
      this.#release();
    }
  }

  /** Discards the content: the next bytes start at the beginning. */
  empty(): void {
    this.#end = 0;
  }

  close(): void {
    this.#closed = true;
    this.#end = 0;
    this.#release();
  }

  /** Waits for the last read, because the descriptor number could be reused. */
  #release(): void {
    if (!this.#closed || this.#reading > 0 || this.#file === null) return;
    closeSync(this.#file);
    this.#file = null;
  }
}
