// Where a body waits that comes faster than it can be held back: a file without a name, so that it is no memory and never left behind.

import { randomUUID } from "node:crypto";
import { closeSync, openSync, read, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const readAsync = promisify(read);

/** Bytes in the order in which they came. It takes no file until the first are put in. */
export class Spill {
  readonly #folder: string;
  #file: number | null = null;
  #end = 0;
  #at = 0;
  #reading = false;
  #closed = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  get empty(): boolean {
    return this.#at === this.#end;
  }

  /** Waits for no more than the system's own memory for files. Throws where the disk is full. */
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

  /** Fills a block as far as it can; answers how far. */
  async take(block: Uint8Array): Promise<number> {
    if (this.#file === null || this.#closed) return 0;
    this.#reading = true;
    try {
      const { bytesRead } = await readAsync(
        this.#file,
        block,
        0,
        Math.min(block.length, this.#end - this.#at),
        this.#at,
      );
      this.#at += bytesRead;
      if (this.empty) {
        this.#at = 0;
        this.#end = 0;
      }
      return bytesRead;
    } finally {
      this.#reading = false;
      if (this.#closed) this.#release();
    }
  }

  close(): void {
    this.#closed = true;
    this.#at = 0;
    this.#end = 0;
    if (!this.#reading) this.#release();
  }

  #release(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }
}
