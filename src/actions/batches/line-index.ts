// Where each line of a batch begins and the most that it can cost, kept beside the batch so that a restart need not read all lines again.
import { type Nano, nano, percentOf } from "../../core/money.ts";
import { LINES_MAX } from "./jsonl.ts";

const ENTRY_BYTES = 16;
/** The bound of a line that does not run. */
const BAD = -1;

export class LineIndex {
  readonly #entries: DataView;
  #count: number;

  constructor(kept: Buffer | null = null) {
    const bytes = kept ?? Buffer.alloc(LINES_MAX * ENTRY_BYTES);
    this.#entries = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#count = kept === null ? 0 : kept.length / ENTRY_BYTES;
  }

  get count(): number {
    return this.#count;
  }

  /** `bound`: null where the line does not run. */
  add(offset: number, bound: Nano | null): void {
    this.#entries.setFloat64(this.#count * ENTRY_BYTES, offset);
    this.#entries.setFloat64(this.#count * ENTRY_BYTES + 8, bound ?? BAD);
    this.#count += 1;
  }

  /** The line does not run after all. */
  drop(at: number): void {
    this.#entries.setFloat64(at * ENTRY_BYTES + 8, BAD);
  }

  offset(at: number): number {
    return this.#entries.getFloat64(at * ENTRY_BYTES);
  }

  /** Null: the line does not run. */
  bound(at: number): Nano | null {
    const bound = this.#entries.getFloat64(at * ENTRY_BYTES + 8);
    return bound === BAD ? null : nano(bound);
  }

  /** Bounds all lines at a percentage of what they can cost. */
  atPercent(percent: number): void {
    for (let at = 0; at < this.#count; at++) {
      const bound = this.bound(at);
      if (bound !== null) this.#entries.setFloat64(at * ENTRY_BYTES + 8, percentOf(bound, percent));
    }
  }

  bytes(): Buffer {
    const { buffer, byteOffset } = this.#entries;
    return Buffer.from(buffer, byteOffset, this.#count * ENTRY_BYTES);
  }
}
