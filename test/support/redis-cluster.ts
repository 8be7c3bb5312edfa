// A cluster of three masters with a replica each; tests kill the masters, and the replicas take over.
import { setTimeout as pause } from "node:timers/promises";
import { eventually } from "./gateway.ts";
import { type RedisServer, startRedis, startRedisCluster } from "./redis.ts";

export interface ReplicatedCluster {
  readonly url: string;
  /** The current masters. */
  masters(): Promise<RedisServer[]>;
  /**
   * Kills a master, whatever it is doing; returns the replica that has taken over, and that lacks what the master acknowledged in its last
   * `behindMs`.
   */
  failOver(master: RedisServer, behindMs: number): Promise<RedisServer>;
  /** Restarts a killed server; resolves once it follows the new master, and could take over itself. */
  rejoin(server: RedisServer): Promise<void>;
  dispose(): Promise<void>;
}

/** A master that has been silent for this long is replaced. */
const NODE_TIMEOUT_MS = 1_000;
const SETTINGS = { "cluster-enabled": "yes", "cluster-node-timeout": String(NODE_TIMEOUT_MS) };
const CHANGE_MS_MAX = 20_000;
const LOOK_MS = 20;

async function infoOf(server: RedisServer): Promise<string> {
  return String(await server.send("INFO", "replication"));
}

async function idOf(server: RedisServer): Promise<string> {
  return String(await server.send("CLUSTER", "MYID"));
}

const isMaster = async (server: RedisServer) => (await infoOf(server).catch(() => "")).includes("role:master");

async function isFollowing(replica: RedisServer): Promise<boolean> {
  const info = await infoOf(replica).catch(() => "");
  return info.includes("role:slave") && info.includes("master_link_status:up");
}

function soon(look: () => Promise<boolean>, what: string): Promise<true> {
  return eventually(async () => (await look()) || undefined, what, CHANGE_MS_MAX);
}

/** Adds a replica of a cluster master. */
async function addReplica(master: RedisServer): Promise<RedisServer> {
  const replica = await startRedis(SETTINGS);
  const masterId = await idOf(master);
  await replica.send("CLUSTER", "MEET", "127.0.0.1", String(master.port));
  // A node can follow only a node that it knows.
  while ((await replica.send("CLUSTER", "REPLICATE", masterId).catch(() => null)) !== "OK") await pause(LOOK_MS);
  await soon(() => isFollowing(replica), "a replica that follows");
  return replica;
}

export async function startReplicatedCluster(): Promise<ReplicatedCluster> {
  const cluster = await startRedisCluster(SETTINGS);
  const replicas = await Promise.all(cluster.nodes.map(addReplica));
  const servers = [...cluster.nodes, ...replicas];
  const ids = await Promise.all(servers.map(idOf));

  /** Whether all live nodes know every replica: otherwise no node would vote for one. */
  async function allKnown(): Promise<boolean> {
    const views = await Promise.all(servers.map((server) => server.send("CLUSTER", "NODES").then(String, () => "")));
    return views
      .filter((view) => view !== "")
      .every(
        (view) =>
          ids.every((id) => view.includes(id)) &&
          view.split(" slave ").length + view.split("myself,slave ").length >= 5,
      );
  }
  await soon(allKnown, "nodes that know each other");

  async function masters(): Promise<RedisServer[]> {
    const are = await Promise.all(servers.map(isMaster));
    return servers.filter((_, at) => are[at]);
  }

  return {
    url: cluster.url,
    masters,
    async failOver(master, behindMs) {
      const before = await masters();
      const port = /^slave0:.*port=(\d+)/m.exec(await infoOf(master))?.[1];
      const replica = servers.find((server) => String(server.port) === port);
      // A connection that merely stalls would deliver its bytes in the end.
      replica?.freeze();
      await master.send("CLIENT", "KILL", "TYPE", "replica");
      await pause(behindMs);
      await master.kill();
      replica?.thaw();
      return eventually(
        async () => (await masters()).find((server) => !before.includes(server)),
        "a replica that takes over",
        CHANGE_MS_MAX,
      );
    },
    async rejoin(server) {
      await server.start();
      await soon(() => isFollowing(server), "the old master to follow the new one");
    },
    async dispose() {
      await Promise.all(servers.map((server) => server.dispose()));
    },
  };
}
