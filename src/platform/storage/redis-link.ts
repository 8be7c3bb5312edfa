// The Redis connection of the ledger and the records: scripts are sent at most twice, and answers have a time limit.
import { listenTo, type Subscription } from "./redis-channel.ts";
import { type ClientBounds, createClient, createServerClient } from "./redis-client.ts";
import { RedisConnection } from "./redis-connection.ts";
import { meaningOf, unavailable } from "./redis-failure.ts";
import { luaRunner, type RedisLibrary } from "./redis-lua.ts";
import { ReplicaWait } from "./redis-replicas.ts";
import { identityOf, infoOf, keysOf, mastersOf, problemsOfAll, type ServerInfo } from "./redis-servers.ts";
import { parseRedisUrl, type RedisNode, type RedisTarget } from "./redis-url.ts";

const COMMAND_MS_MAX = 500;
const OPEN_MS_MAX = 5_000;
const LOOK_MS = 5_000;
/** A server that has just started may be slow to answer. */
const LOOK_TRIES = 5;
/** The part of a command's time limit in which replicas must answer. */
const REPLICA_SHARE = 0.8;

export interface RedisScript {
  /**
   * Runs the script, and again with the same arguments if the first answer did not arrive: it must be idempotent. All keys are in one
   * slot. Rejects with `ledger_unavailable` if there is no answer or Redis refused.
   */
  run(keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
}

export type RedisLink = Awaited<ReturnType<typeof openRedis>>;

export interface RedisLinkOptions {
  /** Called for the first error of each outage, to log it. */
  readonly onBroken: (error: unknown) => void;
  /** The time after which a command counts as lost. */
  readonly commandMsMax?: number;
  /** The longest wait for the first connection. */
  readonly openMsMax?: number;
  /** Certificate authorities for TLS, as PEM; default: those of Node. */
  readonly authorities?: string;
}

/** Connects, and looks at the servers from then on. */
async function firstConnection(target: RedisTarget, bounds: ClientBounds, options: RedisLinkOptions) {
  let opened = false;
  let broken: unknown = null;
  const first = Promise.withResolvers<void>();
  const connect = (onReady: () => void) =>
    new RedisConnection(createClient(target, bounds), {
      graceMs: bounds.commandMsMax,
      onReady,
      onBroken(error) {
        broken = error;
        if (opened) options.onBroken(error);
      },
    });
  const connection = connect(() => {
    first.resolve();
    void lookedAt();
  });
  const watch = watchServers(() => mastersOf(connection.client));
  async function lookedAt(): Promise<boolean> {
    try {
      await watch.look();
      return true;
    } catch (error) {
      broken = error;
      return false;
    }
  }
  const timer = setTimeout(() => first.reject(new Error(outOfReach(target, broken))), options.openMsMax ?? OPEN_MS_MAX);
  try {
    await first.promise;
    for (let tries = 1; !(await lookedAt()); tries++)
      if (tries === LOOK_TRIES) throw new Error(outOfReach(target, broken));
  } catch (error) {
    await connection.close();
    throw error;
  } finally {
    clearTimeout(timer);
  }
  opened = true;
  const looks = setInterval(lookedAt, LOOK_MS);
  looks.unref();
  return { connection, watch, stopLooking: () => clearInterval(looks), connectAgain: () => connect(() => {}) };
}

/** Connects to Redis. Rejects with a message for the operator if the address is wrong or no server answers. */
export async function openRedis(url: string, options: RedisLinkOptions) {
  const target = parseRedisUrl(url);
  const bounds: ClientBounds = {
    commandMsMax: options.commandMsMax ?? COMMAND_MS_MAX,
    authorities: options.authorities ?? null,
  };
  const { connection, watch, stopLooking, connectAgain } = await firstConnection(target, bounds, options);
  const { client } = connection;
  const replicas = new ReplicaWait(connection, connectAgain, Math.round(bounds.commandMsMax * REPLICA_SHARE));
  const subscriptions = new Set<Subscription>();
  const careful = carefulSender(connection);
  const runnerOf = luaRunner(client);
  const nodes = (): readonly RedisNode[] =>
    mastersOf(client).flatMap(({ options: { host, port } }) => (host && port ? [{ host, port }] : []));

  return {
    isCluster: target.kind === "cluster",

    /** Runs `lua`, or the equivalent function of that name in the library. */
    script(name: string, lua: string, library?: RedisLibrary): RedisScript {
      const run = runnerOf(name, lua, library);
      return { run: (keys, args) => careful(() => run(keys, args)) };
    },

    /** Sends a command that reads or may be sent twice. Rejects like a script. */
    call: (command: string, ...args: readonly (string | number)[]) => careful(() => client.call(command, ...args)),
    /** The names of all keys on all masters; a key that appears or disappears meanwhile may be missing or repeated. */
    keys: () => keysOf(mastersOf(client)),
    /** Reasons why the servers are unsafe for money, as sentences for the operator; empty: none. */
    problems: () => careful(() => problemsOfAll(client)),

    /** The server's time, in milliseconds since the epoch. */
    async serverEpochMs(): Promise<number> {
      const [seconds, micros] = (await careful(() => client.time())).map(Number);
      return (seconds ?? 0) * 1000 + Math.floor((micros ?? 0) / 1000);
    },

    /** The servers' uptime; in a cluster, that of the last one started. */
    uptimeMs: () => careful(() => watch.uptimeMs()),
    /** True if a replica has been seen since this was opened: one that is gone at the moment may return and take over. */
    isReplicated: watch.isReplicated,
    /** True if everything written on the key's server before this call is on a replica, or if there are no replicas. */
    waitForReplicas: (key: string) => (watch.isReplicated() ? replicas.wait(key) : Promise.resolve(true)),

    async publish(channel: string, text: string) {
      await careful(() => client.publish(channel, text));
    },

    /** Resolves once it listens. */
    async subscribe(channel: string, onMessage: (text: string) => void, onGap: () => void): Promise<Subscription> {
      const open = (attempt: number) => {
        const known = target.kind === "cluster" && nodes().length > 0 ? nodes() : target.nodes;
        return createServerClient(target, bounds, known[attempt % known.length] ?? target.nodes[0], null);
      };
      const subscription = listenTo(open, channel, { onMessage, onGap });
      subscriptions.add(subscription);
      await subscription.listens;
      return subscription;
    },

    /** Called when a server was replaced or restarted: it may have lost recently acknowledged writes. */
    onServerChange: watch.onChange,

    async close() {
      stopLooking();
      await Promise.all([...subscriptions].map((subscription) => subscription.close()));
      await Promise.all([replicas.close(), connection.close()]);
    },
  };
}

function outOfReach({ nodes }: RedisTarget, cause: unknown): string {
  const places = nodes.map(({ host, port }) => `${host}:${port}`).join(", ");
  return `Redis at ${places} cannot be reached: ${cause instanceof Error ? cause.message : "it does not answer"}`;
}

/** Sends a command, and once more if the outcome of the first try is unknown. Never waits long. */
function carefulSender(connection: RedisConnection) {
  const { client } = connection;

  async function lastTime<T>(send: () => Promise<T>, cause: unknown): Promise<T> {
    if (!(await connection.ready())) throw unavailable(cause, undefined, cause === null);
    return send().catch((error: unknown) => refuse(error, cause === null));
  }

  function refuse(error: unknown, isFirst: boolean): never {
    const meaning = meaningOf(error);
    if (meaning.kind === "refused") throw unavailable(error, meaning.retryAfterSeconds, isFirst);
    if (meaning.kind === "unknown") throw unavailable(error);
    throw error;
  }

  return <T>(send: () => Promise<T>): Promise<T> => {
    if (client.status !== "ready") return lastTime(send, null);
    return send().catch((error: unknown) =>
      meaningOf(error).kind === "unknown" ? lastTime(send, error) : refuse(error, true),
    );
  };
}

/** Watches the masters, and reports when one of them may have lost its data. */
function watchServers(masters: () => readonly Parameters<typeof infoOf>[0][]) {
  const known = new Set<string>();
  const listeners: (() => void)[] = [];
  let replicated = false;

  /** Of the servers that answer; rejects if none does. */
  async function infos(): Promise<ServerInfo[]> {
    const asked = await Promise.allSettled(masters().map(infoOf));
    const answered = asked.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    if (answered.length > 0) return answered;
    const [lost] = asked;
    throw lost?.status === "rejected" ? lost.reason : new Error("no server of the cluster is known");
  }

  return {
    async look(): Promise<void> {
      const found = await infos();
      replicated ||= found.some((info) => Number(info.get("connected_slaves")) > 0);
      const fresh = found.map(identityOf).filter((identity) => !known.has(identity));
      const isFirst = known.size === 0;
      for (const identity of fresh) known.add(identity);
      if (fresh.length > 0 && !isFirst) for (const listener of listeners) listener();
    },
    async uptimeMs(): Promise<number> {
      return Math.min(...(await infos()).map((info) => Number(info.get("uptime_in_seconds")) * 1000));
    },
    isReplicated: () => replicated,
    onChange(listener: () => void): void {
      listeners.push(listener);
    },
  };
}
