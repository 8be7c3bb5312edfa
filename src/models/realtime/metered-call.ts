// One paid part of a session as a call of the kernel: the session, which has the connection, reports its progress and its end.
import type { AnswerReader, Ended, Plan } from "../../core/plan.ts";
import type { AnswerSink, Attempt, AttemptFailure, Candidate, Counts, Reading } from "../../core/route.ts";
import { NO_USAGE } from "../../core/token-usage.ts";
import { retrying } from "../../kernel/routes/retrying.ts";
import { NOTHING_READ } from "../../upstream/nothing-read.ts";
import { tokensOf } from "../chat/unit-plan.ts";

const NO_BYTES = new Uint8Array(0);
/** How long to wait for the vendor's count after the client has left. */
const READ_ON_MS_MAX = 10_000;

export interface CallParts {
  /** The vendor works once it has begun; false: only if something comes. */
  readonly isWork: boolean;
  /** Called once the money is held, or never. */
  begin(): void;
  /** The kernel has given up: time is over. */
  aborted(): void;
  /** The units used so far, as far as we can tell. */
  estimate(): Counts;
}

export class MeteredCall implements AnswerReader, Attempt {
  closed = false;
  /** The end, once it is charged. */
  settled: Promise<Ended | null> = Promise.resolve(null);
  readonly #parts: CallParts;
  #started = () => {};
  #sink: AnswerSink | null = null;
  #leave: (() => void) | null = null;
  #counts: Counts | null = null;
  #begun = false;
  #refused = false;
  #over = false;

  constructor(parts: CallParts) {
    this.#parts = parts;
  }

  /** Runs the plan. Resolves once it has begun or ended; null: it has begun. */
  run(pay: (reader: AnswerReader) => Promise<Ended>, ended: (ended: Ended) => void): Promise<Ended | null> {
    return new Promise((resolve) => {
      this.#started = () => resolve(null);
      this.settled = pay(this).then((result) => {
        this.#over = true;
        ended(result);
        resolve(result);
        return result;
      });
    });
  }

  route(served: Pick<Candidate, "provider" | "model" | "healthKey">): Plan["route"] {
    return retrying({
      ...served,
      firstTokenMsMax: READ_ON_MS_MAX,
      lastFirstTokenMsMax: READ_ON_MS_MAX,
      readOnMsMax: READ_ON_MS_MAX,
      pointlessAfter: () => false,
      open: (sink) => this.#open(sink),
    });
  }

  /** The vendor's count: the call is complete. */
  finish(counts: Counts): void {
    if (this.#sink === null || this.#over) return;
    this.#over = true;
    this.#counts = counts;
    this.#sink.done({ kind: "stream", tail: NO_BYTES });
  }

  /** `counts`: what the vendor charges us all the same. */
  fail(failure: AttemptFailure, counts: Counts | null = null): void {
    if (this.#sink === null || this.#over) return;
    this.#over = true;
    this.#counts = counts;
    this.#sink.failed(failure);
  }

  /** The vendor has not accepted the request, so it costs nothing. */
  refuse(failure: AttemptFailure): void {
    this.#refused = true;
    this.fail(failure);
  }

  /** The client has left; the vendor's count may still come. */
  leave(): void {
    this.closed = true;
    this.#leave?.();
  }

  onGone(listener: () => void): void {
    this.#leave = listener;
  }

  onRoom(): void {}

  admitted(): void {}

  begin(): void {}

  write(): boolean {
    return true;
  }

  pause(): void {}

  resume(): void {}

  abort(): void {
    if (this.#over) return;
    this.#over = true;
    if (this.#begun) this.#parts.aborted();
  }

  accepted(): boolean {
    const isUsed = this.#parts.isWork || this.#counts !== null;
    return this.#begun && isUsed && !this.#refused;
  }

  reading(): Reading {
    if (this.#counts === null) return { ...NOTHING_READ, counts: this.#parts.estimate() };
    return { ...NOTHING_READ, counts: this.#counts, usage: tokensOf(this.#counts) ?? NO_USAGE };
  }

  #open(sink: AnswerSink): Attempt {
    this.#sink = sink;
    // The kernel expects no content before it has this attempt.
    queueMicrotask(() => {
      if (this.closed || this.#over) return;
      this.#begun = true;
      // From here on a client that leaves still pays for what comes.
      if (this.#parts.isWork) sink.content(NO_BYTES);
      this.#parts.begin();
      this.#started();
    });
    return this;
  }
}
