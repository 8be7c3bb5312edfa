// The HTTP engine over node:http. Serves the requests of a connection one after the other, in order of arrival.
import type { IncomingMessage, Server } from "node:http";
import type { Http2SecureServer, Http2Session } from "node:http2";
import { type AddressInfo, Server as NetServer, type Socket as NetSocket } from "node:net";
import { createServer, ServerResponse } from "../../core/node-http.ts";
import { tally } from "../../core/tally.ts";
import type { Certificate } from "./certificate.ts";
import { cannotListen, type Engine, type EngineHost, type EngineOptions, type Listener } from "./engine.ts";
import { statusLine } from "./head-lines.ts";
import { type NodeMessage, type NodeReply, NodeRequest, NodeResponse } from "./node-response.ts";
import { createUpgrade } from "./node-socket.ts";

const HEADER_BYTES_MAX = 16_384;
const BUFFERED_BYTES_MAX = 16 * 1024;
const CHECK_MS = 1_000;
/** Concurrent streams of one HTTP/2 connection. */
const STREAMS_MAX = 100;
/** The first and last intervals for probing a client that has stopped sending. */
const PROBE_MS = 100;
const PROBE_MS_MAX = 3_200;
/** Pipelined requests that may wait for earlier answers. */
const WAITING_MAX = 1_024;

/** The status for the parser's errors; 400 if not listed. */
const FAULT_STATUS: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  VERSION: 505,
  CONNECT: 405,
};

/** What the parser wrongly accepts: HTTP/0.9 and HTTP/2.0 in a request line, and HTTP/1.1 without a Host. */
function headFault({ httpVersion, headers }: NodeMessage): string | null {
  if (httpVersion === "1.1") return headers.host === undefined ? "HOST" : null;
  return httpVersion === "1.0" ? null : "VERSION";
}

class Connection {
  readonly #host: EngineHost;
  readonly #socket: NetSocket;
  readonly #waiting: [NodeMessage, ServerResponse][] = [];
  #active: { message: NodeMessage; reply: ServerResponse; response: NodeResponse } | null = null;
  #broken = false;

  constructor(host: EngineHost, socket: NetSocket) {
    this.#host = host;
    this.#socket = socket;
    socket.on("end", () => this.#probe());
    socket.on("drain", () => this.#active?.response.roomAgain());
    // After an upgrade node:http no longer handles errors of the socket, and a reset would end the process.
    socket.on("error", () => {});
    socket.once("close", () => {
      this.#broken = true;
    });
  }

  get isBusy(): boolean {
    return this.#active !== null;
  }

  request(message: NodeMessage, reply: ServerResponse): void {
    if (this.#broken) return;
    const code = headFault(message);
    if (code !== null) return this.fault(code);
    if (this.#active === null) return this.#serve(message, reply);
    this.#waiting.push([message, reply]);
    if (this.#waiting.length > WAITING_MAX) this.#socket.destroy();
  }

  /** The parser has failed, or has released the connection. */
  fault(code: string): void {
    if (this.#broken) return;
    this.#broken = true;
    const active = this.#active;
    // Answers to earlier requests come first; the last of them closes the connection.
    if (active?.message.complete === true) return;
    active?.response.abort();
    if (active?.reply.headersSent === true || !this.#socket.writable) return void this.#socket.destroy();
    this.#refuse(FAULT_STATUS[code] ?? 400);
  }

  #refuse(status: number): void {
    const { headers, body } = this.#host.unreadable();
    const closes = `connection: close\r\ncontent-length: ${Buffer.byteLength(body)}`;
    this.#socket.end(`HTTP/1.1 ${statusLine(status)}${headers}\r\n${closes}\r\n\r\n${body}`);
    this.#socket.setTimeout(CHECK_MS, () => this.#socket.destroy());
  }

  #serve(message: NodeMessage, reply: ServerResponse): void {
    const response = new NodeResponse(message, reply);
    // Behind a request whose upgrade was declined, Node.js loses the bytes that arrived together with its end.
    if (message.headers.upgrade !== undefined) {
      response.isLast = true;
      reply.shouldKeepAlive = false;
    }
    this.#active = { message, reply, response };
    reply.once("close", () => this.#next());
    this.#host.accept(response, new NodeRequest(message));
  }

  #next(): void {
    const isLast = this.#broken || this.#active?.response.isLast === true;
    this.#active = null;
    const next = this.#waiting.shift();
    if (isLast) {
      this.#broken = true;
      this.#socket.destroySoon();
    } else if (next !== undefined) {
      // Removes the time limit of an answer whose end was unread (`#hurryEnd`).
      this.#socket.setTimeout(0);
      this.#serve(...next);
    }
  }

  /**
   * The client has stopped sending: it either waits for its answer or has left. Probes with meaningless bytes: a client that has left
   * makes its system reset the connection, and the next write fails. The bytes are interim responses before the head, and leading zeros of
   * the next chunk's size after it.
   */
  #probe(waitMs = PROBE_MS): void {
    const active = this.#active;
    if (active === null || active.message.httpVersion !== "1.1") return;
    if (!active.reply.headersSent) active.reply.writeContinue();
    else if (active.response.isChunked && !active.response.ended) this.#socket.write("0");
    if (waitMs < PROBE_MS_MAX) setTimeout(() => this.#probe(waitMs * 2), waitMs).unref();
  }
}

class NodeListener implements Listener {
  readonly #server: Server;
  readonly #host: EngineHost;
  readonly #connections = new Map<NetSocket, Connection>();
  readonly #byAddress = new Map<string, number>();
  readonly #perAddressMax: number;
  readonly #sessions = new Set<Http2Session>();
  readonly #connectionEvent: string;
  readonly #upgrade = createUpgrade();

  constructor(server: Server, host: EngineHost, { limits, certificate }: EngineOptions) {
    const { connectionsPerAddress, idleMsMax } = limits;
    this.#server = server;
    this.#connectionEvent = certificate === null ? "connection" : "secureConnection";
    this.#host = host;
    this.#perAddressMax = connectionsPerAddress || Number.POSITIVE_INFINITY;
    Object.assign(server, { httpAllowHalfOpen: true, connectionsCheckingInterval: CHECK_MS, shouldUpgradeCallback });
    server.maxHeadersCount = 0;
    server.on(this.#connectionEvent, (socket: NetSocket) => this.#connected(socket));
    server.on("session", (session: Http2Session) => {
      this.#sessions.add(session);
      // HTTP/2 has no half-closed connections.
      session.socket.once("end", () => session.destroy());
      // Open streams still complete.
      session.setTimeout(idleMsMax, () => session.close());
      session.once("close", () => this.#sessions.delete(session));
    });
    const accept = (message: NodeMessage, reply: NodeReply) => {
      // The HTTP/1.1 parser accepts HTTP/2.0 in a request line, so the version does not distinguish them.
      if ("stream" in reply) host.accept(new NodeResponse(message, reply), new NodeRequest(message));
      else this.#connections.get(message.socket)?.request(message, reply);
    };
    server.on("request", accept);
    // Without a listener, Node.js answers 417 itself, without our headers.
    server.on("checkExpectation", accept);
    server.on("clientError", (error: NodeJS.ErrnoException, socket) =>
      this.#connections.get(socket as NetSocket)?.fault(error.code ?? ""),
    );
    server.on("upgrade", (message, socket, head) => this.#upgraded(message, socket as NetSocket, head));
    server.on("connect", (message: NodeMessage, reply: unknown) => {
      // Over HTTP/2 the second argument is a response, over HTTP/1.1 the socket, or with a body a wrapper of it.
      if ("stream" in message) accept(message, reply as NodeReply);
      else this.#connections.get(message.socket)?.fault("CONNECT");
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  listen(options: EngineOptions): Promise<void> {
    const { host, port, exclusive } = options;
    return new Promise((resolve, reject) => {
      // Also called when accepting a connection fails later, which must not end the process.
      this.#server.on("error", () => reject(cannotListen(options)));
      this.#server.listen({ host, port, exclusive: true, reusePort: !exclusive }, resolve);
    });
  }

  stop(): void {
    // http.Server's own close would also close idle keep-alive connections.
    NetServer.prototype.close.call(this.#server);
    for (const session of this.#sessions) session.close();
  }

  async setCertificate({ cert, key }: Certificate): Promise<void> {
    (this.#server as unknown as Partial<Http2SecureServer>).setSecureContext?.({ cert, key });
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#connections.keys()) socket.destroy();
  }

  #connected(socket: NetSocket): void {
    if (this.#connections.has(socket)) return;
    const address = socket.remoteAddress ?? "";
    if ((this.#byAddress.get(address) ?? 0) >= this.#perAddressMax) return void socket.destroy();
    tally(this.#byAddress, address, 1);
    this.#connections.set(socket, new Connection(this.#host, socket));
    socket.setNoDelay(true);
    socket.once("close", () => {
      this.#connections.delete(socket);
      tally(this.#byAddress, address, -1);
    });
  }

  #upgraded(message: IncomingMessage, socket: NetSocket, head: Buffer): void {
    const connection = this.#connections.get(socket);
    // The parser has released the connection, so nothing can be served on it after the current answer.
    if (connection === undefined || connection.isBusy) return connection?.fault("UPGRADE");
    const endpoint = this.#host.socketPaths.get(new NodeRequest(message).getUrl());
    const { upgrade = "", "sec-websocket-key": key } = message.headers;
    if (endpoint === undefined || key === undefined || upgrade.toLowerCase() !== "websocket")
      return this.#withoutUpgrade(message, socket, head);
    const reply = new ServerResponse(message);
    reply.shouldKeepAlive = false;
    reply.assignSocket(socket);
    reply.once("finish", () => socket.destroySoon());
    const opened = this.#host.openSocket(new NodeResponse(message, reply), new NodeRequest(message), endpoint);
    if (opened === null) return;
    reply.detachSocket(socket);
    this.#upgrade(message, socket, head, opened);
  }

  /** Ignores an upgrade that is not offered (RFC 9110, 7.8): the request goes through the parser again without it. */
  #withoutUpgrade(message: IncomingMessage, socket: NetSocket, head: Buffer): void {
    const { method, url, httpVersion, rawHeaders } = message;
    const lines = [`${method} ${url} HTTP/${httpVersion}`];
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
      const name = rawHeaders[i] ?? "";
      if (name.toLowerCase() !== "upgrade") lines.push(`${name}: ${rawHeaders[i + 1]}`);
    }
    socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
    this.#server.emit(this.#connectionEvent, socket);
  }
}

/** Whether a request may be upgraded. With a body it may not, because releases of Node.js differ in who reads that body. */
function shouldUpgradeCallback({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] === undefined && Number(headers["content-length"] ?? 0) === 0;
}

function plainServer(): Server {
  return createServer({
    insecureHTTPParser: false,
    // Node's own answer would not stop us from serving the connection further.
    requireHostHeader: false,
    maxHeaderSize: HEADER_BYTES_MAX,
    highWaterMark: BUFFERED_BYTES_MAX,
  });
}

/** HTTP/2 and HTTP/1.1 by ALPN. Node.js gives this server the properties of an http.Server for the latter. */
async function secureServer({ cert, key }: Certificate, handshakeTimeout: number): Promise<Server> {
  const { createSecureServer } = await import("node:http2");
  const settings = { maxConcurrentStreams: STREAMS_MAX, maxHeaderListSize: HEADER_BYTES_MAX };
  const options = { cert, key, allowHTTP1: true, allowHalfOpen: true, handshakeTimeout, settings };
  return createSecureServer(options) as unknown as Server;
}

export const nodeEngine: Engine = {
  name: "node",
  isStrict: true,
  keepAliveLine: "",
  async listen(options, host) {
    const { certificate, limits } = options;
    const server = certificate === null ? plainServer() : await secureServer(certificate, limits.headerMsMax);
    // The edge has its own timeout for a whole request.
    server.requestTimeout = 0;
    server.headersTimeout = limits.headerMsMax;
    server.keepAliveTimeout = limits.idleMsMax;
    server.maxRequestsPerSocket = limits.requestsPerConnection;
    const listener = new NodeListener(server, host, options);
    await listener.listen(options);
    return listener;
  },
};
