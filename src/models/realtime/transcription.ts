// Transcription of the client's sound beside a session: held by seconds of sound before the sound is sent, charged by what the vendor counts.
import { isRecord } from "../../core/json.ts";
import type { AnswerReader, Ended, Plan } from "../../core/plan.ts";
import type { AttemptFailure, Counts } from "../../core/route.ts";
import { atPointer, countOf } from "../../upstream/json-pointer.ts";
import { MeteredCall } from "./metered-call.ts";
import { type SoldBy, transcriptionPlan } from "./plans.ts";

/** One hold is for this much sound, or twice what still waits for its transcription. */
const SECONDS_MIN = 30;
/** Fast speech, and the least for a short answer. */
const TEXT_TOKENS_PER_SECOND = 8;
const TEXT_TOKENS_MIN = 100;

function countsOf(usage: unknown, { offer }: SoldBy): Counts {
  const seconds = countOf(Math.ceil(Number(atPointer(usage, "/seconds")) || 0));
  if (offer.cost.rates.has("seconds")) return { seconds };
  const input = countOf(atPointer(usage, "/input_tokens"));
  const textIn = Math.min(input, countOf(atPointer(usage, "/input_token_details/text_tokens")));
  return { textIn, audioIn: input - textIn, textOut: countOf(atPointer(usage, "/output_tokens")) };
}

function countsMax(seconds: number, promptBytes: number, { offer: { spec, cost } }: SoldBy): Counts {
  if (cost.rates.has("seconds")) return { seconds: Math.ceil(seconds) };
  return {
    textIn: promptBytes + TEXT_TOKENS_MIN,
    audioIn: Math.ceil(seconds * (spec.audioTokensPerSecond ?? 0)),
    textOut: Math.ceil(seconds * TEXT_TOKENS_PER_SECOND) + TEXT_TOKENS_MIN,
  };
}

function sumOf(a: Counts, b: Counts): Counts {
  const units = new Set([...Object.keys(a), ...Object.keys(b)]);
  return Object.fromEntries([...units].map((unit) => [unit, (a[unit] ?? 0) + (b[unit] ?? 0)]));
}

interface Block {
  readonly call: MeteredCall;
  readonly secondsMax: number;
  counts: Counts;
}

export interface TranscriptionParts extends SoldBy {
  readonly promptBytes: number;
  readonly tags: readonly string[];
  readonly msMax: number;
  pay(plan: Plan, reader: AnswerReader): Promise<Ended>;
  /** A part has ended. */
  ended(ended: Ended): void;
}

export class Transcription {
  readonly #parts: TranscriptionParts;
  /** Sound that was sent and not committed, and sound that was committed and not transcribed. */
  #openSeconds = 0;
  readonly #items = new Map<string, number>();
  #block: Block | null = null;

  constructor(parts: TranscriptionParts) {
    this.#parts = parts;
  }

  /** Sound is about to be sent. A promise where it must be held first: null once it is, else the refused call. */
  appended(seconds: number): Promise<Ended | null> | null {
    this.#openSeconds += seconds;
    const waiting = this.#waiting;
    if (this.#block !== null && waiting <= this.#block.secondsMax) return null;
    return this.#hold(Math.max(SECONDS_MIN, 2 * waiting));
  }

  committed(itemId: string): void {
    this.#items.set(itemId, this.#openSeconds);
    this.#openSeconds = 0;
  }

  cleared(): void {
    this.#openSeconds = 0;
  }

  /** The vendor's count for an item; without usage it costs nothing. */
  completed(itemId: string, usage: unknown): void {
    this.#items.delete(itemId);
    const block = this.#block;
    if (block === null) return;
    if (isRecord(usage)) block.counts = sumOf(block.counts, countsOf(usage, this.#parts));
    if (this.#items.size === 0) this.#end();
  }

  failed(failure: AttemptFailure): void {
    const block = this.#block;
    this.#block = null;
    block?.call.fail(failure, Object.keys(block.counts).length === 0 ? null : block.counts);
  }

  /** No more sound follows: what was transcribed so far is charged. */
  stop(): void {
    this.#end();
  }

  get #waiting(): number {
    return [...this.#items.values()].reduce((sum, seconds) => sum + seconds, this.#openSeconds);
  }

  /** The new hold is placed before the old one ends, so that all waiting sound is always covered. */
  async #hold(secondsMax: number): Promise<Ended | null> {
    const { pay, ended, ...order } = this.#parts;
    const block: Block = {
      call: new MeteredCall({ isWork: false, begin: () => {}, aborted: () => {}, estimate: () => block.counts }),
      secondsMax,
      counts: {},
    };
    const plan = transcriptionPlan({
      ...order,
      call: block.call,
      countsMax: countsMax(secondsMax, this.#parts.promptBytes, this.#parts),
    });
    const refused = await block.call.run((reader) => pay(plan, reader), ended);
    if (refused !== null) return refused;
    this.#end();
    this.#block = block;
    return null;
  }

  #end(): void {
    const block = this.#block;
    this.#block = null;
    if (block === null) return;
    if (Object.keys(block.counts).length > 0) block.call.finish(block.counts);
    else block.call.leave();
  }
}
