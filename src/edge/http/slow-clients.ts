// Watches slow clients: bodies that are still arriving, and answers that are not being read.
import type { Clock } from "../../core/clock.ts";

export interface SlowClient {
  /** `clock.elapsedMs()` at which we stop waiting. */
  readonly deadlineMs: number;
  /** Postpones uWebSockets' own timeout. */
  keepOpen(): void;
  /** Called once, after the deadline; it is no longer watched then. */
  expired(): void;
}

/** A request body that may still be arriving. */
export interface OpenBody {
  abandon(): void;
  /** The answer begins. True: the end of the body is unknown, so the connection closes after the answer. */
  answered?(): boolean;
}

/**
 * One timer for all slow clients, every `everyMs`. uWebSockets silently closes a connection whose client has sent less than 160 kB or read
 * nothing in 10 s (at least 8 s, since it counts in steps of 4 s). Ours stay open until their own deadline, so that a slow body gets a 408
 * and a reader who pauses does not lose a paid answer. `everyMs` of up to 2,000 is safe.
 */
export function watchSlowClients(clock: Clock, everyMs: number) {
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
    /** The clock of the deadlines. */
    nowMs: () => clock.elapsedMs(),
    watch: (client: SlowClient) => void clients.add(client),
    forget: (client: SlowClient) => void clients.delete(client),
    stop: () => clearInterval(timer),
  };
}
