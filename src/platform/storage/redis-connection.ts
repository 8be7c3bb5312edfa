// A Redis connection that always reconnects: callers learn at once, or after a short wait, whether it is up.
import { backOffMs, type RedisClient } from "./redis-client.ts";

/** In every other state the client has nothing to close, and would never emit `end`. */
const SOCKET_STATES: ReadonlySet<string> = new Set(["connecting", "connect", "ready"]);

export interface RedisConnection {
  readonly client: RedisClient;
  /** True if commands can be sent; waits briefly for a connection that was just lost. */
  ready(): Promise<boolean>;
  /** Closes the connection and waits for its end. */
  close(): Promise<void>;
}

export interface ConnectionOptions {
  /** How long after a loss callers still wait for the connection; afterwards they fail at once. */
  readonly graceMs: number;
  readonly onReady: () => void;
  /** The first error of each outage. */
  readonly onBroken: (error: unknown) => void;
}

export function keepConnected(client: RedisClient, { graceMs, onReady, onBroken }: ConnectionOptions): RedisConnection {
  let closed = false;
  let broken = false;
  let tries = 0;
  let back = Promise.withResolvers<boolean>();
  let grace: NodeJS.Timeout | null = null;
  let again: NodeJS.Timeout | undefined;

  function lose(): void {
    if (grace !== null || closed) return;
    back = Promise.withResolvers<boolean>();
    grace = setTimeout(back.resolve, graceMs, false);
  }

  client.on("error", (error: unknown) => {
    if (!broken && !closed) onBroken(error);
    broken = true;
  });
  client.on("close", lose);
  client.on("ready", () => {
    clearTimeout(grace ?? undefined);
    grace = null;
    broken = false;
    tries = 0;
    back.resolve(true);
    onReady();
  });
  // The client reconnects by itself after most failures; others, such as unreachable sentinels, end it.
  client.on("end", () => {
    if (!closed) again = setTimeout(connect, backOffMs(++tries));
  });

  function connect(): void {
    client.connect().catch(() => {});
  }

  lose();
  connect();

  return {
    client,
    ready() {
      if (client.status === "ready") return Promise.resolve(true);
      if (closed) return Promise.resolve(false);
      lose();
      return back.promise;
    },
    async close() {
      closed = true;
      clearTimeout(again);
      clearTimeout(grace ?? undefined);
      back.resolve(false);
      const hasSocket = SOCKET_STATES.has(client.status);
      const ended = new Promise((resolve) => client.once("end", resolve));
      client.disconnect();
      if (hasSocket) await ended;
    },
  };
}
