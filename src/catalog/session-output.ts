// Collects a command's output from a vendor's stream: keeps the beginning, and detects commands that never stop printing.
import type { BoxOutput } from "./session.ts";

/** For both streams together. */
const KEPT_BYTES_MAX = 1024 * 1024;
/** A command that prints this much beyond what is kept is stopped. */
const HEARD_BYTES_MAX = 16 * 1024 * 1024;
/** The exit codes that shells report for a killed command, and timeout(1) for one that timed out. */
const KILLED = 137;
const TIMED_OUT = 124;

/** A buffer that grows by doubling, so that many one-byte pieces cost no more than one long piece. */
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

/** Collects one command's output in bounded memory. Invalid UTF-8 is replaced. */
export class HeardOutput {
  readonly #stdout = new Grown();
  readonly #stderr = new Grown();
  #bytes = 0;

  /** Returns false if the command has printed far more than is kept and should be stopped. */
  stdout(bytes: Uint8Array): boolean {
    return this.#keep(this.#stdout, bytes);
  }

  stderr(bytes: Uint8Array): boolean {
    return this.#keep(this.#stderr, bytes);
  }

  ended(exitCode: number): BoxOutput {
    const isCut = this.#bytes > KEPT_BYTES_MAX;
    const kept = { stdout: this.#stdout.text(), stderr: this.#stderr.text(), exit_code: exitCode };
    return isCut ? { ...kept, truncated: true } : kept;
  }

  /** The result of a command stopped for printing too much. */
  flooded(): BoxOutput {
    return { ...this.ended(KILLED), truncated: true };
  }

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
