// Waits until what was written is on a replica too: one wait at a time for each server, shared by all who ask meanwhile.
import { Cluster, type Redis } from "ioredis";
import type { RedisConnection } from "./redis-connection.ts";
import { meaningOf } from "./redis-failure.ts";
import { infoOf } from "./redis-servers.ts";
import { slotOf, slotTag } from "./redis-slot.ts";

const MARK_MS = 1_000;
/** A server that is full takes the mark all the same: what ends a call goes on there, and has to be copied too. */
const MARK_WHEN_FULL = "#!lua flags=allow-oom\nreturn redis.call('SET', KEYS[1], '', 'PX', ARGV[1])";

interface Waiter {
  readonly key: string;
  /** The server that was written to; null where that is not known. */
  readonly writtenTo: Promise<string | null>;
  readonly resolve: (isThere: boolean) => void;
}

export interface ReplicaWait {
  /** Whether all that was written on the key's server before this call is on a replica now; false where it is not known. */
  wait(key: string): Promise<boolean>;
  close(): Promise<void>;
}

/** Which server a connection leads to, asked once for as long as it lasts; null where it does not say. */
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
 * `writer` is what writes. `connect` opens a connection of its own, at the first wait: a wait holds up whatever is sent after it.
 * While a failover goes on the two can lead to two servers, of which the new one says that its replicas have all that it knows.
 */
export function waitOnReplicas(
  writer: RedisConnection,
  connect: () => RedisConnection,
  waitMsMax: number,
): ReplicaWait {
  const idOf = serverIds();
  let side: RedisConnection | null = null;
  let waiters: Waiter[] = [];
  let running = false;

  async function ask(server: Redis | undefined, asking: readonly Waiter[]): Promise<void> {
    const id = idOf(server);
    const isThere = server !== undefined && (await markAndWait(server, asking[0]?.key ?? "").catch(() => false));
    const asked = await id;
    for (const { writtenTo, resolve } of asking) resolve(isThere && asked !== null && (await writtenTo) === asked);
  }

  async function markAndWait(server: Redis, key: string): Promise<boolean> {
    const mark = `mark:{${slotTag(key)}}`;
    const isThere = async (marked: Promise<unknown>) => {
      // The wait is for writes of its own connection. A mark comes after all writes that were acknowledged before it.
      const [, replicas] = await Promise.all([marked, server.wait(1, waitMsMax)]);
      return replicas > 0;
    };
    return isThere(server.set(mark, "", "PX", MARK_MS)).catch((error: unknown) => {
      if (meaningOf(error).kind !== "refused") throw error;
      return isThere(server.eval(MARK_WHEN_FULL, 1, mark, MARK_MS));
    });
  }

  async function drive(): Promise<void> {
    running = true;
    side ??= connect();
    while (waiters.length > 0) {
      const ready = await side.ready();
      const asking = waiters;
      waiters = [];
      const byServer = Map.groupBy(asking, ({ key }) => (ready && side ? serverFor(key, side) : undefined));
      await Promise.all([...byServer].map(([server, some]) => ask(server, some)));
    }
    running = false;
  }

  return {
    wait(key) {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      waiters.push({ key, writtenTo: idOf(serverFor(key, writer)), resolve });
      if (!running) void drive();
      return promise;
    },
    async close() {
      await side?.close();
    },
  };
}

function serverFor(key: string, { client }: RedisConnection): Redis | undefined {
  if (!(client instanceof Cluster)) return client;
  const address = client.slots[slotOf(key)]?.[0];
  return client.nodes("master").find(({ options }) => `${options.host}:${options.port}` === address);
}
