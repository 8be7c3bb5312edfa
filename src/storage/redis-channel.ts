// Listens to one channel of Redis over a connection of its own, and says whenever messages may have been missed.
import type { Redis } from "ioredis";
import { backOffMs } from "./redis-client.ts";

/** A connection that has died without a word is noticed after this long and one unanswered command. */
const BEAT_MS = 500;

export interface ChannelListener {
  readonly onMessage: (text: string) => void;
  /** Messages may have been missed: called when a loss is noticed, and again once messages come again. */
  readonly onGap: () => void;
}

export interface Subscription {
  /** Whether messages come at this moment, as far as is known. */
  isListening(): boolean;
  close(): Promise<void>;
}

/** Listens until closed; answers once the first connection listens. `open` makes a client for try `attempt`. */
export async function listenTo(
  open: (attempt: number) => Redis,
  channel: string,
  { onMessage, onGap }: ChannelListener,
): Promise<Subscription> {
  const first = Promise.withResolvers<void>();
  const stop = new AbortController();
  let listening = false;
  let opened = false;

  async function listenOnce(client: Redis): Promise<void> {
    const ended = new Promise<boolean>((resolve) => client.once("end", () => resolve(true)));
    client.on("error", () => {});
    client.on("message", (_, text: string) => onMessage(text));
    await client.connect();
    await client.subscribe(channel);
    listening = true;
    if (opened) onGap();
    opened = true;
    first.resolve();
    while (!(await Promise.race([ended, pause(BEAT_MS, stop.signal)]))) await client.ping();
  }

  async function listenOn(): Promise<void> {
    for (let attempt = 0, failed = 0; !stop.signal.aborted; attempt++) {
      const client = open(attempt);
      await listenOnce(client).catch(() => {});
      client.disconnect();
      failed = listening ? 1 : failed + 1;
      if (listening && !stop.signal.aborted) onGap();
      listening = false;
      await pause(backOffMs(failed), stop.signal);
    }
    first.reject(new Error("closed before it listened"));
  }

  const over = listenOn();
  await first.promise;
  return {
    isListening: () => listening,
    async close() {
      stop.abort();
      await over;
    },
  };
}

/** Answers true where the pause was cut short. */
function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(true);
    const cut = () => {
      clearTimeout(timer);
      resolve(true);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", cut);
      resolve(false);
    }, ms);
    signal.addEventListener("abort", cut, { once: true });
  });
}
