// Bodies and answers of the accounts that have them kept: sealed lines of JSON in a folder or in a bucket, for so many days. No call waits for
// it: what does not take its lines in time is not waited for, and they are left out and counted.
import { setTimeout as pause } from "node:timers/promises";
import type { Clock } from "../../core/clock.ts";
import type { LoggedName, LogLook, LogStore, WrittenLine } from "./log-lines.ts";

/** What a slow disk or bucket has not taken yet. */
const WAITING_CHARACTERS_MAX = 16 * 1024 * 1024;
/** So much is written at once, however short it has waited. */
const WRITTEN_CHARACTERS = 2 * 1024 * 1024;
/** A reader, or the end of the process, waits no longer for what is not written yet. */
const WRITTEN_MS_MAX = 5_000;
/** Calls whose body and answer are gathered at once. */
const OPEN_MAX = 256;
/** Of a body, and of an answer. */
export const LOGGED_BYTES_MAX = 256 * 1024;

/** What is kept of a call. A text is null where it was too long, was none, or could not be redacted. */
export interface LoggedCall {
  readonly at: string;
  readonly transactionId: string;
  readonly requestId: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly path: string;
  readonly asked: string | null;
  readonly status: number;
  readonly code: string | null;
  readonly body: string | null;
  readonly answer: string | null;
}

export interface RequestLog {
  /** Begins to gather a call; null: too many are gathered already. Call what comes back once, with the call or with null for none. */
  begin(): ((call: Omit<LoggedCall, "at"> | null) => void) | null;
  /** The newest ones. */
  list(look: LogLook, limit: number): Promise<readonly LoggedName[]>;
  /** By the id of its transaction or request; null: it is not kept, or no secret opens it. */
  find(look: LogLook, id: string): Promise<LoggedCall | null>;
  close(): Promise<void>;
}

export interface RequestLogOptions {
  readonly store: LogStore;
  readonly clock: Clock;
  /** When the call of an id began, which stands in it; null: it is no id of ours. */
  readonly beganMs: (id: string) => number | null;
  readonly redact: (text: string) => string | null;
  readonly seal: (text: string) => string;
  readonly unseal: (sealed: string) => string | null;
  readonly onOutcome: (outcome: "kept" | "left_out") => void;
  readonly onBroken: (error: unknown) => void;
}

/** Lines that wait to be written together, in bounded memory. */
class LogWriter {
  readonly #options: Pick<RequestLogOptions, "store" | "clock" | "onOutcome" | "onBroken">;
  #waiting: WrittenLine[] = [];
  /** Of those that wait, and with those that are being written. */
  #charactersWaiting = 0;
  #charactersHeld = 0;
  /** When the oldest of those that wait came, on `clock.elapsedMs()`. */
  #waitsSinceMs = 0;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: RequestLogOptions) {
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#charactersHeld > WAITING_CHARACTERS_MAX;
  }

  add(line: WrittenLine): void {
    if (this.#waiting.length === 0) this.#waitsSinceMs = this.#options.clock.elapsedMs();
    this.#waiting.push(line);
    this.#charactersWaiting += line.text.length;
    this.#charactersHeld += line.text.length;
    this.#timer ??= setTimeout(() => void this.#flush(), this.#options.store.waitMs).unref();
    if (this.#charactersWaiting >= WRITTEN_CHARACTERS) void this.#flush();
  }

  /** Until all is written that has waited for so long, as far as that can be waited for. */
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

export function createRequestLog(options: RequestLogOptions): RequestLog {
  const { store, clock, beganMs, redact, seal, unseal, onOutcome, onBroken } = options;
  const writer = new LogWriter(options);
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
    begin() {
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
          // No call breaks because it could not be sealed.
          onBroken(error);
          onOutcome("left_out");
        }
      };
    },
    async list(look, limit) {
      await writer.flushed(store.readAfterMs);
      return store.newest(look, limit);
    },
    async find(look, id) {
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
