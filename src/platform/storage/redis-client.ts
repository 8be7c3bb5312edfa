// Creates Redis clients with the settings that money requires: no offline queue, and no automatic resends.
import { Cluster, type ClusterOptions, type DNSLookupFunction, Redis, type RedisOptions } from "ioredis";
import type { RedisNode, RedisTarget } from "./redis-url.ts";

export type RedisClient = Redis | Cluster;

export interface ClientBounds {
  /** A command without an answer by then is rejected; its effect is unknown. */
  readonly commandMsMax: number;
  /** Certificate authorities for TLS, as PEM; null: those of Node. */
  readonly authorities: string | null;
}

const BACK_OFF_MS_MIN = 50;
const BACK_OFF_MS_MAX = 2_000;
const CONNECT_MS_MAX = 2_000;
/** How long to wait for a server to close a connection. */
const DISCONNECT_MS_MAX = 200;
/** How often to check on a server that is loading its data. */
const LOADING_LOOK_MS = 500;
/** How often the slots are read again: until then, commands for a dead master still go to it. */
const SLOTS_LOOK_MS = 1_000;

/** The delay before try `attempt`, counted from 1: doubles each time, minus up to half at random, two seconds at most. */
export function backOffMs(attempt: number): number {
  const whole = Math.min(BACK_OFF_MS_MAX, BACK_OFF_MS_MIN * 2 ** Math.min(attempt, 10));
  return Math.round(whole * (0.5 + Math.random() / 2));
}

function safeOptions({ commandMsMax, authorities }: ClientBounds, target: RedisTarget) {
  return {
    ...(target.username === null ? {} : { username: target.username }),
    ...(target.password === null ? {} : { password: target.password }),
    ...(target.tls ? { tls: authorities === null ? {} : { ca: authorities } } : {}),
    maxRetriesPerRequest: 0,
    commandTimeout: commandMsMax,
    // Gives up a connection on which nothing arrives any more; later commands use a new one.
    socketTimeout: 2 * commandMsMax,
    connectTimeout: CONNECT_MS_MAX,
    disconnectTimeout: DISCONNECT_MS_MAX,
    maxLoadingRetryTime: LOADING_LOOK_MS,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    enableAutoPipelining: false,
    autoResubscribe: false,
    // After a failover, the address may lead to a server that has become a replica.
    reconnectOnError: (error: Error) => error.message.startsWith("READONLY"),
  } satisfies RedisOptions;
}

/** A client that is not connected yet and reconnects by itself forever. The caller must listen to `error`. */
export function createClient(target: RedisTarget, bounds: ClientBounds): RedisClient {
  if (target.kind !== "cluster") return createServerClient(target, bounds, target.nodes[0], backOffMs);
  return createCluster(target, safeOptions(bounds, target));
}

/** A client of one server; if `retry` is null, it ends with its connection. Sentinels, if any, provide the server's address. */
export function createServerClient(
  target: RedisTarget,
  bounds: ClientBounds,
  node: RedisNode,
  retry: typeof backOffMs | null,
): Redis {
  const options = { ...safeOptions(bounds, target), db: target.db, retryStrategy: retry, lazyConnect: true };
  if (target.kind !== "sentinel") return hearing(new Redis({ ...options, host: node.host, port: node.port }));
  const { tls } = options;
  return hearing(
    new Redis({
      ...options,
      sentinels: [...target.nodes],
      name: target.group,
      ...(retry === null ? {} : { sentinelRetryStrategy: retry }),
      sentinelCommandTimeout: bounds.commandMsMax,
      failoverDetector: retry !== null,
      ...(tls === undefined ? {} : { enableTLSForSentinelMode: true, sentinelTLS: tls }),
    }),
  );
}

/**
 * The library listens only to a connection's first error. TLS can raise two, our rejection of a certificate and the server's alert about
 * it, and an error without a listener ends the process.
 */
function hearing(client: Redis): Redis {
  return client.on("error", () => client.stream?.on("error", () => {}));
}

function createCluster({ nodes }: RedisTarget, options: ReturnType<typeof safeOptions>): Cluster {
  const settings = {
    redisOptions: options,
    lazyConnect: true,
    enableOfflineQueue: false,
    clusterRetryStrategy: backOffMs,
    slotsRefreshInterval: SLOTS_LOOK_MS,
    slotsRefreshTimeout: options.commandTimeout,
    // We retry ourselves, and only a little. A moved slot is followed at once.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    // With TLS, keep host names, because they are compared with the certificate's.
    ...(options.tls === undefined ? {} : { dnsLookup: keepName }),
  } satisfies ClusterOptions;
  return new Cluster([...nodes], settings).on("+node", hearing);
}

const keepName: DNSLookupFunction = (name, done) => done(null, name);
