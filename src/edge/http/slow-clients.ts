// Watches the clients that keep us waiting: bodies that are still coming in, and answers that are not being read.
import type { Clock } from "../../core/clock.ts";

/** A connection that waits for its client. */
export interface SlowClient {
  /** `clock.elapsedMs()` at which we stop waiting. */
  readonly deadlineMs: number;
  /** Puts off uWebSockets' own timeout. */
  keepOpen(): void;
  /** Called once, when the deadline has passed; by then it is watched no more. */
  expired(): void;
}

export interface SlowClients {
  /** The time that deadlines are in. */
  nowMs(): number;
  watch(client: SlowClient): void;
  forget(client: SlowClient): void;
  stop(): void;
}

/**
 * One timer for all slow clients, `everyMs` apart. uWebSockets closes a connection without a word when its client has sent less than
 * 160 kB or has read nothing in 10 s (8 s at the least, since it counts in steps of 4 s). Ours are kept open until their own
 * deadline, so that a slow body is told 408 and a reader who pauses does not lose a paid answer. `everyMs` of up to 2,000 is safe.
 */
export function watchSlowClients(clock: Clock, everyMs: number): SlowClients {
  const clients = new Set<SlowClient>();
  const timer = setInterval(() => {
    const nowMs = clock.elapsedMs();
    for (const client of clients) {
      if (nowMs < client.deadlineMs) client.keepOpen();
      else {
        clients.delete(client);
        client.expired();
      }
    }
  }, everyMs).unref();
  return {
    nowMs: () => clock.elapsedMs(),
    watch: (client) => void clients.add(client),
    forget: (client) => void clients.delete(client),
    stop: () => clearInterval(timer),
  };
}
