// Makes clients of Redis with the settings that money needs: nothing is queued, nothing is sent twice behind our back.
import { Cluster, type ClusterOptions, type DNSLookupFunction, Redis, type RedisOptions } from "ioredis";
import type { RedisNode, RedisTarget } from "./redis-url.ts";

export type RedisClient = Redis | Cluster;

export interface ClientBounds {
  /** A command that has no answer by then is rejected; what it did is unknown. */
  readonly commandMsMax: number;
  /** Certificate authorities for TLS, as PEM; null: those that Node trusts. */
  readonly authorities: string | null;
}

const BACK_OFF_MS_MIN = 50;
const BACK_OFF_MS_MAX = 2_000;
const CONNECT_MS_MAX = 2_000;
/** A server that does not say goodbye is left after this. */
const DISCONNECT_MS_MAX = 200;
/** A server that reads its files again is asked this often whether it is done. */
const LOADING_LOOK_MS = 500;
/** What was sent to a master that has died is sent to it again until its slots are seen elsewhere. */
const SLOTS_LOOK_MS = 1_000;

/** How long to wait before try `attempt`, counted from 1: twice as long each time, less a random half, two seconds at most. */
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
    // A connection on which nothing comes back any more is given up; what is sent after it goes over a new one.
    socketTimeout: 2 * commandMsMax,
    connectTimeout: CONNECT_MS_MAX,
    disconnectTimeout: DISCONNECT_MS_MAX,
    maxLoadingRetryTime: LOADING_LOOK_MS,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    enableAutoPipelining: false,
    autoResubscribe: false,
    // After a failover the address may lead to a server that has become a replica.
    reconnectOnError: (error: Error) => error.message.startsWith("READONLY"),
  } satisfies RedisOptions;
}

/** A client that is not connected yet and reconnects by itself, for ever. The caller must listen to `error`. */
export function createClient(target: RedisTarget, bounds: ClientBounds): RedisClient {
  if (target.kind !== "cluster") return createServerClient(target, bounds, target.nodes[0], backOffMs);
  return createCluster(target, safeOptions(bounds, target));
}

/** A client of one server; with `retry` null it ends with its connection. Where there are sentinels, they name the server. */
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
 * The library hears the first error of a connection and no other. TLS can tell two, our refusal of a certificate and the server's alert
 * about it, and an error without a listener ends the process.
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
    // Retries are ours, and few. A moved slot is followed at once.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    // With TLS names stay names, so that they can be compared with the certificate's.
    ...(options.tls === undefined ? {} : { dnsLookup: keepName }),
  } satisfies ClusterOptions;
  return new Cluster([...nodes], settings).on("+node", hearing);
}

const keepName: DNSLookupFunction = (name, done) => done(null, name);
