// Listens to a Redis channel over its own connection, and reports whenever messages may have been missed.

import type { Redis } from "ioredis";
import { pause } from "../../core/clock.ts";
import { backOffMs } from "./redis-client.ts";

/** A silently dead connection is noticed after this long plus one unanswered command: within a second. */
const BEAT_MS = 250;

interface ChannelListener {
  readonly onMessage: (text: string) => void;
  /** Messages may have been missed: called when a loss is noticed, and again once messages arrive again. */
  readonly onGap: () => void;
}

export interface Subscription {
  /** True if messages arrive at the moment, as far as known. */
  isListening(): boolean;
  close(): Promise<void>;
}

interface OpeningSubscription extends Subscription {
  /** Resolves once the first connection listens; rejects if closed before. */
  readonly listens: Promise<void>;
}

/** Listens until closed. `open` creates the client for try `attempt`. */
export function listenTo(
  open: (attempt: number) => Redis,
  channel: string,
  { onMessage, onGap }: ChannelListener,
): OpeningSubscription {
  const first = Promise.withResolvers<void>();
  let closed = false;
  let listening = false;
  let opened = false;
  /** Cuts the current wait short: for a connection's next beat, or for the next try. */
  let waiting = new AbortController();
  let client: Redis | null = null;

  async function listenOnce(own: Redis, ended: AbortController): Promise<void> {
    own.once("end", () => ended.abort());
    own.on("error", () => {});
    own.on("message", (_, text: string) => onMessage(text));
    await own.connect();
    await own.subscribe(channel);
    listening = true;
    if (opened) onGap();
    opened = true;
    first.resolve();
    for (;;) {
      await pause(BEAT_MS, ended.signal);
      if (ended.signal.aborted) return;
      await own.ping();
    }
  }

  async function listenOn(): Promise<void> {
    for (let attempt = 0, failed = 0; !closed; attempt++) {
      waiting = new AbortController();
      client = open(attempt);
      await listenOnce(client, waiting).catch(() => {});
      client.disconnect();
      failed = listening ? 1 : failed + 1;
      if (listening && !closed) onGap();
      listening = false;
      waiting = new AbortController();
      if (!closed) await pause(backOffMs(failed), waiting.signal);
    }
    first.reject(new Error("closed before it listened"));
  }

  const over = listenOn();
  first.promise.catch(() => {});
  return {
    listens: first.promise,
    isListening: () => listening,
    async close() {
      closed = true;
      waiting.abort();
      client?.disconnect();
      await over;
    },
  };
}
