// The way to Redis that the ledger and the records share: scripts that are sent at most twice, and answers within a bound.
import { type ChannelListener, listenTo, type Subscription } from "./redis-channel.ts";
import { type ClientBounds, createClient, createServerClient } from "./redis-client.ts";
import { keepConnected } from "./redis-connection.ts";
import { meaningOf, unavailable } from "./redis-failure.ts";
import { luaRunner, type RedisLibrary } from "./redis-lua.ts";
import { waitOnReplicas } from "./redis-replicas.ts";
import { identityOf, infoOf, keysOf, mastersOf, problemsOfAll, type ServerInfo } from "./redis-servers.ts";
import { parseRedisUrl, type RedisNode, type RedisTarget } from "./redis-url.ts";

const COMMAND_MS_MAX = 500;
const OPEN_MS_MAX = 5_000;
const LOOK_MS = 5_000;
/** A server that has just begun may be slow to answer. */
const LOOK_TRIES = 5;
/** The part of a command's time that replicas have to answer in. */
const REPLICA_SHARE = 0.8;

export interface RedisScript {
  /**
   * Runs the script once, or twice with the same arguments where the first answer did not come: it must be idempotent.
   * All keys are of one slot. Rejects with `ledger_unavailable` where there is no answer or Redis refused.
   */
  run(keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
}

export interface RedisLink {
  readonly isCluster: boolean;
  /** Runs `lua`, or the function of that name in the library, which does the same. */
  script(name: string, lua: string, library?: RedisLibrary): RedisScript;
  /** Sends a command that reads, or that may be sent twice. Rejects as a script does. */
  call(command: string, ...args: readonly (string | number)[]): Promise<unknown>;
  /** The names of all keys, of every server that takes writes; one that comes or goes meanwhile may be missing or come twice. */
  keys(): AsyncIterable<string>;
  /** What makes the servers unfit for money, as sentences for the operator; empty: nothing. */
  problems(): Promise<string[]>;
  /** The server's clock, in milliseconds since the epoch. */
  serverEpochMs(): Promise<number>;
  /** How long the servers have been up; in a cluster, the one that was started last. */
  uptimeMs(): Promise<number>;
  /** Whether a replica has been seen since this was opened: one that is gone at the moment may come back, and take over. */
  isReplicated(): boolean;
  /** Whether all that was written on the key's server before this call is on a replica; true where there are none. */
  waitForReplicas(key: string): Promise<boolean>;
  publish(channel: string, text: string): Promise<void>;
  /** Answers once it listens. */
  subscribe(channel: string, onMessage: (text: string) => void, onGap: () => void): Promise<Subscription>;
  /** Called when a server is another than before, or was started again: what it acknowledged lately may be gone. */
  onServerChange(listener: () => void): void;
  close(): Promise<void>;
}

export interface RedisLinkOptions {
  /** The first error of each outage, for the log. */
  readonly onBroken: (error: unknown) => void;
  /** The longest that a command may take before it counts as lost. */
  readonly commandMsMax?: number;
  /** The longest to wait for the first connection. */
  readonly openMsMax?: number;
  /** Certificate authorities for TLS, as PEM; without it those that Node trusts. */
  readonly authorities?: string;
}

/** Connects to Redis. Rejects with a sentence for the operator where the address is wrong or no server answers there. */
export async function openRedis(url: string, options: RedisLinkOptions): Promise<RedisLink> {
  const target = parseRedisUrl(url);
  const bounds: ClientBounds = {
    commandMsMax: options.commandMsMax ?? COMMAND_MS_MAX,
    authorities: options.authorities ?? null,
  };
  let opened = false;
  let broken: unknown = null;
  const first = Promise.withResolvers<void>();
  const connect = (onReady: () => void) =>
    keepConnected(createClient(target, bounds), {
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

  const { client } = connection;
  const replicas = waitOnReplicas(connection, () => connect(() => {}), Math.round(bounds.commandMsMax * REPLICA_SHARE));
  const subscriptions = new Set<Subscription>();
  const careful = carefulSender(connection);
  const runnerOf = luaRunner(client);
  const nodes = (): readonly RedisNode[] =>
    mastersOf(client).flatMap(({ options: { host, port } }) => (host && port ? [{ host, port }] : []));

  return {
    isCluster: target.kind === "cluster",

    script(name, lua, library) {
      const run = runnerOf(name, lua, library);
      return { run: (keys, args) => careful(() => run(keys, args)) };
    },

    call: (command, ...args) => careful(() => client.call(command, ...args)),
    keys: () => keysOf(mastersOf(client)),
    problems: () => careful(() => problemsOfAll(client)),

    async serverEpochMs() {
      const [seconds, micros] = (await careful(() => client.time())).map(Number);
      return (seconds ?? 0) * 1000 + Math.floor((micros ?? 0) / 1000);
    },

    uptimeMs: () => careful(() => watch.uptimeMs()),
    isReplicated: watch.isReplicated,
    waitForReplicas: (key) => (watch.isReplicated() ? replicas.wait(key) : Promise.resolve(true)),

    async publish(channel, text) {
      await careful(() => client.publish(channel, text));
    },

    async subscribe(channel, onMessage, onGap) {
      const listener: ChannelListener = { onMessage, onGap };
      const open = (attempt: number) => {
        const known = target.kind === "cluster" && nodes().length > 0 ? nodes() : target.nodes;
        return createServerClient(target, bounds, known[attempt % known.length] ?? target.nodes[0], null);
      };
      const subscription = listenTo(open, channel, listener);
      subscriptions.add(subscription);
      await subscription.listens;
      return subscription;
    },

    onServerChange: watch.onChange,

    async close() {
      clearInterval(looks);
      await Promise.all([...subscriptions].map((subscription) => subscription.close()));
      await Promise.all([replicas.close(), connection.close()]);
    },
  };
}

function outOfReach({ nodes }: RedisTarget, cause: unknown): string {
  const places = nodes.map(({ host, port }) => `${host}:${port}`).join(", ");
  return `Redis at ${places} cannot be reached: ${cause instanceof Error ? cause.message : "it does not answer"}`;
}

/** Sends, and sends once more where it is not known whether the first time counted. Never waits for long. */
function carefulSender({ client, ready }: ReturnType<typeof keepConnected>) {
  async function lastTime<T>(send: () => Promise<T>, cause: unknown): Promise<T> {
    if (!(await ready())) throw unavailable(cause, undefined, cause === null);
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

/** Looks at the servers that take writes, and tells when one of them has no memory of what was there before. */
function watchServers(masters: () => readonly Parameters<typeof infoOf>[0][]) {
  const known = new Set<string>();
  const listeners: (() => void)[] = [];
  let replicated = false;

  /** Of the servers that answer; rejects where none does. */
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
