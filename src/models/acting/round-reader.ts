// Reads one round of a model and relays it to the reader of the whole answer, including pauses and disconnects.
import type { AnswerReader } from "../../core/plan.ts";
import type { Candidate, Leg } from "../../core/route.ts";

/** The destination of an answer's bytes. */
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

  /** `onBegin` receives the legs of the attempts before the first content. */
  constructor(sink: RoundSink, onBegin: (legs: readonly Leg[]) => void) {
    this.#sink = sink;
    this.#onBegin = onBegin;
  }

  get closed(): boolean {
    return this.#isClosed;
  }

  /** The candidate whose content came first; null: none yet. */
  get served(): Candidate | null {
    return this.#served;
  }

  /** Call before another round is read. */
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

  /** Call when the reader of the whole answer disconnects. */
  leave(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#gone?.();
  }
}
