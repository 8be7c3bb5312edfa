// The way out through the operator's proxy: a tunnel by CONNECT, under every client that reaches other networks.
import type { AgentOptions } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { isIP, type Socket } from "node:net";
import { Agent, buildConnector, Client, Dispatcher1Wrapper } from "undici";
import { Agent as HttpAgent } from "../node-http.ts";
import { type Destination, destinationOf, NO_PROXIES, type Proxies } from "../proxies.ts";

type Connector = buildConnector.connector;

const TUNNEL_MS_MAX = 10_000;

/** The proxy did not open a tunnel. Whatever was asked has not been sent. */
export class ProxyFailure extends Error {}

/** Whether an error is the proxy's, also where a client has wrapped it. */
export function proxyFailureIn(error: unknown): ProxyFailure | null {
  if (error instanceof ProxyFailure) return error;
  return error instanceof Error && error.cause !== undefined ? proxyFailureIn(error.cause) : null;
}

function refusalOf(status: number): ProxyFailure {
  const variable = "HTTPS_PROXY or HTTP_PROXY";
  if (status === 407) return new ProxyFailure(`the proxy wants other credentials (407): check those in ${variable}`);
  return new ProxyFailure(`the proxy refused the connection (it answered CONNECT with ${status})`);
}

/** Opens a connection to a destination through a proxy. Rejects with a ProxyFailure. */
export async function openTunnel(proxy: URL, { host, port }: Pick<Destination, "host" | "port">): Promise<Socket> {
  const path = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  const [user, password] = [proxy.username, proxy.password].map(decodeURIComponent);
  const credentials = Buffer.from(`${user}:${password}`).toString("base64");
  const client = new Client(proxy.origin, {
    connect: { timeout: TUNNEL_MS_MAX },
    headersTimeout: TUNNEL_MS_MAX,
    allowH2: false,
  });
  try {
    const headers = { host: path, ...(proxy.username === "" ? {} : { "proxy-authorization": `Basic ${credentials}` }) };
    // Without a name of its own, undici would ask the proxy for the certificate of the destination.
    const named = { path, headers, servername: proxy.hostname };
    const { statusCode, socket } = await client.connect(named);
    if (statusCode >= 200 && statusCode < 300) return socket as Socket;
    socket.on("error", () => {}).destroy();
    throw refusalOf(statusCode);
  } catch (error) {
    if (error instanceof ProxyFailure) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ProxyFailure(`the proxy could not be reached (${code ?? message})`, { cause: error });
  } finally {
    void client.close();
  }
}

/** The first of some checked addresses that the proxy reaches. */
export async function openTunnelToAny(proxy: URL, addresses: readonly string[], port: number): Promise<Socket> {
  let failure: unknown = new ProxyFailure("there is no address to connect to");
  for (const host of addresses) {
    try {
      return await openTunnel(proxy, { host, port });
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/** A connector of undici's that goes through the proxy of its destination. TLS is spoken with the destination, within the tunnel. */
export function connectorThrough(proxies: Proxies, connector: Connector, addresses?: readonly string[]): Connector {
  if (proxies === NO_PROXIES) return connector;
  return (options, callback) => {
    const destination = destinationOf({ ...options, port: options.port ?? "" });
    const proxy = proxies.proxyFor(destination);
    if (proxy === null) return connector(options, callback);
    openTunnelToAny(proxy, addresses ?? [destination.host], destination.port).then(
      (socket) => {
        if (destination.secure) connector({ ...options, httpSocket: socket }, callback);
        else callback(null, socket);
      },
      (error: Error) => callback(error, null),
    );
  };
}

/** An agent of Node's own clients that goes through the proxies. */
export function newAgent(
  proxies: Proxies,
  secure: boolean,
  options: AgentOptions = {},
): InstanceType<typeof HttpAgent> {
  const agent = secure ? new HttpsAgent(options) : new HttpAgent(options);
  if (proxies === NO_PROXIES) return agent;
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, done) => {
    const destination = { secure, host: options.host ?? "", port: Number(options.port) };
    const proxy = proxies.proxyFor(destination);
    if (proxy === null) return connect(options, done);
    openTunnel(proxy, destination).then(
      (socket) => done?.(null, secure ? (connect({ ...options, socket } as typeof options) ?? socket) : socket),
      (error: Error) => done?.(error, null as never),
    );
    return undefined;
  };
  return agent;
}

/** `fetch` that goes through the proxies. */
export function fetchThrough(proxies: Proxies): typeof fetch {
  if (proxies === NO_PROXIES) return fetch;
  const connect = connectorThrough(proxies, buildConnector({ timeout: TUNNEL_MS_MAX, allowH2: false }));
  // Node's own fetch speaks to dispatchers of an older undici.
  const dispatcher = new Dispatcher1Wrapper(new Agent({ connect }));
  return (input, init) => fetch(input, { ...init, dispatcher } as object);
}
