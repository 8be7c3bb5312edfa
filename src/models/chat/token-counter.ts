// Real token counts: where the cheap bound is not enough, where no usage was reported, and for callers who ask.
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Tokenizer } from "../../catalog/model-spec.ts";
import { Places } from "../../core/places.ts";
import { tally } from "../../core/tally.ts";
import { THREAD_FLAGS } from "../../core/thread-flags.ts";
import type { PromptOrder, PromptRead } from "./read-prompt.ts";

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

/** Clients count all parts of a prompt in parallel. */
export const PROMPTS_WAITING_MAX = 64;

/** The thread starts with the first count and ends with the process. `secrets` open sealed reasoning. */
export function createTokenCounter(secrets: readonly string[] = []): TokenCounters {
  const thread = new Places(1);
  const [paid, free] = [new Places(1), new Places(1)];
  /** The prompts that wait or are counted, by payer. */
  const prompts = new Map<string, number>();
  const closing = new AbortController();
  let worker: Worker | null = null;

  function started(): Worker {
    const execArgv = [...THREAD_FLAGS];
    const begun = new Worker(new URL("./token-worker.ts", import.meta.url), { workerData: { secrets }, execArgv });
    begun.unref();
    begun.once("error", () => {
      worker = null;
    });
    return begun;
  }

  async function answerTo(order: CountOrder): Promise<number | PromptRead> {
    closing.signal.throwIfAborted();
    worker ??= started();
    worker.postMessage(order);
    const [said]: CountAnswer[] = await once(worker, "message", { signal: closing.signal });
    if (said === undefined || "broke" in said) throw new Error(said?.broke);
    return said.answer;
  }

  const ask = <Answer extends number | PromptRead>(lane: Places, payer: string, order: CountOrder) =>
    lane.run(payer, () => thread.run(lane === free ? "free" : "paid", () => answerTo(order) as Promise<Answer>));

  const of = (payer: string): TokenCounter => ({
    count: async (text) => (text === "" ? 0 : ask<number>(paid, payer, { text, tokenizer: null })),
    countMax: async (text, tokenizer) => (text === "" ? 0 : ask<number>(paid, payer, { text, tokenizer })),
  });

  return {
    ...of(""),
    of,
    prompt(order) {
      const { payer } = order;
      if ((prompts.get(payer) ?? 0) > PROMPTS_WAITING_MAX) return null;
      tally(prompts, payer, 1);
      return ask<PromptRead>(free, payer, { prompt: order }).finally(() => tally(prompts, payer, -1));
    },
    async close() {
      closing.abort(new Error("the token counter has closed"));
      await worker?.terminate();
    },
  };
}
