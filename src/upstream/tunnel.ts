// CONNECT tunnels through the operator's proxy, used by every client that connects to outside networks.
import type { AgentOptions } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { isIP, type Socket } from "node:net";
import { Agent, buildConnector, Client, Dispatcher1Wrapper } from "undici";
import { Agent as HttpAgent } from "../core/node-http.ts";
import { destinationOf, NO_PROXIES, type Proxies } from "../core/proxies.ts";

type Connector = buildConnector.connector;

const TUNNEL_MS_MAX = 10_000;

/** The proxy did not open a tunnel, so the request was never sent. */
export class ProxyFailure extends Error {}

/** Finds the proxy failure in an error or its causes; null if there is none. */
export function proxyFailureIn(error: unknown): ProxyFailure | null {
  if (error instanceof ProxyFailure) return error;
  return error instanceof Error && error.cause !== undefined ? proxyFailureIn(error.cause) : null;
}

/** Connects through a proxy to the first of these hosts that it reaches. Rejects with a ProxyFailure. */
export async function openTunnel(proxy: URL, [host = "", ...others]: readonly string[], port: number): Promise<Socket> {
  const path = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  const login = [proxy.username, proxy.password].map(decodeURIComponent).join(":");
  const authorization = `Basic ${Buffer.from(login).toString("base64")}`;
  const connector = buildConnector({ timeout: TUNNEL_MS_MAX, allowH2: false });
  // Without a server name undici uses the proxy's host; otherwise it would check the proxy's certificate against the destination.
  const connect: Connector = (options, callback) => connector({ ...options, servername: "" }, callback);
  const limits = { connect, headersTimeout: TUNNEL_MS_MAX };
  const client = new Client(proxy.origin, limits);
  try {
    const headers = { host: path, ...(login === ":" ? {} : { "proxy-authorization": authorization }) };
    const { statusCode, socket } = await client.connect({ path, headers });
    if (statusCode >= 200 && statusCode < 300) return socket as Socket;
    socket.on("error", () => {}).destroy();
    const todo = statusCode === 407 ? ": check the user and password in HTTPS_PROXY and HTTP_PROXY" : "";
    throw new ProxyFailure(`the proxy of HTTPS_PROXY or HTTP_PROXY answered CONNECT with ${statusCode}${todo}`);
  } catch (error) {
    if (others.length > 0) return openTunnel(proxy, others, port);
    if (error instanceof ProxyFailure) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    const words = `the proxy of HTTPS_PROXY or HTTP_PROXY cannot be reached (${code ?? message})`;
    throw new ProxyFailure(words, { cause: error });
  } finally {
    void client.close();
  }
}

/** An undici connector that tunnels through the proxy for its destination. TLS runs end to end inside the tunnel. */
export function connectorThrough(proxies: Proxies, connector: Connector, addresses?: readonly string[]): Connector {
  if (proxies === NO_PROXIES) return connector;
  return (options, callback) => {
    const { secure, host, port } = destinationOf({ ...options, port: options.port ?? "" });
    const proxy = proxies.proxyFor({ secure, host, port });
    if (proxy === null) return connector(options, callback);
    openTunnel(proxy, addresses ?? [host], port).then(
      (socket) => (secure ? connector({ ...options, httpSocket: socket }, callback) : callback(null, socket)),
      (error: Error) => callback(error, null),
    );
  };
}

/** An agent for Node's own HTTP clients that uses the proxies. */
export function newAgent(proxies: Proxies, secure: boolean, pool: AgentOptions = {}): InstanceType<typeof HttpAgent> {
  const agent = secure ? new HttpsAgent(pool) : new HttpAgent(pool);
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, done) => {
    const [host, port] = [options.host ?? "", Number(options.port)];
    const proxy = proxies.proxyFor({ secure, host, port });
    if (proxy === null) return connect(options, done);
    openTunnel(proxy, [host], port).then(
      (socket) => done?.(null, secure ? (connect({ ...options, socket } as typeof options) ?? socket) : socket),
      (error: Error) => done?.(error, null as never),
    );
    return undefined;
  };
  return agent;
}

/** A `fetch` that uses the proxies. */
export function fetchThrough(proxies: Proxies): typeof fetch {
  if (proxies === NO_PROXIES) return fetch;
  const connect = connectorThrough(proxies, buildConnector({ timeout: TUNNEL_MS_MAX, allowH2: false }));
  // Node's built-in fetch expects the dispatcher interface of an older undici.
  const dispatcher = new Dispatcher1Wrapper(new Agent({ connect }));
  return (input, init) => fetch(input, { ...init, dispatcher } as object);
}
