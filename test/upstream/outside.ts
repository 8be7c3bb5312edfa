// Replaces the internet in tests of fetched addresses: a server that counts as public, and beside it, on the same port, an internal one.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { GatewayError } from "../../src/core/errors.ts";
import {
  createPublicFetch,
  type OpenOptions,
  type PublicAnswer,
  type PublicFetch,
  type PublicFetchOptions,
} from "../../src/upstream/public-fetch.ts";

/** Counts as public in these tests. */
const OUTER = "127.0.0.2";
const INNER = ["127.0.0.1", "::1"];

/** Scripts the server's answer to a request; `path` is the requested path. */
export type Play = (socket: Socket, path: string, head: string) => void;

export interface Outside {
  readonly port: number;
  readonly fetch: PublicFetch;
  /** The URL of a name that resolves to the outer server. */
  url(path: string, name?: string): string;
  play: Play;
  /** Heads of the requests that the outer server has received. */
  readonly heads: string[];
  /** The number of connections at the inner server. */
  innerConnections(): number;
  /** The number of connection attempts of this process, to any address. */
  dialled(): number;
  /** Settles when the connection of the newest request is closed. */
  lastClosed(): Promise<unknown>;
  names: Record<string, readonly string[] | (() => readonly string[])>;
  open(url: string, options?: Partial<OpenOptions>): Promise<PublicAnswer | GatewayError>;
  close(): Promise<void>;
}

export const BYTES_MAX = 1_000_000;

export function head(status: number, headers: Readonly<Record<string, string>> = {}): string {
  const lines = Object.entries({ connection: "close", ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Said\r\n${lines.join("")}\r\n`;
}

/** A whole answer. */
export function say(socket: Socket, headers: Readonly<Record<string, string>>, body: string | Buffer = ""): void {
  socket.write(head(200, { "content-length": String(Buffer.byteLength(body)), ...headers }));
  socket.end(body);
}

export function redirect(socket: Socket, location: string, status = 302): void {
  socket.end(head(status, { location, "content-length": "0" }), "utf8");
}

async function listening(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host);
  await once(server, "listening");
}

const TRIES_MAX = 20;

/** Makes all listen on one port: a port that is free at one address may be taken at another. */
async function listenTogether(outer: Server, inners: readonly Server[]): Promise<number> {
  for (let tries = 1; ; tries++) {
    await listening(outer, OUTER, 0);
    const { port } = outer.address() as AddressInfo;
    const results = await Promise.allSettled(inners.map((inner, at) => listening(inner, INNER[at] ?? "", port)));
    const failed = results.find((result) => result.status === "rejected");
    if (failed === undefined) return port;
    if (tries === TRIES_MAX) throw failed.reason;
    await Promise.all([outer, ...inners].filter(({ listening }) => listening).map(closed));
  }
}

async function closed(server: Server): Promise<void> {
  server.close();
  await once(server, "close");
}

/** An outer server, and inner ones on the same port, so that no rule about ports can be what separates them. */
export async function startOutside(options: PublicFetchOptions = {}): Promise<Outside> {
  let inner = 0;
  let dialled = 0;
  let newest: Socket | null = null;
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  };
  const outer = createServer((socket) => {
    keep(socket);
    let text = "";
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
      if (!text.includes("\r\n\r\n")) return;
      newest = socket;
      outside.heads.push(text);
      outside.play(socket, text.split(" ")[1] ?? "", text);
      text = "";
    });
  });
  const inners = INNER.map(() =>
    createServer((socket) => {
      keep(socket);
      inner += 1;
      socket.end(head(200));
    }),
  );
  const port = await listenTogether(outer, inners);
  const count = () => {
    dialled += 1;
  };
  subscribe("net.client.socket", count);

  const fetch = createPublicFetch({
    allowForTests: [`${OUTER}:${port}`],
    resolve: async (name) => {
      const found = outside.names[name] ?? [];
      return typeof found === "function" ? found() : found;
    },
    ...options,
  });
  const outside: Outside = {
    port,
    fetch,
    url: (path, name = "files.example") => `http://${name}:${port}${path}`,
    play: (socket) => say(socket, {}, "hello"),
    heads: [],
    innerConnections: () => inner,
    dialled: () => dialled,
    lastClosed: async () => {
      // A reset connection reports the reset before it closes; both mean that the client left.
      await new Promise<void>((done) => (newest?.closed === false ? newest.once("close", () => done()) : done()));
    },
    names: { "files.example": [OUTER] },
    open: (url, limits) => fetch.open(url, { bytesMax: BYTES_MAX, msMax: 5_000, ...limits }),
    async close() {
      unsubscribe("net.client.socket", count);
      fetch.close();
      for (const socket of sockets) socket.destroy();
      await Promise.all([outer, ...inners].map((server) => new Promise((done) => server.close(done))));
    },
  };
  return outside;
}

/** The answer, or a thrown error where there is none. */
export function answered(result: PublicAnswer | GatewayError): PublicAnswer {
  if (result instanceof GatewayError) throw result;
  return result;
}

/** The caller's final result: the whole body, or the error before or during it. */
export async function outcome(result: PublicAnswer | GatewayError): Promise<Buffer | GatewayError> {
  if (result instanceof GatewayError) return result;
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of result.body) pieces.push(piece);
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  return Buffer.concat(pieces);
}

/** Status, code and message of an error. */
export function told(result: unknown) {
  if (!(result instanceof GatewayError)) throw new Error(`no error but ${String(result).slice(0, 80)}`);
  return { status: result.status, code: result.code, message: result.message };
}
