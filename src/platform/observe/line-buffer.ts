// Batches log lines: one write for many lines, off the event loop.
import { type DestinationStream, destination } from "pino";

/** A batch is written at this many characters, or after this long. */
const BUFFER_CHARS = 16_000;
const FLUSH_MS = 200;
/** If the reader of the output stalls, we lose lines instead of memory. */
const BACKLOG_BYTES_MAX = 16 * 1024 * 1024;

/** The library's own buffer recomputes its total length on every line, which costs more than writing the line. */
export class LineBuffer implements DestinationStream {
  readonly #out = destination({ dest: 1, sync: false, maxLength: BACKLOG_BYTES_MAX });
  #lines: string[] = [];
  #chars = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor() {
    process.once("exit", () => this.flushSync());
  }

  write(line: string): void {
    this.#lines.push(line);
    this.#chars += line.length;
    if (this.#chars >= BUFFER_CHARS) this.#pass();
    else this.#timer ??= setTimeout(() => this.#pass(), FLUSH_MS).unref();
  }

  /** Writes queued lines, before the process exits. */
  flushSync(): void {
    this.#pass();
    this.#out.flushSync();
  }

  #pass(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#lines.length === 0) return;
    const text = this.#lines.join("");
    this.#lines = [];
    this.#chars = 0;
    this.#out.write(text);
  }
}
