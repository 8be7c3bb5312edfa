// Tasks that wait for the reading threads: accounts take turns, and waiting bytes are bounded.
import type { PageDone, PageTask, Read } from "./page-tasks.ts";

/** The most bytes of an ordinary page. */
const ORDINARY_BYTES_MAX = 512 * 1024;
/** Bounds on the bytes of waiting tasks: of all accounts, and of one. */
const WAITING_BYTES_MAX = 256 * 1_048_576;
const ACCOUNT_BYTES_MAX = 64 * 1_048_576;

export interface Waiting {
  readonly account: string;
  readonly task: PageTask;
  readonly bytes: number;
  /** Called once, with the result. */
  readonly done: (result: Read<PageDone[PageTask["kind"]]>) => void;
  isOver: boolean;
}

/** Whether it may occupy a thread for longer than an ordinary page. */
export const isLong = ({ bytes }: Waiting): boolean => bytes > ORDINARY_BYTES_MAX;

export class Turns {
  readonly #queues = new Map<string, Waiting[]>();
  readonly #bytes = new Map<string, number>();
  #allBytes = 0;

  /** False where there is no room for it. */
  add(waiting: Waiting): boolean {
    const { account, bytes } = waiting;
    const own = (this.#bytes.get(account) ?? 0) + bytes;
    if (own > ACCOUNT_BYTES_MAX || this.#allBytes + bytes > WAITING_BYTES_MAX) return false;
    const queue = this.#queues.get(account);
    // A robots.txt goes first: it is read quickly, and others may wait for it as well.
    if (queue === undefined) this.#queues.set(account, [waiting]);
    else if (waiting.task.kind === "robots") queue.unshift(waiting);
    else queue.push(waiting);
    this.#bytes.set(account, own);
    this.#allBytes += bytes;
    return true;
  }

  /** The oldest task of the account whose turn it is; the account then goes to the end of the line. */
  next(mayBeLong: boolean): Waiting | undefined {
    for (const [account, queue] of this.#queues) {
      const at = mayBeLong ? 0 : queue.findIndex((one) => !isLong(one));
      const [waiting] = at < 0 ? [] : queue.splice(at, 1);
      if (waiting === undefined) continue;
      this.#queues.delete(account);
      if (queue.length > 0) this.#queues.set(account, queue);
      this.#gone(waiting);
      return waiting;
    }
    return undefined;
  }

  drop(waiting: Waiting): void {
    const queue = this.#queues.get(waiting.account);
    const at = queue?.indexOf(waiting) ?? -1;
    if (queue === undefined || at < 0) return;
    queue.splice(at, 1);
    if (queue.length === 0) this.#queues.delete(waiting.account);
    this.#gone(waiting);
  }

  all(): Waiting[] {
    return [...this.#queues.values()].flat();
  }

  #gone({ account, bytes }: Waiting): void {
    const own = (this.#bytes.get(account) ?? 0) - bytes;
    if (own > 0) this.#bytes.set(account, own);
    else this.#bytes.delete(account);
    this.#allBytes -= bytes;
  }
}
