// The connections to vendors: chooses their protocol, keeps spare ones ready, and detects dead ones.
import type { Socket } from "node:net";
import { Agent, buildConnector, errors, Pool } from "undici";
import type { Adapter } from "../catalog/catalog.ts";
import type { Clock } from "../core/clock.ts";
import { NO_PROXIES, type Proxies } from "../core/proxies.ts";
import { SpareConnection, speaksHttp2 } from "./spare-connection.ts";
import { connectorThrough } from "./tunnel.ts";

type Connector = buildConnector.connector;

const CONNECT_MS_MAX = 10_000;
/** Vendors close idle connections after a minute or more, and a request on a connection that is closing fails. */
const IDLE_MS_MAX = 30_000;
/** How much unread data a vendor may send: per stream, which a slow reader keeps in memory, and per connection. */
const STREAM_WINDOW_BYTES = 64 * 1024;
const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;
/** What vendors allow per connection; beyond it undici opens another one. It respects a vendor's lower limit. */
const STREAMS_MAX = 100;
const PING_MS = 3_000;
/** The number of consecutive ping intervals without any byte received, ping replies included. */
const SILENT_PINGS = 2;

interface ConnectionRules {
  /** Multiplexes calls where the vendor offers HTTP/2 by ALPN; otherwise a connection carries one call at a time. */
  readonly http2: boolean;
  readonly warm: boolean;
}

/**
 * If a connection dies silently (a NAT forgets it, a machine hangs), every HTTP/2 call on it would hang for as long as the kernel
 * retransmits, some 15 minutes, because a call that gives up ends only its own stream. undici sends pings but ignores missing replies. So
 * we count received bytes: after 6 to 9 s without any, all calls on the connection fail at once. After a vendor's GOAWAY undici sends no
 * more pings; then silence proves nothing, and the calls in flight rely on their own timeouts.
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
  // If this process was busy, read first what has arrived meanwhile.
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

/** What we keep for an origin after its last connection ends, when undici forgets it. */
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

/** The origins that a vendor's connections go to, except hosts that depend on a caller's params. */
function originsOf({ origin, origins }: Adapter): readonly string[] {
  const fixed = [origin, ...Object.values(origins)].filter((address) => !address.includes("{"));
  return fixed.map((address) => new URL(address).origin);
}

/** Opens no connection before the first call. `byDefault` enables HTTP/2 where the adapter does not decide; other origins use HTTP/1.1. */
export function createConnections(clock: Clock, byDefault: boolean, proxies: Proxies = NO_PROXIES) {
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
      // A request that requires HTTP/1.1 gets a separate pool: few servers support web sockets over HTTP/2.
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

  /** Adapters at the same origin share its connections: HTTP/2 only if all allow it, warm if any wants it. */
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
    /** Applies the adapter's rules, with those of earlier adapters at the same origin, to new connections. */
    keepFor(adapter: Adapter): void {
      if (adapter.isSandbox === true && new URL(adapter.origin).hostname === "127.0.0.1")
        ours.add(new URL(adapter.origin).origin);
      const rules = { http2: adapter.spec.http2 ?? byDefault, warm: adapter.keys.length > 0 };
      for (const origin of originsOf(adapter)) keep(origin, rules);
    },
    async close(): Promise<void> {
      for (const { spare } of origins.values()) spare?.close();
      await dispatcher.destroy();
    },
  };
}
