// Points out waste in a run: the same call repeated, a growing prompt that is never read from a cache, and tool results that keep growing.
import { getOrMake } from "../../core/maps.ts";
import type { RunCall } from "./bill-calls.ts";

/** Fewer are not worth a warning. */
const CALLS_MIN = 3;
/** Providers cache no shorter prompts, so resending them costs little either way. */
const PROMPT_TOKENS_MIN = 2_048;
/** A part that was read from a cache makes a resend cheap. */
const CACHED_SHARE_MIN = 0.1;
/** Tool results below this are not worth a warning. */
const RESULT_TOKENS_MIN = 1_000;
const LOOPS_MAX = 20;

export interface Loop {
  readonly kind: "same_call" | "uncached_prompt" | "growing_results";
  readonly run_id: string;
  /** The model or action. */
  readonly name: string;
  readonly calls: number;
  /** The cost of these calls; of equal calls, without the first. */
  readonly charged_nano_usd: number;
  readonly message: string;
}

interface Streak {
  calls: number;
  nano: number;
}

interface Conversation {
  input: number;
  output: number;
  /** Tokens that the last call added beyond the answer before it. */
  added: number;
  readonly uncached: Streak;
  readonly growing: Streak;
}

const WORDS: Readonly<Record<Loop["kind"], (name: string, calls: number) => string>> = {
  same_call: (name, calls) => `${name} got the same request ${calls} times.`,
  uncached_prompt: (name, calls) =>
    `${name} got the same growing prompt ${calls} times without reading it from a cache.`,
  growing_results: (name, calls) => `What is added to the prompt of ${name} grew in each of ${calls} calls.`,
};

/** Reads a run's calls in order and collects its loops. */
export class LoopFinder {
  readonly #same = new Map<string, Streak>();
  readonly #conversations = new Map<string, Conversation>();
  readonly #loops = new Map<string, Loop>();

  add(call: RunCall): void {
    if (call.requestHash !== null) {
      const same = `${call.runId} ${call.name} ${call.requestHash}`;
      const streak = getOrMake(this.#same, same, () => ({ calls: 0, nano: -call.nano }));
      this.#grow("same_call", call, streak, same);
    }
    if (call.inputTokens > 0) this.#addToConversation(call);
  }

  /** The costliest first. */
  loops(): readonly Loop[] {
    const all = [...this.#loops.values()].sort((one, other) => other.charged_nano_usd - one.charged_nano_usd);
    return all.slice(0, LOOPS_MAX);
  }

  #addToConversation(call: RunCall): void {
    const place = `${call.runId} ${call.name}`;
    const before = this.#conversations.get(place);
    const fresh = (): Streak => ({ calls: 0, nano: 0 });
    const continues = before !== undefined && call.inputTokens >= before.input;
    const added = continues ? call.inputTokens - before.input - before.output : 0;
    const resends =
      continues && before.input >= PROMPT_TOKENS_MIN && call.cachedTokens < before.input * CACHED_SHARE_MIN;
    const grows = continues && added >= RESULT_TOKENS_MIN && added > before.added;
    const uncached = resends ? before.uncached : fresh();
    const growing = grows ? before.growing : fresh();
    if (resends) this.#grow("uncached_prompt", call, uncached, place);
    if (grows) this.#grow("growing_results", call, growing, place);
    this.#conversations.set(place, { input: call.inputTokens, output: call.outputTokens, added, uncached, growing });
  }

  #grow(kind: Loop["kind"], { runId, name, nano }: RunCall, streak: Streak, place: string): void {
    streak.calls += 1;
    streak.nano += nano;
    const id = `${kind} ${place}`;
    const known = this.#loops.get(id);
    if (streak.calls < CALLS_MIN || (known !== undefined && known.calls >= streak.calls)) return;
    const { calls } = streak;
    const message = WORDS[kind](name, calls);
    this.#loops.set(id, { kind, run_id: runId, name, calls, charged_nano_usd: streak.nano, message });
  }
}
