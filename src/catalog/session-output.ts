// What a command prints, as a vendor's stream tells it: the beginning is kept, and one that never stops printing is to be ended.
import type { BoxOutput } from "./session.ts";

/** Of both streams together. */
const KEPT_BYTES_MAX = 1024 * 1024;
/** A command that prints so much more than is kept is not waited for. */
const HEARD_BYTES_MAX = 16 * 1024 * 1024;
/** As shells tell of a command that was killed, and as timeout(1) tells that its time was over. */
const KILLED = 137;
const TIMED_OUT = 124;

/** Bytes that grow by doubling: pieces of a byte each cost no more than one long piece. */
class Grown {
  #bytes = Buffer.alloc(0);
  #length = 0;

  append(piece: Uint8Array): void {
    const needed = this.#length + piece.length;
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(1024, needed * 2));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    this.#bytes.set(piece, this.#length);
    this.#length = needed;
  }

  text(): string {
    return this.#bytes.toString("utf8", 0, this.#length);
  }
}

/** Collects one command's output in bounded memory. Bytes that are no UTF-8 are replaced. */
export class HeardOutput {
  readonly #stdout = new Grown();
  readonly #stderr = new Grown();
  #bytes = 0;

  /** False: it has printed far more than anybody will see, and should be ended. */
  stdout(bytes: Uint8Array): boolean {
    return this.#keep(this.#stdout, bytes);
  }

  /** As `stdout`. */
  stderr(bytes: Uint8Array): boolean {
    return this.#keep(this.#stderr, bytes);
  }

  /** What came of a command that has ended by itself. */
  ended(exitCode: number): BoxOutput {
    const isCut = this.#bytes > KEPT_BYTES_MAX;
    const kept = { stdout: this.#stdout.text(), stderr: this.#stderr.text(), exit_code: exitCode };
    return isCut ? { ...kept, truncated: true } : kept;
  }

  /** What came of one that was ended because it printed too much. */
  flooded(): BoxOutput {
    return { ...this.ended(KILLED), truncated: true };
  }

  /** What came of one whose time was over. */
  timedOut(): BoxOutput {
    return { ...this.ended(TIMED_OUT), timed_out: true };
  }

  #keep(to: Grown, bytes: Uint8Array): boolean {
    const room = KEPT_BYTES_MAX - this.#bytes;
    if (room > 0) to.append(bytes.subarray(0, room));
    this.#bytes += bytes.length;
    return this.#bytes <= HEARD_BYTES_MAX;
  }
}
