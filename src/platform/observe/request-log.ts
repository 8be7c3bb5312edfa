// Stores requests and answers of accounts that opted in: sealed JSON lines in a folder or bucket, for some days. Calls never wait for it:
// lines that the store does not take in time are dropped and counted.
import { setTimeout as pause } from "node:timers/promises";
import type { Clock } from "../../core/clock.ts";
import type { LoggedName, LogLook, LogStore, WrittenLine } from "./log-lines.ts";

/** The most that waits for a slow disk or bucket. */
const WAITING_CHARACTERS_MAX = 16 * 1024 * 1024;
/** A batch of this size is written at once, however short it has waited. */
const WRITTEN_CHARACTERS = 2 * 1024 * 1024;
/** The longest that a reader, or the end of the process, waits for unwritten lines. */
const WRITTEN_MS_MAX = 5_000;
/** The most calls to collect at the same time. */
const OPEN_MAX = 256;
/** Per body and per answer. */
export const LOGGED_BYTES_MAX = 256 * 1024;

/** The stored part of a call. A text is null if it was too long, missing, or could not be redacted. */
export interface LoggedCall extends LoggedName {
  readonly keyId: string;
  readonly path: string;
  readonly asked: string | null;
  readonly status: number;
  readonly code: string | null;
  readonly body: string | null;
  readonly answer: string | null;
}

export type RequestLog = ReturnType<typeof createRequestLog>;

export interface RequestLogOptions {
  readonly store: LogStore;
  readonly clock: Clock;
  /** When the call began, which its id encodes; null: not one of our ids. */
  readonly beganMs: (id: string) => number | null;
  readonly redact: (text: string) => string | null;
  readonly seal: (text: string) => string;
  readonly unseal: (sealed: string) => string | null;
  readonly onOutcome: (outcome: "kept" | "left_out") => void;
  readonly onBroken: (error: unknown) => void;
}

type WriterOptions = Pick<RequestLogOptions, "clock" | "onOutcome" | "onBroken"> & {
  readonly store: Pick<LogStore, "append" | "waitMs">;
  /** The most that waits or is being written. */
  readonly charactersMax: number;
};

/** A bounded queue of lines to write together. */
export class LogWriter {
  readonly #options: WriterOptions;
  #waiting: WrittenLine[] = [];
  /** The characters queued, and those queued or being written. */
  #charactersWaiting = 0;
  #charactersHeld = 0;
  /** When the oldest queued line arrived, on `clock.elapsedMs()`. */
  #waitsSinceMs = 0;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#charactersHeld > this.#options.charactersMax;
  }

  add(line: WrittenLine): void {
    if (this.#waiting.length === 0) this.#waitsSinceMs = this.#options.clock.elapsedMs();
    this.#waiting.push(line);
    this.#charactersWaiting += line.text.length;
    this.#charactersHeld += line.text.length;
    this.#timer ??= setTimeout(() => void this.#flush(), this.#options.store.waitMs).unref();
    if (this.#charactersWaiting >= WRITTEN_CHARACTERS) void this.#flush();
  }

  /** Waits, within a limit, until all lines queued for at least `waitedMs` are written. */
  async flushed(waitedMs: number): Promise<void> {
    const isOld = this.#options.clock.elapsedMs() - this.#waitsSinceMs >= waitedMs;
    const written = isOld ? this.#flush() : this.#writing;
    const left = new AbortController();
    await Promise.race([written, pause(WRITTEN_MS_MAX, undefined, { signal: left.signal }).catch(() => {})]);
    left.abort();
  }

  #flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const lines = this.#waiting;
    this.#waiting = [];
    this.#charactersWaiting = 0;
    if (lines.length > 0) this.#writing = this.#writing.then(() => this.#write(lines));
    return this.#writing;
  }

  async #write(lines: readonly WrittenLine[]): Promise<void> {
    const { store, clock, onOutcome, onBroken } = this.#options;
    const kept = await store.append(lines, clock.epochMs()).catch((error: unknown) => {
      onBroken(error);
      return 0;
    });
    for (const [at, { text }] of lines.entries()) {
      this.#charactersHeld -= text.length;
      onOutcome(at < kept ? "kept" : "left_out");
    }
  }
}

export function createRequestLog(options: RequestLogOptions) {
  const { store, clock, beganMs, redact, seal, unseal, onOutcome, onBroken } = options;
  const writer = new LogWriter({ ...options, charactersMax: WAITING_CHARACTERS_MAX });
  let gathered = 0;

  function keep(call: Omit<LoggedCall, "at">): void {
    if (writer.isFull) return onOutcome("left_out");
    const at = new Date(clock.epochMs()).toISOString();
    const { transactionId, requestId, accountId } = call;
    const [body, answer] = [call.body, call.answer].map((text) => (text === null ? null : redact(text)));
    const sealed = seal(JSON.stringify({ ...call, at, body, answer }));
    const text = `${JSON.stringify({ at, transactionId, requestId, accountId, sealed })}\n`;
    writer.add({ accountId, text });
  }

  return {
    /** Starts to collect a call; null: too many are. Call the returned function once, with the call, or with null to discard it. */
    begin(): ((call: Omit<LoggedCall, "at"> | null) => void) | null {
      if (gathered >= OPEN_MAX) {
        onOutcome("left_out");
        return null;
      }
      gathered += 1;
      return (call) => {
        gathered -= 1;
        try {
          if (call !== null) keep(call);
        } catch (error) {
          // A failure to seal must not break the call.
          onBroken(error);
          onOutcome("left_out");
        }
      };
    },
    /** The newest calls. */
    async list(look: LogLook, limit: number): Promise<readonly LoggedName[]> {
      await writer.flushed(store.readAfterMs);
      return store.newest(look, limit);
    },
    /** Finds a call by its transaction or request id; null: it is not stored, or no secret opens it. */
    async find(look: LogLook, id: string): Promise<LoggedCall | null> {
      const began = beganMs(id);
      if (began === null) return null;
      await writer.flushed(store.readAfterMs);
      const sealed = await store.sealed({ ...look, id, beganMs: began });
      const text = sealed === null ? null : unseal(sealed);
      return text === null ? null : (JSON.parse(text) as LoggedCall);
    },
    async close() {
      const written = writer.flushed(0);
      store.close();
      await written;
    },
  };
}
