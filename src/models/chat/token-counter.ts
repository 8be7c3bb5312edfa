// Real token counts, where the cheap bound decides or no usage came, and the counts that callers ask for.
import { Worker } from "node:worker_threads";
import type { Tokenizer } from "../../catalog/model-spec.ts";
import { THREAD_FLAGS } from "../../core/thread-flags.ts";
import { FairTurns } from "./fair-turns.ts";
import type { PromptOrder, PromptRead } from "./read-prompt.ts";

export interface TokenCounter {
  /** Tokens of a text by the o200k encoding; of a very long one by samples of it. */
  count(text: string): Promise<number>;
  /** The most tokens that a tokenizer can make of a text. */
  countMax(text: string, tokenizer: Tokenizer): Promise<number>;
}

/** One thread for all counts. What is counted for a call takes turns with what is counted for free, and in both each payer with the others. */
export interface TokenCounters extends TokenCounter {
  /** Counts for the calls of one payer. */
  of(payer: string): TokenCounter;
  /** Reads and counts a whole prompt, for free. Null: too many of this payer's are waiting already. */
  prompt(order: PromptOrder): Promise<PromptRead> | null;
  close(): Promise<void>;
}

/** What the thread is asked. */
export type CountOrder =
  /** `tokenizer`: whose most is asked for; null: an estimate will do. */
  { readonly text: string; readonly tokenizer: Tokenizer | null } | { readonly prompt: PromptOrder };

/** What it answers; `broke` says why it cannot. */
export type CountAnswer = { readonly answer: number | PromptRead } | { readonly broke: string };

interface Waiting {
  readonly order: CountOrder;
  resolve(answer: never): void;
  reject(error: Error): void;
}

/** A client asks for the count of each part of a prompt at the same time. */
export const PROMPTS_WAITING_MAX = 64;

/** The counter's thread is started by the first count and dies with the process. `secrets` are those of sealed thoughts. */
export function createTokenCounter(secrets: readonly string[] = []): TokenCounters {
  const [paid, free] = [new FairTurns<Waiting>(), new FairTurns<Waiting>()];
  let worker: Worker | null = null;
  let running: Waiting | null = null;
  let freeIsNext = false;

  function fail(error: Error): void {
    worker = null;
    const all = [running];
    for (const turns of [paid, free]) for (let one = turns.next(); one !== undefined; one = turns.next()) all.push(one);
    running = null;
    for (const one of all) one?.reject(error);
  }

  function started(): Worker {
    if (worker !== null) return worker;
    worker = new Worker(new URL("./token-worker.ts", import.meta.url), {
      workerData: { secrets },
      execArgv: [...THREAD_FLAGS],
    });
    worker.unref();
    worker.on("message", (said: CountAnswer) => {
      const done = running;
      running = null;
      if ("broke" in said) done?.reject(new Error(said.broke));
      else done?.resolve(said.answer as never);
      turn();
    });
    worker.on("error", fail);
    return worker;
  }

  function turn(): void {
    if (running !== null) return;
    const [first, second] = freeIsNext ? [free, paid] : [paid, free];
    const next = first.next() ?? second.next();
    freeIsNext = !freeIsNext;
    if (next === undefined) return;
    running = next;
    started().postMessage(next.order);
  }

  function ask<Answer>(turns: FairTurns<Waiting>, payer: string, order: CountOrder): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      turns.add(payer, { order, resolve, reject });
      turn();
    });
  }

  const of = (payer: string): TokenCounter => ({
    count: (text) => (text === "" ? Promise.resolve(0) : ask(paid, payer, { text, tokenizer: null })),
    countMax: (text, tokenizer) => (text === "" ? Promise.resolve(0) : ask(paid, payer, { text, tokenizer })),
  });

  return {
    ...of(""),
    of,
    prompt(order) {
      return free.waiting(order.payer) >= PROMPTS_WAITING_MAX ? null : ask(free, order.payer, { prompt: order });
    },
    async close() {
      await worker?.terminate();
      fail(new Error("the token counter has closed"));
    },
  };
}
