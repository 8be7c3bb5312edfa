// Real token counts, where the cheap bound decides or no usage came.
import { Worker } from "node:worker_threads";

export interface TokenCounter {
  /** Tokens of a text by the o200k encoding. */
  count(text: string): Promise<number>;
  close(): Promise<void>;
}

/** A counter in a thread of its own, which is started by the first count and dies with the process. */
export function createTokenCounter(): TokenCounter {
  const waiting = new Map<number, { resolve: (tokens: number) => void; reject: (error: Error) => void }>();
  let worker: Worker | null = null;
  let lastId = 0;

  function fail(error: Error): void {
    worker = null;
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  }

  function running(): Worker {
    if (worker !== null) return worker;
    worker = new Worker(new URL("./token-worker.ts", import.meta.url));
    worker.unref();
    worker.on("message", ({ id, tokens }: { id: number; tokens: number }) => {
      waiting.get(id)?.resolve(tokens);
      waiting.delete(id);
    });
    worker.on("error", fail);
    return worker;
  }

  return {
    count(text) {
      if (text === "") return Promise.resolve(0);
      return new Promise((resolve, reject) => {
        const id = ++lastId;
        waiting.set(id, { resolve, reject });
        running().postMessage({ id, text });
      });
    },
    async close() {
      await worker?.terminate();
      fail(new Error("the token counter has closed"));
    },
  };
}
