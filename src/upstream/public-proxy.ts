// Outgoing safety for our browser: its only way out is this proxy, which connects only to public addresses.
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { createServer, request } from "../core/node-http.ts";
import { destinationOf, NO_PROXIES } from "../core/proxies.ts";
import { createPublicAddresses, type PublicAddressesOptions } from "./public-addresses.ts";
import { readPublicUrl } from "./public-url.ts";
import { openTunnel } from "./tunnel.ts";

const CONNECT_MS_MAX = 10_000;
const SOCKETS_MAX = 256;
/** Headers between the browser and the proxy, never forwarded. */
const HOP_HEADERS = [
  "proxy-connection",
  "proxy-authorization",
  "connection",
  "keep-alive",
  "upgrade",
  "te",
  "trailer",
  "transfer-encoding",
];

export interface PublicProxyOptions extends PublicAddressesOptions {
  /** The limit on all traffic, both directions together; beyond it every connection is closed. */
  readonly bytesMax: number;
}

interface Way {
  readonly address: string;
  readonly port: number;
  /** The operator's proxy that leads to the address; null if there is none. */
  readonly proxy: URL | null;
}

class WayOut {
  readonly #options: PublicProxyOptions;
  readonly #addresses: ReturnType<typeof createPublicAddresses>;
  readonly #server: Server;
  readonly #sockets = new Set<Duplex>();
  readonly #stop = new AbortController();
  #bytes = 0;

  constructor(options: PublicProxyOptions) {
    this.#options = options;
    this.#addresses = createPublicAddresses(options);
    this.#server = createServer((asked, answer) => void this.#pass(asked, answer).catch(() => answer.destroy()));
    this.#server.maxConnections = SOCKETS_MAX;
    this.#server.on("connection", (socket) => this.#keep(socket));
    this.#server.on("clientError", (_, socket) => socket.destroy());
    this.#server.on("connect", (asked, socket, head) => {
      void this.#tunnel(asked, socket, head).catch(() => socket.destroy());
    });
  }

  /** Returns its address, on loopback. */
  async open(): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(0, "127.0.0.1", resolve);
    });
    const at = this.#server.address();
    if (at === null || typeof at === "string") throw new Error("the proxy has no port");
    return `http://127.0.0.1:${at.port}`;
  }

  /** Closes every connection. */
  readonly close = async (): Promise<void> => {
    this.#stop.abort();
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  };

  /** Tracks a socket, to close it later and to count its bytes. */
  #keep<Kind extends Duplex>(socket: Kind): Kind {
    this.#sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#sockets.delete(socket));
    socket.on("data", (bytes: Buffer) => this.#count(bytes.length));
    return socket;
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#options.bytesMax) for (const socket of this.#sockets) socket.destroy();
  }

  /** Resolves an address; null if connecting to it is not allowed. */
  async #wayTo(text: string): Promise<Way | null> {
    const { allowForTests = [], mayBeInner, proxies = NO_PROXIES } = this.#options;
    if (this.#bytes > this.#options.bytesMax) return null;
    const mayUsePort = (port: number) => allowForTests.some((pair) => pair.endsWith(`:${port}`));
    const read = readPublicUrl(text, mayUsePort, mayBeInner);
    if (typeof read === "string") return null;
    const [address] = await this.#addresses(read, this.#stop.signal).catch(() => []);
    if (address === undefined) return null;
    return { address, port: read.port, proxy: proxies.proxyFor(destinationOf(read.url)) };
  }

  async #connect({ address, port, proxy }: Way): Promise<Socket> {
    const socket = proxy === null ? connectTo(address, port) : await openTunnel(proxy, [address], port);
    return this.#keep(socket);
  }

  async #tunnel({ url = "" }: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    const way = await this.#wayTo(`https://${url}`);
    if (way === null) {
      client.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
      return;
    }
    const server = await this.#connect(way);
    if (client.destroyed) server.destroy();
    server.on("close", () => client.destroy());
    client.on("close", () => server.destroy());
    const begin = () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      server.write(head);
      server.pipe(client);
      client.pipe(server);
    };
    if (server.connecting) server.once("connect", begin);
    else begin();
  }

  async #pass(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const url = asked.url ?? "";
    const way = await this.#wayTo(url);
    if (way === null) {
      answer.writeHead(403, { "content-length": "0" }).end();
      return;
    }
    const { pathname, search, host } = new URL(url);
    const socket = await this.#connect(way);
    const sent = request({
      createConnection: () => socket,
      method: asked.method,
      path: pathname + search,
      headers: { ...ownHeaders(asked.headers), host },
      setHost: false,
    });
    sent.on("error", () => answer.destroy());
    answer.on("close", () => sent.destroy());
    sent.on("response", (came) => {
      came.on("error", () => answer.destroy());
      try {
        answer.writeHead(came.statusCode ?? 502, ownHeaders(came.headers));
        came.pipe(answer);
      } catch {
        // The answer has an invalid status or header; an exception in an event handler would end the process.
        sent.destroy();
        answer.destroy();
      }
    });
    asked.pipe(sent);
  }
}

/** Removes the hop-by-hop headers. */
function ownHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_HEADERS.includes(name)));
}

function connectTo(address: string, port: number): Socket {
  const socket = connect({ host: address, port });
  socket.setTimeout(CONNECT_MS_MAX, () => {
    if (socket.connecting) socket.destroy();
  });
  return socket;
}

/** Listens on a free loopback port. The caller must close it. */
export async function openPublicProxy(options: PublicProxyOptions) {
  const proxy = new WayOut(options);
  return { url: await proxy.open(), close: proxy.close };
}
