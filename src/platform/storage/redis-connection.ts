// A Redis connection that always reconnects: callers learn at once, or after a short wait, whether it is up.
import { backOffMs, type RedisClient } from "./redis-client.ts";

/** In every other state the client has nothing to close, and would never emit `end`. */
const SOCKET_STATES: ReadonlySet<string> = new Set(["connecting", "connect", "ready"]);

export interface ConnectionOptions {
  /** How long after a loss callers still wait for the connection; afterwards they fail at once. */
  readonly graceMs: number;
  readonly onReady: () => void;
  /** The first error of each outage. */
  readonly onBroken: (error: unknown) => void;
}

export class RedisConnection {
  readonly client: RedisClient;
  readonly #graceMs: number;
  #closed = false;
  #broken = false;
  #tries = 0;
  #back = Promise.withResolvers<boolean>();
  #grace: NodeJS.Timeout | null = null;
  #again: NodeJS.Timeout | undefined;

  constructor(client: RedisClient, { graceMs, onReady, onBroken }: ConnectionOptions) {
    this.client = client;
    this.#graceMs = graceMs;
    client.on("error", (error: unknown) => {
      if (!this.#broken && !this.#closed) onBroken(error);
      this.#broken = true;
    });
    client.on("close", () => this.#lose());
    client.on("ready", () => {
      clearTimeout(this.#grace ?? undefined);
      this.#grace = null;
      this.#broken = false;
      this.#tries = 0;
      this.#back.resolve(true);
      onReady();
    });
    // ioredis reconnects after most failures, but gives up after some, such as unreachable sentinels.
    client.on("end", () => {
      if (!this.#closed) this.#again = setTimeout(() => this.#connect(), backOffMs(++this.#tries));
    });
    this.#lose();
    this.#connect();
  }

  #lose(): void {
    if (this.#grace !== null || this.#closed) return;
    this.#back = Promise.withResolvers<boolean>();
    this.#grace = setTimeout(this.#back.resolve, this.#graceMs, false);
  }

  #connect(): void {
    this.client.connect().catch(() => {});
  }

  /** True if commands can be sent; waits briefly for a connection that was just lost. */
  ready(): Promise<boolean> {
    if (this.client.status === "ready") return Promise.resolve(true);
    if (this.#closed) return Promise.resolve(false);
    this.#lose();
    return this.#back.promise;
  }

  /** Closes the connection and waits for its end. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#again);
    clearTimeout(this.#grace ?? undefined);
    this.#back.resolve(false);
    const hasSocket = SOCKET_STATES.has(this.client.status);
    const ended = new Promise((resolve) => this.client.once("end", resolve));
    this.client.disconnect();
    if (hasSocket) await ended;
  }
}
