// Takes pages apart off the event loop: a few threads, each bounded in memory and in the time that a page may take.
import { Worker } from "node:worker_threads";
import type { Extracted, ExtractOrder } from "./extract-page.ts";

export interface Extractor {
  /** Null: the page is too long, too deep or too slow to be taken apart. */
  extract(order: ExtractOrder): Promise<Extracted | null>;
  close(): Promise<void>;
}

export interface ExtractorOptions {
  /** Default 2. */
  readonly threads?: number;
  /** For one page, from when its turn has come and its thread is there. Default 5,000. */
  readonly msMax?: number;
}

export const PAGE_CHARS_MAX = 3 * 1_048_576;
/** More wait for nobody: whoever asks for so many at once is told that the page could not be read. */
const WAITING_MAX = 512;
const MEMORY_MIB = 256;
/** Until a new thread has loaded its code: on a busy machine that takes longer than a page may. */
const START_MS_MAX = 30_000;

interface Waiting {
  readonly order: ExtractOrder;
  readonly done: (extracted: Extracted | null) => void;
}

/** What a thread says: once that it is ready, then what came of each page. */
interface Answer {
  readonly isReady?: true;
  readonly extracted?: Extracted;
}

/** The threads are started by the first pages, and die with the process. */
export function createExtractor({ threads = 2, msMax = 5_000 }: ExtractorOptions = {}): Extractor {
  const queue: Waiting[] = [];
  const idle: Worker[] = [];
  const all = new Set<Worker>();
  let isClosed = false;

  function start(): Worker {
    const worker = new Worker(new URL("./extract-worker.ts", import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MIB, stackSizeMb: 8 },
    });
    worker.unref();
    // One that dies between pages is replaced by the next page's.
    worker.on("error", () => gone(worker));
    worker.on("exit", () => gone(worker));
    all.add(worker);
    return worker;
  }

  function gone(worker: Worker): void {
    all.delete(worker);
    const at = idle.indexOf(worker);
    if (at >= 0) idle.splice(at, 1);
  }

  function next(): void {
    while (queue.length > 0 && (idle.length > 0 || all.size < threads)) {
      const waiting = queue.shift();
      if (waiting === undefined) return;
      const worker = idle.pop();
      if (worker === undefined) run(start(), waiting, START_MS_MAX);
      else run(worker, waiting, msMax);
    }
  }

  /** `firstMsMax`: until the thread says anything. */
  function run(worker: Worker, { order, done }: Waiting, firstMsMax: number): void {
    function end(extracted: Extracted | null, isWell: boolean): void {
      clearTimeout(timer);
      worker.off("message", told);
      worker.off("error", broken);
      worker.off("exit", broken);
      if (isWell) idle.push(worker);
      else {
        gone(worker);
        void worker.terminate();
      }
      done(extracted);
      next();
    }
    const told = ({ isReady, extracted }: Answer) => {
      if (isReady !== true) return end(extracted ?? null, true);
      clearTimeout(timer);
      timer = setTimeout(broken, msMax);
    };
    const broken = () => end(null, false);
    let timer = setTimeout(broken, firstMsMax);
    worker.on("message", told);
    worker.once("error", broken);
    worker.once("exit", broken);
    worker.postMessage(order);
  }

  return {
    extract(order) {
      if (isClosed || order.html.length > PAGE_CHARS_MAX || queue.length >= WAITING_MAX) return Promise.resolve(null);
      return new Promise((done) => {
        queue.push({ order, done });
        next();
      });
    },
    async close() {
      isClosed = true;
      for (const { done } of queue.splice(0)) done(null);
      await Promise.all([...all].map((worker) => worker.terminate()));
    },
  };
}
