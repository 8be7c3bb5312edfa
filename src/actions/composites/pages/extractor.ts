// Reads untrusted pages off the event loop, in a few threads with bounds on memory and on time per page. Accounts take turns.
import { Worker } from "node:worker_threads";
import { THREAD_FLAGS } from "../../../core/thread-flags.ts";
import {
  bytesOf,
  type JudgedPage,
  type PageBytes,
  type PageDone,
  type PageOrder,
  type PageTask,
  type Read,
} from "./page-tasks.ts";
import type { Robots } from "./robots.ts";
import type { SiteMap } from "./site-locations.ts";
import { isLong, Turns, type Waiting } from "./turns.ts";

/** The threads' work for one account. Drops tasks that are no longer wanted. */
export interface PageReading {
  page(page: string | PageBytes, order: PageOrder, signal: AbortSignal): Promise<Read<JudgedPage>>;
  text(page: PageBytes, status: number | null, signal: AbortSignal): Promise<Read<JudgedPage>>;
  links(page: PageBytes, url: string, signal: AbortSignal): Promise<Read<readonly string[]>>;
  robots(bytes: Uint8Array, name: string, signal: AbortSignal): Promise<Read<Robots>>;
  map(page: PageBytes, signal: AbortSignal): Promise<Read<SiteMap>>;
}

export interface Extractor {
  /** Accounts take turns: an account with a hundred pages does not delay another's first. */
  of(account: string): PageReading;
  close(): Promise<void>;
}

export interface ExtractorOptions {
  /** Default 2. */
  readonly threads?: number;
  /** CPU milliseconds for a long page; an ordinary one gets a fifth. Default 5,000. */
  readonly msMax?: number;
  /** MiB of one thread's old-generation heap; default 128. The longest pages need about 100, and a thread stays below 150 MB. */
  readonly memoryMib?: number;
}

export const PAGE_BYTES_MAX = 5 * 1_048_576;
const ORDINARY_PART = 5;
/** Room for a page as bytes, or for the longest text that is parsed, at two bytes per character. */
const TASK_BYTES_MAX = 6 * 1_048_576;
/** Until a new thread has loaded its code: on a busy machine that takes longer than a page may. */
const START_MS_MAX = 30_000;
/** A page is limited in CPU time, and its wall time to this multiple: threads may get as little as a tenth of a core. */
const WAIT_FACTOR = 12;

/** A thread's messages: first that it is ready, then the result of each task; each with the CPU time since its start. */
export interface ThreadAnswer {
  readonly isReady?: true;
  readonly done?: PageDone[PageTask["kind"]];
  /** CPU milliseconds. */
  readonly workedMs: number;
}

/** The threads and the waiting tasks. The first pages start the threads, which end with the process. */
class Pool {
  readonly #threads: number;
  readonly #msMax: number;
  readonly #memoryMib: number;
  readonly #turns = new Turns();
  readonly #idle: Worker[] = [];
  /** Each thread's CPU time as of its last message; asking for it would cost a message per page. */
  readonly #workedMs = new WeakMap<Worker, number>();
  readonly #all = new Set<Worker>();
  #long = 0;
  #isClosed = false;

  constructor({ threads = 2, msMax = 5_000, memoryMib = 128 }: ExtractorOptions) {
    this.#threads = threads;
    this.#msMax = msMax;
    this.#memoryMib = memoryMib;
  }

  ask(account: string, task: PageTask, signal: AbortSignal): Promise<Read<PageDone[PageTask["kind"]]>> {
    const bytes = bytesOf(task);
    if (this.#isClosed || signal.aborted || bytes > TASK_BYTES_MAX) return Promise.resolve(null);
    return new Promise((resolve) => {
      const dropped = () => {
        this.#turns.drop(waiting);
        waiting.done(null);
      };
      const waiting: Waiting = {
        account,
        task,
        bytes,
        isOver: false,
        done: (result) => {
          if (waiting.isOver) return;
          waiting.isOver = true;
          signal.removeEventListener("abort", dropped);
          resolve(result);
        },
      };
      if (!this.#turns.add(waiting)) return resolve("busy");
      signal.addEventListener("abort", dropped, { once: true });
      this.#next();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const waiting of this.#turns.all()) {
      this.#turns.drop(waiting);
      waiting.done(null);
    }
    await Promise.all([...this.#all].map((worker) => worker.terminate()));
  }

  #start(): Worker {
    const worker = new Worker(new URL("./extract-worker.ts", import.meta.url), {
      // The thread that reads untrusted pages gets no copy of our environment, which contains keys.
      env: {},
      execArgv: [...THREAD_FLAGS],
      resourceLimits: { maxOldGenerationSizeMb: this.#memoryMib, stackSizeMb: 8 },
    });
    worker.unref();
    // A thread that dies between pages is replaced for the next page.
    worker.on("error", () => this.#gone(worker));
    worker.on("exit", () => this.#gone(worker));
    this.#all.add(worker);
    return worker;
  }

  #gone(worker: Worker): void {
    this.#all.delete(worker);
    const at = this.#idle.indexOf(worker);
    if (at >= 0) this.#idle.splice(at, 1);
  }

  #next(): void {
    while (this.#idle.length > 0 || this.#all.size < this.#threads) {
      // Keep one thread free of long pages, so that ordinary pages wait only for each other.
      const mayBeLong = this.#long < Math.max(1, this.#threads - 1);
      const waiting = this.#turns.next(mayBeLong);
      if (waiting === undefined) return;
      if (isLong(waiting)) this.#long += 1;
      const worker = this.#idle.pop();
      const msMax = isLong(waiting) ? this.#msMax : this.#msMax / ORDINARY_PART;
      this.#run(worker ?? this.#start(), waiting, { isNew: worker === undefined, msMax });
    }
  }

  /** Finishes a task even where its caller has left, within its time. */
  #run(worker: Worker, waiting: Waiting, { isNew, msMax }: { isNew: boolean; msMax: number }): void {
    const { task, done } = waiting;
    const end = (result: Read<PageDone[PageTask["kind"]]>, isWell: boolean): void => {
      stopTimer();
      if (isLong(waiting)) this.#long -= 1;
      worker.off("message", told);
      worker.off("error", broken);
      worker.off("exit", broken);
      if (isWell) this.#idle.push(worker);
      else {
        this.#gone(worker);
        void worker.terminate();
      }
      done(result);
      this.#next();
    };
    const told = (answer: ThreadAnswer) => {
      this.#workedMs.set(worker, answer.workedMs);
      if (answer.isReady !== true) return end(answer.done ?? null, true);
      stopTimer();
      stopTimer = onceWorked(worker, { fromMs: answer.workedMs, ms: msMax }, broken);
    };
    const broken = () => end(null, false);
    const fromMs = this.#workedMs.get(worker) ?? 0;
    let stopTimer = isNew ? onceLate(START_MS_MAX, broken) : onceWorked(worker, { fromMs, ms: msMax }, broken);
    worker.on("message", told);
    worker.once("error", broken);
    worker.once("exit", broken);
    worker.postMessage(task, transferable(task));
  }
}

function onceLate(ms: number, act: () => void): () => void {
  const timer = setTimeout(act, ms);
  return () => clearTimeout(timer);
}

/** CPU milliseconds since the thread's start; rejects where it has ended. */
async function workedMs(worker: Worker): Promise<number> {
  const { user, system } = await worker.cpuUsage();
  return (user + system) / 1_000;
}

/** Calls `act` once a thread has worked `ms` beyond `fromMs`; the returned function cancels that. */
function onceWorked(
  worker: Worker,
  { fromMs, ms }: { readonly fromMs: number; readonly ms: number },
  act: () => void,
): () => void {
  let isOver = false;
  const last = setTimeout(act, ms * WAIT_FACTOR);
  const look = async () => {
    const leftMs = ms - ((await workedMs(worker)) - fromMs);
    if (isOver) return;
    if (leftMs <= 1) act();
    else timer = setTimeout(begin, leftMs);
  };
  // A thread that ends meanwhile emits its own event.
  const begin = () => void look().catch(() => {});
  let timer = setTimeout(begin, ms);
  return () => {
    isOver = true;
    clearTimeout(timer);
    clearTimeout(last);
  };
}

/** Transfers bytes without a copy where they have a buffer of their own. */
function transferable(task: PageTask): ArrayBuffer[] {
  const bytes = task.kind === "robots" ? task.bytes : typeof task.page === "string" ? null : task.page.bytes;
  const memory = bytes?.buffer;
  return memory instanceof ArrayBuffer && memory.byteLength === bytes?.byteLength ? [memory] : [];
}

export function createExtractor(options: ExtractorOptions = {}): Extractor {
  const pool = new Pool(options);
  return {
    of(account) {
      // Each task resolves with a result of its own kind.
      const ask = <Kind extends PageTask["kind"]>(task: PageTask & { kind: Kind }, signal: AbortSignal) =>
        pool.ask(account, task, signal) as Promise<Read<PageDone[Kind]>>;
      return {
        page: (page, order, signal) => ask({ kind: "page", page, order }, signal),
        text: (page, status, signal) => ask({ kind: "text", page, status }, signal),
        links: (page, url, signal) => ask({ kind: "links", page, url }, signal),
        robots: (bytes, name, signal) => ask({ kind: "robots", bytes, name }, signal),
        map: (page, signal) => ask({ kind: "map", page }, signal),
      };
    },
    close: () => pool.close(),
  };
}
