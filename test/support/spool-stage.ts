// The store behind the processes of a spool test, and its faults: one Redis behind a proxy, or a cluster whose masters die.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Random } from "../../src/sandbox/vocabulary.ts";
import { type FrailDisk, frailDisk } from "./frail-disk.ts";
import { type RedisServer, startRedis } from "./redis.ts";
import { startReplicatedCluster } from "./redis-cluster.ts";
import { startTcpProxy } from "./tcp-proxy.ts";

export interface SpoolStage {
  /** The store's address for the processes. */
  readonly url: string;
  /** The store's address for readers. */
  readonly sideUrl: string;
  /** The store's faults, by name; each resolves when it is over. */
  readonly faults: Readonly<Record<string, () => Promise<void>>>;
  /** Stops all faults. */
  calm(): void;
  dispose(): Promise<void>;
}

export type StartStage = (random: Random) => Promise<SpoolStage>;

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Drops the last bytes of what the server has written to disk, as a power loss may with `everysec`. Then repairs the file as
 * docs/guides/processes.md says: a server that repairs it by itself keeps half a transaction for its next start.
 */
async function loseTail(redis: RedisServer, random: Random): Promise<void> {
  const [, folder = ""] = (await redis.send("CONFIG", "GET", "dir")) as string[];
  await redis.kill();
  const place = join(folder, "appendonlydir");
  const log = readdirSync(place).find((name) => name.endsWith(".incr.aof"));
  if (log === undefined) return;
  const { size } = statSync(join(place, log));
  truncateSync(join(place, log), Math.max(size >> 1, size - Math.floor(random() * 200_000)));
  const mending = spawn("redis-check-aof", ["--fix", join(place, "appendonly.aof.manifest")], {
    stdio: ["pipe", "ignore", "inherit"],
  });
  mending.stdin.end("y\n");
  const [code] = await once(mending, "exit");
  expect(code).toBe(0);
}

/** A server's machine loses power: unsynced writes are lost. */
async function losePower(redis: RedisServer, disk: FrailDisk): Promise<void> {
  const [, folder = ""] = (await redis.send("CONFIG", "GET", "dir")) as string[];
  await redis.kill();
  disk.losePower(folder);
}

/** Slightly less than a command may take. */
const LONG_SYNC_MS = 400;

export interface SingleOptions {
  readonly appendfsync: "always" | "everysec";
  /** How much longer each of the server's syncs takes. */
  readonly syncMs?: number;
}

/** One server behind a proxy. */
export function singleRedis({ appendfsync, syncMs }: SingleOptions): StartStage {
  return async (random) => {
    const disk = syncMs === undefined ? null : await frailDisk(syncMs, true);
    const redis = await startRedis({ appendfsync }, disk?.environment);
    const proxy = await startTcpProxy(redis.port);
    const lastsMs = () => 100 + random() * 1_400;
    const away = async (goAway: () => Promise<void>) => {
      await goAway();
      await wait(lastsMs() / 2);
      await redis.start();
    };
    const diskFaults = (own: FrailDisk) => ({
      "lose its power": () => away(() => losePower(redis, own)),
      async "lose its power in a long sync"() {
        own.slow(LONG_SYNC_MS);
        await wait(lastsMs());
        await away(async () => {
          await losePower(redis, own);
          own.slow(syncMs ?? 0);
        });
      },
    });
    return {
      url: `redis://127.0.0.1:${proxy.port}`,
      sideUrl: redis.url,
      faults: {
        "kill redis": () => away(redis.kill),
        "lose its tail": () => away(() => loseTail(redis, random)),
        ...(disk === null ? {} : diskFaults(disk)),
        async "freeze redis"() {
          redis.freeze();
          await wait(lastsMs());
          redis.thaw();
        },
        async "slow redis"() {
          proxy.pass(700);
          await wait(lastsMs());
          proxy.pass();
        },
        cut: async () => proxy.cut(),
        async swallow() {
          proxy.blackHole();
          await wait(lastsMs());
          proxy.pass();
          proxy.cut();
        },
      },
      calm: () => disk?.slow(0),
      async dispose() {
        await proxy.close();
        await redis.dispose();
        disk?.dispose();
      },
    };
  };
}

/** How long a replica misses its master's writes before the master dies. */
const BEHIND_MS = 300;

/** Three masters with a replica each; one after the other dies while its replica is behind. */
export const replicatedCluster: StartStage = async () => {
  const cluster = await startReplicatedCluster();
  let victims: RedisServer[] = [];

  return {
    url: cluster.url,
    sideUrl: cluster.url,
    faults: {
      async "kill a master"() {
        if (victims.length === 0) victims = await cluster.masters();
        const master = victims.shift();
        if (master === undefined) throw new Error("the cluster has no master");
        await cluster.failOver(master, BEHIND_MS);
        await cluster.rejoin(master);
      },
    },
    calm() {},
    dispose: cluster.dispose,
  };
};
