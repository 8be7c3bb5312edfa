// Who reads a round of a model: its words go on to the reader of the whole answer, whose pace and whose leaving are its own.
import type { AnswerReader } from "../../core/plan.ts";
import type { Candidate, Leg } from "../../core/route.ts";

/** Where the words of an answer go. */
export interface RoundSink {
  content(bytes: Uint8Array): void;
}

export class RoundReader implements AnswerReader {
  readonly #sink: RoundSink;
  readonly #onBegin: (legs: readonly Leg[]) => void;
  #gone: (() => void) | null = null;
  #room: (() => void) | null = null;
  #isPaused = false;
  #isClosed = false;
  #served: Candidate | null = null;

  /** `onBegin` hears of the attempts before the first words. */
  constructor(sink: RoundSink, onBegin: (legs: readonly Leg[]) => void) {
    this.#sink = sink;
    this.#onBegin = onBegin;
  }

  get closed(): boolean {
    return this.#isClosed;
  }

  /** Whose words came first; null: there are none yet. */
  get served(): Candidate | null {
    return this.#served;
  }

  /** Another round is about to be read. */
  begins(): void {
    this.#gone = null;
    this.#room = null;
  }

  onGone(listener: () => void): void {
    this.#gone = listener;
  }

  onRoom(listener: () => void): void {
    this.#room = listener;
  }

  admitted(): void {}

  begin(served: Candidate, legs: readonly Leg[]): void {
    if (this.#served !== null) return;
    this.#served = served;
    this.#onBegin(legs);
  }

  write(bytes: Uint8Array): boolean {
    if (!this.#isClosed && bytes.length > 0) this.#sink.content(bytes);
    return !this.#isPaused;
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#room?.();
  }

  /** The reader of the whole answer has left. */
  leave(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#gone?.();
  }
}
