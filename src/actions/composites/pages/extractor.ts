// Reads untrusted pages off the event loop, in a few threads with bounds on memory and on time per page. Accounts take turns.
import { Worker } from "node:worker_threads";
import { Places } from "../../../core/places.ts";
import { tally } from "../../../core/tally.ts";
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
/** The most bytes of an ordinary page. */
const ORDINARY_BYTES_MAX = 512 * 1024;
/** Bounds on the bytes of waiting tasks: of all accounts, and of one. */
const WAITING_BYTES_MAX = 256 * 1_048_576;
const ACCOUNT_BYTES_MAX = 64 * 1_048_576;
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

type Result = Read<PageDone[PageTask["kind"]]>;

/** The threads, and the tasks that wait for one. The first pages start the threads, which end with the process. */
class Pool {
  readonly #msMax: number;
  readonly #memoryMib: number;
  readonly #places: Places;
  /** Fewer than all, so that ordinary pages wait only for each other. */
  readonly #longPlaces: Places;
  /** The bytes of waiting tasks, by account. */
  readonly #waiting = new Map<string, number>();
  readonly #idle: Worker[] = [];
  /** Each thread's CPU time as of its last message; asking for it would cost a message per page. */
  readonly #workedMs = new WeakMap<Worker, number>();
  readonly #all = new Set<Worker>();
  readonly #closing = new AbortController();

  constructor({ threads = 2, msMax = 5_000, memoryMib = 128 }: ExtractorOptions) {
    this.#msMax = msMax;
    this.#memoryMib = memoryMib;
    this.#places = new Places(threads);
    this.#longPlaces = new Places(Math.max(1, threads - 1));
  }

  async ask(account: string, task: PageTask, signal: AbortSignal): Promise<Result> {
    const bytes = bytesOf(task);
    const wanted = AbortSignal.any([signal, this.#closing.signal]);
    if (wanted.aborted || bytes > TASK_BYTES_MAX) return null;
    if (!this.#hasRoom(account, bytes)) return "busy";
    const isLong = bytes > ORDINARY_BYTES_MAX;
    // A robots.txt is read quickly, and other pages may wait for it: it does not queue behind the account's pages.
    const owner = task.kind === "robots" ? `robots ${account}` : account;
    const held: Places[] = [];
    tally(this.#waiting, account, bytes);
    for (const places of isLong ? [this.#longPlaces, this.#places] : [this.#places])
      if (await places.enter(owner, wanted)) held.push(places);
    tally(this.#waiting, account, -bytes);
    const leave = () => {
      for (const places of held) places.leave();
    };
    if (wanted.aborted) {
      leave();
      return null;
    }
    // A thread finishes its task even where the caller has left.
    const done = this.#run(task, isLong ? this.#msMax : this.#msMax / ORDINARY_PART).finally(leave);
    const { promise: left, resolve } = Promise.withResolvers<null>();
    const drop = () => resolve(null);
    wanted.addEventListener("abort", drop, { once: true });
    // A signal that is listened to is kept for as long as this pool.
    return Promise.race([done, left]).finally(() => wanted.removeEventListener("abort", drop));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([...this.#all].map((worker) => worker.terminate()));
  }

  #hasRoom(account: string, bytes: number): boolean {
    const all = [...this.#waiting.values()].reduce((sum, one) => sum + one, 0);
    return (this.#waiting.get(account) ?? 0) + bytes <= ACCOUNT_BYTES_MAX && all + bytes <= WAITING_BYTES_MAX;
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

  async #run(task: PageTask, msMax: number): Promise<Result> {
    const { promise, resolve } = Promise.withResolvers<Result>();
    const idle = this.#idle.pop();
    const worker = idle ?? this.#start();
    const end = (result: Result, isWell: boolean): void => {
      stopTimer();
      worker.off("message", told);
      worker.off("error", broken);
      worker.off("exit", broken);
      if (isWell) this.#idle.push(worker);
      else {
        this.#gone(worker);
        void worker.terminate();
      }
      resolve(result);
    };
    const told = (answer: ThreadAnswer) => {
      this.#workedMs.set(worker, answer.workedMs);
      if (answer.isReady !== true) return end(answer.done ?? null, true);
      stopTimer();
      stopTimer = onceWorked(worker, { fromMs: answer.workedMs, ms: msMax }, broken);
    };
    const broken = () => end(null, false);
    const fromMs = this.#workedMs.get(worker) ?? 0;
    let stopTimer =
      idle === undefined ? onceLate(START_MS_MAX, broken) : onceWorked(worker, { fromMs, ms: msMax }, broken);
    worker.on("message", told);
    worker.once("error", broken);
    worker.once("exit", broken);
    worker.postMessage(task, transferable(task));
    return promise;
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
