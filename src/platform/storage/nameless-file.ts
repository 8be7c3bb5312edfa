// Bytes that wait on the disk: a file that has no name from its beginning, so that it is no memory and never left behind.
import { randomUUID } from "node:crypto";
import { closeSync, openSync, read, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const readAsync = promisify(read);

/** It takes no place on the disk until the first bytes are put in. */
export class NamelessFile {
  readonly #folder: string;
  #file: number | null = null;
  #end = 0;
  #reading = 0;
  #closed = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** How many bytes it has. */
  get end(): number {
    return this.#end;
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

  /** Fills a block with what stands from `start` on, as far as it goes; answers how far. Once it is closed, nothing stands anywhere. */
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

  /** What it has is not wanted any more: what comes next stands at the beginning. */
  empty(): void {
    this.#end = 0;
  }

  close(): void {
    this.#closed = true;
    this.#end = 0;
    this.#release();
  }

  /** Not before the last read has come back: the number of the file may be another's by then. */
  #release(): void {
    if (!this.#closed || this.#reading > 0 || this.#file === null) return;
    closeSync(this.#file);
    this.#file = null;
  }
}
