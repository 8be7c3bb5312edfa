// Real redis-servers for tests, each on a free port with its own folder: started, stopped, killed, restarted.
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { openRedis, type RedisLink } from "../../src/platform/storage/redis-link.ts";
import { INSTALLED_MS_MAX, installed } from "./apt-install.ts";
import { freePort } from "./free-port.ts";
import { type GuardedServer, startGuarded } from "./guarded-server.ts";
import { PATIENT_MS } from "./patience.ts";
import { removeFolder } from "./remove-folder.ts";

const PLACES = ["/usr/bin/redis-server", "/usr/local/bin/redis-server"];
const START_TRIES = 5;
/** Time for the installation, which happens once on a machine. */
export const REDIS_MS_MAX = INSTALLED_MS_MAX;

/** Settings by their names in redis.conf, on top of those that money needs. */
export type RedisSettings = Readonly<Record<string, string>>;

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** Sends a raw command, such as `send("CONFIG", "SET", ...)`. */
  send(command: string, ...words: string[]): Promise<unknown>;
  /** Lets it save and exit. */
  stop(): Promise<void>;
  /** Kills it at once, whatever it is doing. */
  kill(): Promise<void>;
  /** Stops the process without ending it: connections stay, nothing answers. */
  freeze(): void;
  thaw(): void;
  /** Restarts it on the same port and folder. */
  start(): Promise<void>;
  /** Ends it and removes its folder. */
  dispose(): Promise<void>;
}

const findServer = () => PLACES.find((place) => existsSync(place));

const serverPath = () => installed(findServer, "redis-server", "redis-server");

const SAFE: RedisSettings = {
  save: "",
  appendonly: "yes",
  appendfsync: "always",
  "maxmemory-policy": "noeviction",
  // A test's small file is not worth rewriting.
  "auto-aof-rewrite-percentage": "0",
  "repl-diskless-sync-delay": "0",
};

const STARTED = /Ready to accept connections|Sentinel ID is/;

type Environment = Readonly<Record<string, string>>;

/** Starts a server for one test. It ends with the test's process at the latest. */
export function startRedis(settings: RedisSettings = {}, environment: Environment = {}): Promise<RedisServer> {
  return startServer((port, folder) => {
    const all = { ...SAFE, port: String(port), bind: "127.0.0.1", dir: folder, ...settings };
    return Object.entries(all).flatMap(([name, value]) => [`--${name}`, value]);
  }, environment);
}

/** Starts a sentinel that watches the server on `primaryPort` as the group `main`, and decides alone. */
export function startSentinel(primaryPort: number): Promise<RedisServer> {
  return startServer((port, folder) => {
    const file = join(folder, "sentinel.conf");
    const lines = [
      `port ${port}`,
      "bind 127.0.0.1",
      `dir ${folder}`,
      `sentinel monitor main 127.0.0.1 ${primaryPort} 1`,
      "sentinel down-after-milliseconds main 500",
      "sentinel failover-timeout main 3000",
    ];
    writeFileSync(file, lines.join("\n"));
    return [file, "--sentinel"];
  });
}

async function startServer(
  words: (port: number, folder: string) => readonly string[],
  environment: Environment = {},
): Promise<RedisServer> {
  const path = await serverPath();
  const folder = mkdtempSync(join(tmpdir(), "tollgate-redis-"));
  let port = 0;
  const as = { env: { ...process.env, ...environment } };
  const launch = () => startGuarded(path, [...words(port, folder), "--daemonize", "no"], STARTED, as);
  let running: GuardedServer | null = null;
  for (let tries = 1; running === null; tries++) {
    port = await freePort();
    // Another process may have taken the port between the check and the start.
    running = await launch().catch((error) => (tries < START_TRIES ? null : Promise.reject(error)));
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    if (running === null) return;
    running.signal("SIGCONT");
    running.signal(signal);
    await running.exited;
    running = null;
  }

  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    async send(command, ...words) {
      const client = new Redis({
        port,
        host: "127.0.0.1",
        lazyConnect: true,
        retryStrategy: null,
        enableReadyCheck: false,
      });
      client.on("error", () => {});
      try {
        return await client.call(command, ...words);
      } finally {
        client.disconnect();
      }
    },
    stop: () => end("SIGTERM"),
    kill: () => end("SIGKILL"),
    freeze: () => running?.signal("SIGSTOP"),
    thaw: () => running?.signal("SIGCONT"),
    async start() {
      running ??= await launch();
    },
    async dispose() {
      await end("SIGKILL");
      // Its child, which rewrites the file for a replica, may outlive it for a moment.
      removeFolder(folder);
    },
  };
}

/** A connection for a test, with a timeout for a busy machine. */
export function openLink(url: string): Promise<RedisLink> {
  return openRedis(url, { onBroken() {}, commandMsMax: PATIENT_MS });
}

export type LentRedis = Pick<RedisServer, "url" | "send" | "dispose">;

/** Servers of this process that no test uses at the moment. */
const idle: RedisServer[] = [];

async function giveBack(server: RedisServer): Promise<void> {
  await server.send("FLUSHALL");
  for (const [name, value] of Object.entries({ ...SAFE, maxmemory: "0" }))
    await server.send("CONFIG", "SET", name, value);
  idle.push(server);
}

/**
 * An empty server that the test neither stops nor restarts: the one at `REDIS_URL` where that is set, else one that this process's files
 * share in turn.
 */
export async function anyRedis(): Promise<LentRedis> {
  const given = process.env.REDIS_URL;
  if (given === undefined) {
    const server = idle.pop() ?? (await startRedis());
    return { ...server, dispose: () => giveBack(server) };
  }
  // Test files run concurrently, each in its own database; 0 is left alone.
  const url = new URL(given);
  url.pathname = `/${1 + (Number(process.env.VITEST_POOL_ID ?? 0) % 15)}`;
  const client = new Redis(url.href);
  await client.flushdb();
  return {
    url: url.href,
    send: (command, ...words) => client.call(command, ...words),
    async dispose() {
      await client.flushdb();
      client.disconnect();
    },
  };
}

export interface RedisCluster {
  readonly url: string;
  readonly nodes: readonly RedisServer[];
  dispose(): Promise<void>;
}

const SLOTS = 16_384;
const STATE_LOOK_MS = 20;

/** Three masters that share the slots; takes about three seconds, which a node waits before it trusts its own start. */
export async function startRedisCluster(settings: RedisSettings = {}): Promise<RedisCluster> {
  const wanted = { "cluster-enabled": "yes", "cluster-node-timeout": "2000", ...settings };
  const nodes = await Promise.all([0, 1, 2].map(() => startRedis(wanted)));
  const share = Math.ceil(SLOTS / nodes.length);
  for (const [at, node] of nodes.entries()) {
    await node.send("CLUSTER", "SET-CONFIG-EPOCH", String(at + 1));
    await node.send(
      ...(["CLUSTER", "ADDSLOTSRANGE", `${at * share}`, `${Math.min(SLOTS, (at + 1) * share) - 1}`] as const),
    );
    await node.send("CLUSTER", "MEET", "127.0.0.1", String(nodes[0]?.port));
  }
  for (const node of nodes) {
    while (!(await isWhole(node, nodes.length))) await new Promise((again) => setTimeout(again, STATE_LOOK_MS));
  }
  return {
    url: `redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(",")}`,
    nodes,
    async dispose() {
      await Promise.all(nodes.map((node) => node.dispose()));
    },
  };
}

async function isWhole(node: RedisServer, count: number): Promise<boolean> {
  const state = String(await node.send("CLUSTER", "INFO"));
  return state.includes("cluster_state:ok") && state.includes(`cluster_size:${count}`);
}
