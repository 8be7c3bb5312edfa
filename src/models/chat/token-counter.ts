// Real token counts: where the cheap bound is not enough, where no usage was reported, and for callers who ask.
import { Worker } from "node:worker_threads";
import type { Tokenizer } from "../../catalog/model-spec.ts";
import { THREAD_FLAGS } from "../../core/thread-flags.ts";
import type { PromptOrder, PromptRead } from "./read-prompt.ts";

export class FairTurns<Work> {
  readonly #byPayer = new Map<string, Work[]>();

  add(payer: string, work: Work): void {
    const own = this.#byPayer.get(payer);
    if (own === undefined) this.#byPayer.set(payer, [work]);
    else own.push(work);
  }

  waiting(payer: string): number {
    return this.#byPayer.get(payer)?.length ?? 0;
  }

  /** The next item of the payer who has waited longest for a turn; the payer's other items then go to the back of the queue. */
  next(): Work | undefined {
    const [first] = this.#byPayer;
    if (first === undefined) return undefined;
    const [payer, own] = first;
    const work = own.shift();
    this.#byPayer.delete(payer);
    if (own.length > 0) this.#byPayer.set(payer, own);
    return work;
  }

  clear(): void {
    this.#byPayer.clear();
  }
}

export interface TokenCounter {
  /** Tokens in the o200k encoding; very long texts are sampled. */
  count(text: string): Promise<number>;
  /** The most tokens that this tokenizer can make of a text. */
  countMax(text: string, tokenizer: Tokenizer): Promise<number>;
}

/** One thread does all counting. Counts for calls and free counts alternate, and within each, payers alternate. */
export interface TokenCounters extends TokenCounter {
  of(payer: string): TokenCounter;
  /** Parses and counts a whole prompt, for free. Null: too many prompts of this payer are queued. */
  prompt(order: PromptOrder): Promise<PromptRead> | null;
  close(): Promise<void>;
}

export type CountOrder =
  /** `tokenizer`: whose upper bound to compute; null: an estimate is enough. */
  { readonly text: string; readonly tokenizer: Tokenizer | null } | { readonly prompt: PromptOrder };

/** The thread's reply; `broke` is the reason of a failure. */
export type CountAnswer = { readonly answer: number | PromptRead } | { readonly broke: string };

interface Waiting {
  readonly order: CountOrder;
  resolve(answer: never): void;
  reject(error: Error): void;
}

/** Clients count all parts of a prompt in parallel. */
export const PROMPTS_WAITING_MAX = 64;

/** The thread starts with the first count and ends with the process. `secrets` open sealed reasoning. */
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
