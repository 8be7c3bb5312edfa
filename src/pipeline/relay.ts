// Carries an answer's bytes from the running attempt to the reply: push, no promise per chunk, paused when the client is slow.
import type { Clock } from "../clock.ts";
import type { Attempt, AttemptRecord, Plan, Reply, Route } from "../plan.ts";

export class Relay {
  readonly #plan: Plan;
  readonly #reply: Reply;
  readonly #clock: Clock;
  #attempt: Attempt | null = null;
  #onLeave: (() => void) | null = null;
  #begun = false;
  #keepAlive: NodeJS.Timeout | null = null;
  #bytes = 0;
  #waitedMs = 0;
  #waitsSinceMs: number | null = null;
  /** When the first content went out; null before. */
  committedMs: number | null = null;

  constructor(plan: Plan, reply: Reply, clock: Clock) {
    this.#plan = plan;
    this.#reply = reply;
    this.#clock = clock;
    reply.onGone(() => {
      this.#waited();
      this.#onLeave?.();
    });
    reply.onRoom(() => {
      this.#waited();
      this.#attempt?.resume();
    });
    if (plan.keepAliveMs !== null && plan.streamed) {
      this.#keepAlive = setInterval(() => this.#beat(), plan.keepAliveMs);
    }
  }

  /** Nothing can reach the client any more. */
  get gone(): boolean {
    return this.#reply.closed;
  }

  /** The head is out: an error can only be told inside the stream. */
  get begun(): boolean {
    return this.#begun;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** How long the client has kept the answer waiting so far, in milliseconds. */
  get waitedMs(): number {
    return this.#waitedMs + (this.#waitsSinceMs === null ? 0 : this.#clock.elapsedMs() - this.#waitsSinceMs);
  }

  /** The attempt whose bytes are carried now, and what to do when the client leaves. */
  carry(attempt: Attempt, onLeave: () => void): void {
    this.#attempt = attempt;
    this.#onLeave = onLeave;
  }

  drop(): void {
    this.#attempt = null;
    this.#onLeave = null;
  }

  /** Bytes that bear content. The first ones commit: the head goes out, and no other route can take over. */
  content(bytes: Uint8Array, route: Route, attempts: readonly AttemptRecord[]): void {
    if (this.committedMs === null) this.#commit(route, attempts);
    if (this.#reply.closed) return;
    this.#bytes += bytes.length;
    if (this.#reply.write(bytes)) return;
    this.#waitsSinceMs ??= this.#clock.elapsedMs();
    this.#attempt?.pause();
  }

  #waited(): void {
    this.#waitedMs = this.waitedMs;
    this.#waitsSinceMs = null;
  }

  /** A stream's head, where content never came but its end did. */
  beginIfNeeded(route: Route, attempts: readonly AttemptRecord[]): void {
    if (this.committedMs === null) this.#commit(route, attempts);
  }

  /** No more keep-alives: the last bytes are about to be written. */
  stop(): void {
    if (this.#keepAlive !== null) clearInterval(this.#keepAlive);
    this.#keepAlive = null;
    this.drop();
  }

  #commit(route: Route, attempts: readonly AttemptRecord[]): void {
    if (this.#keepAlive !== null) clearInterval(this.#keepAlive);
    this.#keepAlive = null;
    this.committedMs = this.#clock.elapsedMs();
    if (this.#begun || this.#reply.closed) return;
    this.#plan.frame.head(this.#reply, route, attempts, null);
    this.#begun = true;
    this.#reply.begin(200);
  }

  #beat(): void {
    const { keepAlive } = this.#plan.frame;
    if (this.#reply.closed || keepAlive === null) return;
    if (!this.#begun) {
      keepAlive.headers(this.#reply);
      this.#begun = true;
      this.#reply.begin(200);
    }
    this.#reply.write(keepAlive.text);
  }
}
