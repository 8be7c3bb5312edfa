// Bodies and answers of the accounts that have them kept: sealed lines of JSON in a file a day of each process, for so many days and in so many
// bytes. Nothing waits for it: what the disk does not take is left out and counted.
import type { Clock } from "../clock.ts";
import { LogFolder, type LogFolderOptions } from "./log-folder.ts";

const WRITE_MS = 500;
/** What a slow disk has not taken yet. */
const WAITING_CHARACTERS_MAX = 16 * 1024 * 1024;
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

/** What stands before the seal in each line. */
export type LoggedName = Pick<LoggedCall, "at" | "transactionId" | "requestId" | "accountId">;

export interface RequestLog {
  /** Begins to gather a call; null: too many are gathered already. Call what comes back once, with the call or with null for none. */
  begin(): ((call: Omit<LoggedCall, "at"> | null) => void) | null;
  /** The newest ones, of one account or of all. */
  list(accountId: string | null, limit: number): Promise<readonly LoggedName[]>;
  /** By the id of its transaction or request; null: it is not kept, or no secret opens it. */
  find(id: string): Promise<LoggedCall | null>;
  close(): Promise<void>;
}

export interface RequestLogOptions extends LogFolderOptions {
  readonly clock: Clock;
  readonly redact: (text: string) => string | null;
  readonly seal: (text: string) => string;
  readonly unseal: (sealed: string) => string | null;
  readonly onOutcome: (outcome: "kept" | "left_out") => void;
  readonly onBroken: (error: unknown) => void;
}

export function createRequestLog(options: RequestLogOptions): RequestLog {
  const { clock, redact, seal, unseal, onOutcome, onBroken } = options;
  const folder = new LogFolder(options);
  let waiting: string[] = [];
  let waitingCharacters = 0;
  let gathered = 0;
  let timer: NodeJS.Timeout | null = null;
  let writing: Promise<void> = Promise.resolve();

  async function write(lines: readonly string[]): Promise<void> {
    const isKept = await folder.append(lines, clock.epochMs()).catch((error: unknown) => {
      onBroken(error);
      return false;
    });
    for (const { length } of lines) {
      waitingCharacters -= length;
      onOutcome(isKept ? "kept" : "left_out");
    }
  }

  function flush(): Promise<void> {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    const lines = waiting;
    waiting = [];
    if (lines.length > 0) writing = writing.then(() => write(lines));
    return writing;
  }

  function keep(call: Omit<LoggedCall, "at">): void {
    if (waitingCharacters > WAITING_CHARACTERS_MAX) return onOutcome("left_out");
    const at = new Date(clock.epochMs()).toISOString();
    const { transactionId, requestId, accountId } = call;
    const [body, answer] = [call.body, call.answer].map((text) => (text === null ? null : redact(text)));
    const sealed = seal(JSON.stringify({ ...call, at, body, answer }));
    const line = `${JSON.stringify({ at, transactionId, requestId, accountId, sealed })}\n`;
    waiting.push(line);
    waitingCharacters += line.length;
    timer ??= setTimeout(flush, WRITE_MS).unref();
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
    async list(accountId, limit) {
      await flush();
      return folder.names(accountId === null ? "" : JSON.stringify(accountId), limit);
    },
    async find(id) {
      await flush();
      const sealed = await folder.sealed(JSON.stringify(id));
      const text = sealed === null ? null : unseal(sealed);
      return text === null ? null : (JSON.parse(text) as LoggedCall);
    },
    close: flush,
  };
}
