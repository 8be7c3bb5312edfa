// Real token counts, where the cheap bound decides or no usage came.
import { Worker } from "node:worker_threads";
import type { Tokenizer } from "../catalog/adapter.ts";

export interface TokenCounter {
  /** Tokens of a text by the o200k encoding; of a very long one by samples of it. */
  count(text: string): Promise<number>;
  /** The most tokens that a tokenizer can make of a text. */
  countMax(text: string, tokenizer: Tokenizer): Promise<number>;
  close(): Promise<void>;
}

/** What the thread is asked. */
export interface CountOrder {
  readonly id: number;
  readonly text: string;
  /** Whose most is asked for; null: an estimate will do. */
  readonly tokenizer: Tokenizer | null;
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

  function ask(text: string, tokenizer: Tokenizer | null): Promise<number> {
    if (text === "") return Promise.resolve(0);
    return new Promise((resolve, reject) => {
      const id = ++lastId;
      waiting.set(id, { resolve, reject });
      running().postMessage({ id, text, tokenizer } satisfies CountOrder);
    });
  }

  return {
    count: (text) => ask(text, null),
    countMax: ask,
    async close() {
      await worker?.terminate();
      fail(new Error("the token counter has closed"));
    },
  };
}
