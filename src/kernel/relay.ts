// Pushes bytes from the running attempt to its reader without a promise per chunk, and pauses the attempt while the reader is slow.
import type { Clock } from "../core/clock.ts";
import type { AnswerReader, Plan } from "../core/plan.ts";
import type { RouteAttempt, Tries } from "../core/route.ts";

/** Learns that the reader has left. */
export interface Leaving {
  left(): void;
}

export class Relay {
  readonly #reader: AnswerReader;
  readonly #tries: Tries;
  readonly #clock: Clock;
  readonly #plan: Pick<Plan, "begun">;
  #attempt: RouteAttempt | null = null;
  #leaving: Leaving | null = null;
  #waitedMs = 0;
  #waitsSinceMs: number | null = null;

  constructor(reader: AnswerReader, tries: Tries, plan: Pick<Plan, "begun">) {
    this.#reader = reader;
    this.#tries = tries;
    this.#plan = plan;
    this.#clock = tries.clock;
    reader.onGone(() => {
      this.#waited();
      this.#leaving?.left();
    });
    reader.onRoom(() => {
      this.#waited();
      this.#attempt?.resume();
    });
  }

  get gone(): boolean {
    return this.#reader.closed;
  }

  /** How long the reader has stalled the answer so far, in milliseconds. */
  get waitedMs(): number {
    return this.#waitedMs + (this.#waitsSinceMs === null ? 0 : this.#clock.elapsedMs() - this.#waitsSinceMs);
  }

  /** Sets the attempt to relay from now on, and who learns of a disconnect. */
  carry(attempt: RouteAttempt, leaving: Leaving): void {
    this.#attempt = attempt;
    this.#leaving = leaving;
  }

  drop(): void {
    this.#attempt = null;
    this.#leaving = null;
  }

  /** The first content commits: no other candidate can take over afterwards. */
  readonly content = (bytes: Uint8Array): void => {
    if (this.#tries.committedMs === null) this.#commit();
    if (this.#reader.closed || this.#reader.write(bytes)) return;
    this.#waitsSinceMs ??= this.#clock.elapsedMs();
    this.#attempt?.pause();
  };

  #commit(): void {
    this.#tries.committedMs = this.#clock.elapsedMs();
    if (this.#attempt === null) return;
    const served = this.#attempt.served();
    if (!this.#reader.closed) this.#reader.begin(served, this.#tries.legs);
    this.#plan.begun?.(served);
  }

  #waited(): void {
    this.#waitedMs = this.waitedMs;
    this.#waitsSinceMs = null;
  }
}
