// Waits until what was written is on a replica too: one wait at a time for each server, shared by all who ask meanwhile.
import { Cluster, type Redis } from "ioredis";
import type { RedisConnection } from "./redis-connection.ts";
import { slotOf, slotTag } from "./redis-slot.ts";

const MARK_MS = 1_000;

interface Waiter {
  readonly key: string;
  readonly resolve: (isThere: boolean) => void;
}

export interface ReplicaWait {
  /** Whether all that was written on the key's server before this call is on a replica now; false where it is not known. */
  wait(key: string): Promise<boolean>;
  close(): Promise<void>;
}

/** `connect` opens a connection of its own, at the first wait: a wait holds up whatever is sent after it. */
export function waitOnReplicas(connect: () => RedisConnection, waitMsMax: number): ReplicaWait {
  let side: RedisConnection | null = null;
  let waiters: Waiter[] = [];
  let running = false;

  async function ask(server: Redis | undefined, asking: readonly Waiter[]): Promise<void> {
    const isThere = server !== undefined && (await markAndWait(server, asking[0]?.key ?? "").catch(() => false));
    for (const { resolve } of asking) resolve(isThere);
  }

  async function markAndWait(server: Redis, key: string): Promise<boolean> {
    // The wait is for writes of its own connection. A mark comes after all writes that were acknowledged before it.
    const mark = server.set(`mark:{${slotTag(key)}}`, "", "PX", MARK_MS);
    const [, replicas] = await Promise.all([mark, server.wait(1, waitMsMax)]);
    return replicas > 0;
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
      waiters.push({ key, resolve });
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
