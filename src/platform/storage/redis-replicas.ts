// Waits until writes are on a replica: one wait at a time per server, shared by concurrent callers.
import { Cluster, type Redis } from "ioredis";
import type { RedisConnection } from "./redis-connection.ts";
import { meaningOf } from "./redis-failure.ts";
import { infoOf } from "./redis-servers.ts";
import { slotOf, slotTag } from "./redis-slot.ts";

const MARK_MS = 1_000;
/** Allowed on a full server too: calls still end there, and that must be replicated. */
const MARK_WHEN_FULL = "#!lua flags=allow-oom\nreturn redis.call('SET', KEYS[1], '', 'PX', ARGV[1])";

interface Waiter {
  readonly key: string;
  /** The server that was written to; null if unknown. */
  readonly writtenTo: Promise<string | null>;
  readonly resolve: (isThere: boolean) => void;
}

/** Looks up the server behind a connection, once per connection; null if the server does not tell. */
function serverIds(): (server: Redis | undefined) => Promise<string | null> {
  const known = new WeakMap<Redis, Promise<string | null>>();
  return (server) => {
    if (server === undefined) return Promise.resolve(null);
    const before = known.get(server);
    if (before !== undefined) return before;
    const asked = infoOf(server).then(
      (info) => info.get("run_id") ?? null,
      () => {
        known.delete(server);
        return null;
      },
    );
    known.set(server, asked);
    server.once("close", () => known.delete(server));
    return asked;
  };
}

/**
 * `writer` does the writes. `connect` opens a separate connection at the first wait, because a wait blocks all later commands on its
 * connection. During a failover the two may reach different servers, and the new one would claim that its replicas have everything it
 * knows.
 */
export class ReplicaWait {
  readonly #writer: RedisConnection;
  readonly #connect: () => RedisConnection;
  readonly #waitMsMax: number;
  readonly #idOf = serverIds();
  #side: RedisConnection | null = null;
  #waiters: Waiter[] = [];
  #running = false;

  constructor(writer: RedisConnection, connect: () => RedisConnection, waitMsMax: number) {
    this.#writer = writer;
    this.#connect = connect;
    this.#waitMsMax = waitMsMax;
  }

  /** True if everything written on the key's server before this call is on a replica; false if unknown. */
  wait(key: string): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#waiters.push({ key, writtenTo: this.#idOf(serverFor(key, this.#writer)), resolve });
    if (!this.#running) void this.#drive();
    return promise;
  }

  async close(): Promise<void> {
    await this.#side?.close();
  }

  async #drive(): Promise<void> {
    this.#running = true;
    this.#side ??= this.#connect();
    const side = this.#side;
    while (this.#waiters.length > 0) {
      const ready = await side.ready();
      const asking = this.#waiters;
      this.#waiters = [];
      const byServer = Map.groupBy(asking, ({ key }) => (ready ? serverFor(key, side) : undefined));
      await Promise.all([...byServer].map(([server, some]) => this.#ask(server, some)));
    }
    this.#running = false;
  }

  async #ask(server: Redis | undefined, asking: readonly Waiter[]): Promise<void> {
    const id = this.#idOf(server);
    const isThere = server !== undefined && (await this.#markAndWait(server, asking[0]?.key ?? "").catch(() => false));
    const asked = await id;
    for (const { writtenTo, resolve } of asking) resolve(isThere && asked !== null && (await writtenTo) === asked);
  }

  async #markAndWait(server: Redis, key: string): Promise<boolean> {
    const mark = `mark:{${slotTag(key)}}`;
    const isThere = async (marked: Promise<unknown>) => {
      // WAIT covers the writes of its own connection. A mark comes after all writes acknowledged before it.
      const [, replicas] = await Promise.all([marked, server.wait(1, this.#waitMsMax)]);
      return replicas > 0;
    };
    return isThere(server.set(mark, "", "PX", MARK_MS)).catch((error: unknown) => {
      if (meaningOf(error).kind !== "refused") throw error;
      return isThere(server.eval(MARK_WHEN_FULL, 1, mark, MARK_MS));
    });
  }
}

function serverFor(key: string, { client }: RedisConnection): Redis | undefined {
  if (!(client instanceof Cluster)) return client;
  const address = client.slots[slotOf(key)]?.[0];
  return client.nodes("master").find(({ options }) => `${options.host}:${options.port}` === address);
}
