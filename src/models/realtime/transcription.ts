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

/** `sentSeconds` counts where the vendor counts in another unit than the price. */
function countsOf(usage: unknown, sentSeconds: number, { offer: { spec, cost } }: SoldBy): Counts {
  const seconds = countOf(Math.ceil(Number(atPointer(usage, "/seconds")) || sentSeconds));
  if (cost.rates.has("seconds")) return { seconds };
  const sent = Math.ceil(seconds * (spec.audioTokensPerSecond ?? 0));
  const input = countOf(atPointer(usage, "/input_tokens") ?? sent);
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
  /** Of its sound, what was transcribed. */
  doneSeconds: number;
}

export interface TranscriptionParts extends SoldBy {
  /** Sound that was sent before it began, and that the next item contains. */
  readonly openSeconds: number;
  readonly promptBytes: number;
  readonly tags: readonly string[];
  readonly msMax: number;
  pay(plan: Plan, reader: AnswerReader): Promise<Ended>;
  ended(ended: Ended): void;
}

export class Transcription {
  readonly #parts: TranscriptionParts;
  /** Sound that was sent and not committed, and sound that was committed and not transcribed. */
  #openSeconds: number;
  /** Of the client's own commits that the vendor has not confirmed yet. */
  readonly #sent: number[] = [];
  readonly #items = new Map<string, number>();
  #block: Block | null = null;
  #isClosed = false;
  #isStopped = false;

  constructor(parts: TranscriptionParts) {
    this.#parts = parts;
    this.#openSeconds = parts.openSeconds;
  }

  /** Sound is about to be sent. A promise where it must be held first: null once it is, else the refused call. */
  appended(seconds: number): Promise<Ended | null> | null {
    this.#openSeconds += seconds;
    const waiting = this.#waiting;
    if (this.#block !== null && this.#block.doneSeconds + waiting <= this.#block.secondsMax) return null;
    return this.#hold(Math.max(SECONDS_MIN, 2 * waiting));
  }

  /** The client has committed the sound that it appended. */
  commits(): void {
    this.#sent.push(this.#openSeconds);
    this.#openSeconds = 0;
  }

  get hasCommits(): boolean {
    return this.#sent.length > 0;
  }

  /** The vendor has nothing to commit. */
  notCommitted(): void {
    this.#sent.shift();
    if (this.#isIdle) this.#end();
  }

  committed(itemId: string): void {
    const sent = this.#sent.shift();
    this.#items.set(itemId, sent ?? this.#openSeconds);
    if (sent === undefined) this.#openSeconds = 0;
  }

  cleared(): void {
    this.#openSeconds = 0;
    if (this.#isIdle) this.#end();
  }

  /** The vendor's count for an item; without usage it costs nothing. */
  completed(itemId: string, usage: unknown): void {
    const seconds = this.#items.get(itemId);
    const block = this.#block;
    if (seconds === undefined || block === null) return;
    this.#items.delete(itemId);
    block.doneSeconds += seconds;
    if (isRecord(usage)) block.counts = sumOf(block.counts, countsOf(usage, seconds, this.#parts));
    // Sound that was sent is covered until it is transcribed.
    if (this.#isIdle) this.#end();
  }

  /** No more sound is sent to it; what was committed may still be transcribed. */
  close(): void {
    this.#isClosed = true;
    this.#openSeconds = 0;
    if (this.#isIdle) this.#end();
  }

  reopened(openSeconds: number): this {
    this.#isClosed = false;
    this.#openSeconds = openSeconds;
    return this;
  }

  get isDone(): boolean {
    return this.#isClosed && this.#isIdle;
  }

  get #isIdle(): boolean {
    return this.#items.size === 0 && this.#sent.length === 0 && this.#openSeconds === 0;
  }

  failed(failure: AttemptFailure): void {
    const block = this.#block;
    this.#block = null;
    this.#isStopped = true;
    block?.call.fail(failure, Object.keys(block.counts).length === 0 ? null : block.counts);
  }

  /** No more sound follows: what was transcribed so far is charged. */
  stop(): void {
    this.#isStopped = true;
    this.#end();
  }

  get #waiting(): number {
    return [...this.#items.values(), ...this.#sent].reduce((sum, seconds) => sum + seconds, this.#openSeconds);
  }

  /** The new hold is placed before the old one ends, so that all waiting sound is always covered. */
  async #hold(secondsMax: number): Promise<Ended | null> {
    const { pay, ended, ...order } = this.#parts;
    const block: Block = {
      call: new MeteredCall({ isWork: false, begin: () => {}, aborted: () => {}, estimate: () => block.counts }),
      secondsMax,
      counts: {},
      doneSeconds: 0,
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
    // The session may have ended while the hold was placed.
    if (this.#isStopped || this.isDone) this.#end();
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
