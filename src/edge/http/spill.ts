// A buffer for a body that arrives faster than its sender can be paused: its bytes go through a file, in order.
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

  /** Fills a block as far as possible; resolves to the number of bytes. */
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
