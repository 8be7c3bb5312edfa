// The connections to vendors: which protocol is spoken over them, which lie ready, and how one that has died is found.
import type { Socket } from "node:net";
import { Agent, buildConnector, type Dispatcher, errors, Pool } from "undici";
import type { Adapter } from "../catalog/catalog.ts";
import type { Clock } from "../core/clock.ts";
import { NO_PROXIES, type Proxies } from "../core/proxies.ts";
import { SpareConnection, speaksHttp2 } from "./spare-connection.ts";
import { connectorThrough } from "./tunnel.ts";

type Connector = buildConnector.connector;

const CONNECT_MS_MAX = 10_000;
/** Vendors close what lies idle after a minute or more; a request that meets a connection which is just being closed has failed. */
const IDLE_MS_MAX = 30_000;
/** What a vendor may send that is not read yet: of one stream, which a slow reader keeps in memory, and of all of a connection. */
const STREAM_WINDOW_BYTES = 64 * 1024;
const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;
/** What vendors allow over one connection; undici opens another one beyond it, and goes by a vendor's lower limit. */
const STREAMS_MAX = 100;
const PING_MS = 3_000;
/** So many times between two pings not a byte has come, the answer to a ping included. */
const SILENT_PINGS = 2;

/** How the connections to one origin are kept. */
interface ConnectionRules {
  /** Many calls at once over one connection, where the vendor offers HTTP/2 by ALPN; else one after the other over each. */
  readonly http2: boolean;
  /** A connection lies ready beside those that are used. */
  readonly warm: boolean;
}

export interface Connections {
  readonly dispatcher: Dispatcher;
  /** As the adapter wants it, and those before it at the same origin, from now on; those that are open already stay as they are. */
  keepFor(adapter: Adapter): void;
  close(): Promise<void>;
}

/**
 * A connection that dies without a word (a NAT that forgot it, a machine that hangs) would take all that is asked over HTTP/2 for as long
 * as the kernel sends again, some 15 minutes: a call that gives up ends its stream alone. undici pings and does not mind whether an
 * answer comes; so the bytes that come are counted, and after 6 to 9 s without one all calls of the connection fail at once. Once a vendor
 * has said that it goes away undici pings no more: then silence says nothing, and the calls in flight have their own clocks.
 */
function watched(connector: Connector): Connector {
  return (options, callback) =>
    connector(options, (...outcome) => {
      const [error, socket] = outcome;
      if (error === null && speaksHttp2(socket)) watch(socket);
      callback(...outcome);
    });
}

function watch(socket: Socket): void {
  let bytes = socket.bytesRead;
  let written = socket.bytesWritten;
  let silent = 0;
  const hasHeard = () => socket.bytesRead !== bytes;
  // Where this process was busy, what has arrived meanwhile is read first.
  const decide = () => {
    if (!hasHeard()) socket.destroy(new errors.SocketError("the connection has died: no ping was answered"));
  };
  const timer = setInterval(() => {
    const hasAsked = socket.bytesWritten !== written;
    written = socket.bytesWritten;
    silent = hasHeard() || !hasAsked ? 0 : silent + 1;
    if (silent >= SILENT_PINGS) return void setImmediate(decide);
    bytes = socket.bytesRead;
  }, PING_MS).unref();
  socket.once("close", () => clearInterval(timer));
}

const HTTP2_OPTIONS = {
  maxConcurrentStreams: STREAMS_MAX,
  pingInterval: PING_MS,
  initialWindowSize: STREAM_WINDOW_BYTES,
  connectionWindowSize: CONNECTION_WINDOW_BYTES,
};

const PLAIN: ConnectionRules = { http2: false, warm: false };

/** What stays of an origin when all its connections have ended, which is when undici forgets it. */
interface Kept {
  readonly rules: ConnectionRules;
  readonly connect: Connector;
  readonly spare: SpareConnection | null;
}

function connectorFor(http2: boolean, proxies: Proxies): Connector {
  const connector = buildConnector({ allowH2: http2, preferH2: true, timeout: CONNECT_MS_MAX });
  const through = connectorThrough(proxies, connector);
  return http2 ? watched(through) : through;
}

/** The server in this process that stands in for vendors, which no proxy of the network reaches. */
function isOurs({ isSandbox, origin }: Adapter): boolean {
  return isSandbox === true && new URL(origin).hostname === "127.0.0.1";
}

/** Where a vendor's connections go, but for hosts whose names callers make. */
function originsOf({ origin, origins }: Adapter): readonly string[] {
  const fixed = [origin, ...Object.values(origins)].filter((address) => !address.includes("{"));
  return fixed.map((address) => new URL(address).origin);
}

/** Opens none before the first call. With `byDefault` HTTP/2 is spoken where an adapter says nothing of it; other origins have HTTP/1.1. */
export function createConnections(clock: Clock, byDefault: boolean, proxies: Proxies = NO_PROXIES): Connections {
  const origins = new Map<string, Kept>();
  const ours = new Set<string>();

  function keptOf(origin: string, rules: ConnectionRules): Kept {
    const connect = connectorFor(rules.http2, ours.has(origin) ? NO_PROXIES : proxies);
    const spare = rules.warm && origin.startsWith("https:") ? new SpareConnection(connect, clock) : null;
    return { rules, spare, connect: spare?.connect ?? connect };
  }

  const dispatcher = new Agent({
    factory(origin, options: Pool.Options) {
      const known = origins.get(String(origin));
      // A request that needs HTTP/1.1 says so, and has a pool of its own: few servers make a web socket out of a stream of HTTP/2.
      const isFit = known !== undefined && !(known.rules.http2 && options.allowH2 === false);
      const { rules, connect } = isFit ? known : keptOf(String(origin), PLAIN);
      return new Pool(origin, {
        ...options,
        connect,
        pipelining: 1,
        allowH2: rules.http2,
        h2Options: HTTP2_OPTIONS,
        keepAliveTimeout: IDLE_MS_MAX,
      });
    },
  });

  /** Adapters that share an origin share its connections: in HTTP/2 where all of them bear it, warm where one of them is. */
  function keep(origin: string, wanted: ConnectionRules): void {
    const known = origins.get(origin);
    const { http2 = true, warm = false } = known?.rules ?? {};
    const rules = { http2: http2 && wanted.http2, warm: warm || wanted.warm };
    if (known?.rules.http2 === rules.http2 && known.rules.warm === rules.warm) return;
    known?.spare?.close();
    origins.set(origin, keptOf(origin, rules));
  }

  return {
    dispatcher,
    keepFor(adapter) {
      if (isOurs(adapter)) ours.add(new URL(adapter.origin).origin);
      const rules = { http2: adapter.spec.http2 ?? byDefault, warm: adapter.keys.length > 0 };
      for (const origin of originsOf(adapter)) keep(origin, rules);
    },
    async close() {
      for (const { spare } of origins.values()) spare?.close();
      await dispatcher.destroy();
    },
  };
}
