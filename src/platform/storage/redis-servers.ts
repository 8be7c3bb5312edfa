// Queries the Redis servers themselves: their identity, their uptime, and whether they are safe for money.
import { Cluster, type Redis } from "ioredis";
import type { RedisClient } from "./redis-client.ts";

export function mastersOf(client: RedisClient): readonly Redis[] {
  return client instanceof Cluster ? client.nodes("master") : [client];
}

const SCAN_COUNT = 1_000;

export async function* keysOf(servers: readonly Redis[]): AsyncIterable<string> {
  for (const server of servers) {
    for (let cursor = ""; cursor !== "0"; ) {
      const [next, names] = await server.scan(cursor || "0", "COUNT", SCAN_COUNT);
      yield* names;
      cursor = next;
    }
  }
}

export type ServerInfo = ReadonlyMap<string, string>;

/** A server's INFO, by field. */
export async function infoOf(server: Redis): Promise<ServerInfo> {
  const lines = (await server.info()).split("\r\n").filter((line) => line.includes(":"));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)]));
}

/** A different value means another server, a restart, or a different write history. */
export function identityOf(info: ServerInfo): string {
  return `${info.get("run_id")} ${info.get("master_replid")}`;
}

/** Settings without which a server could lose money, and what is wrong with any other value. */
const NEEDED: readonly (readonly [name: string, value: string, why: string])[] = [
  ["appendonly", "yes", "without the append-only file a restart forgets charges"],
  ["appendfsync", "always", "with any other value a crash forgets charges that were acknowledged"],
  ["maxmemory-policy", "noeviction", "with any other value a full server throws balances away"],
];
const MAJOR_MIN = 7;

/** Reasons why a server is unsafe for money, as sentences for the operator. Rejects if it is unreachable. */
async function problemsOf(server: Redis): Promise<string[]> {
  const info = await infoOf(server);
  const found: string[] = [];
  const version = info.get("redis_version") ?? "unknown";
  if (!(Number.parseInt(version, 10) >= MAJOR_MIN)) found.push(`version ${version} is too old: ${MAJOR_MIN} is needed`);
  if (info.get("arch_bits") === "32") found.push("it is built for 32 bits, in which sums of money do not fit");
  const settings = await settingsOf(server);
  if (settings === null) return [...found, "its settings cannot be read: CONFIG GET is refused"];
  for (const [name, value, why] of NEEDED) {
    const is = settings.get(name) ?? "unknown";
    if (is !== value) found.push(`${name} is ${is} and must be ${value}: ${why}`);
  }
  return found;
}

async function settingsOf(server: Redis): Promise<ReadonlyMap<string, string> | null> {
  try {
    const names = NEEDED.map(([name]) => name);
    const flat = (await server.call("CONFIG", "GET", ...names)) as string[];
    return new Map(flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] ?? ""] as const] : [])));
  } catch (error) {
    if (error instanceof Error && error.name === "ReplyError") return null;
    throw error;
  }
}

/** The problems of all known servers, including cluster replicas, which may take over. */
export async function problemsOfAll(client: RedisClient): Promise<string[]> {
  const servers = client instanceof Cluster ? client.nodes("all") : [client];
  const found = await Promise.all(
    servers.map(async (server) => {
      const sentences = await problemsOf(server);
      return sentences.map((sentence) => `Redis at ${server.options.host}:${server.options.port}: ${sentence}.`);
    }),
  );
  const replica = client instanceof Cluster || (await infoOf(client)).get("role") === "master" ? [] : [IS_REPLICA];
  return [...found.flat(), ...replica];
}

const IS_REPLICA = "REDIS_URL leads to a replica, which takes no writes: name the primary, or its sentinels.";
