// Where a body waits that comes faster than it can be held back: its bytes go through a file, in the order in which they came.
import { NamelessFile } from "../../platform/storage/nameless-file.ts";

export class Spill {
  readonly #file: NamelessFile;
  #at = 0;

  constructor(folder: string) {
    this.#file = new NamelessFile(folder);
  }

  get empty(): boolean {
    return this.#at === this.#file.end;
  }

  /** Throws where the disk is full. */
  put(bytes: Uint8Array): void {
    this.#file.put(bytes);
  }

  /** Fills a block as far as it can; answers how far. */
  async take(block: Uint8Array): Promise<number> {
    const bytes = await this.#file.read(block, this.#at);
    this.#at += bytes;
    if (this.empty) {
      this.#at = 0;
      this.#file.empty();
    }
    return bytes;
  }

  close(): void {
    this.#at = 0;
    this.#file.close();
  }
}
