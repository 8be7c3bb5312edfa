// Where log lines wait for company: one write for many lines, off the event loop.
import { type DestinationStream, destination } from "pino";

/** Lines wait up to this many characters, or this long. */
const BUFFER_CHARS = 16_000;
const FLUSH_MS = 200;
/** A reader that does not read costs lines, not memory. */
const BACKLOG_BYTES_MAX = 16 * 1024 * 1024;

/** The library's own buffer measures all that waits anew with every line, which costs more than writing the line. */
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

  /** Writes what waits, before the process ends. */
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
