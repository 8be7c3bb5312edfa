// WebSockets of the node engine, by the package `ws`.
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { EngineSocket } from "./engine.ts";
import { MESSAGE_BYTES_MAX, SOCKET_SILENT_SECONDS_MAX, type Socket } from "./socket.ts";

const PING_MS = (SOCKET_SILENT_SECONDS_MAX * 1_000) / 2;

class NodeSocket implements EngineSocket {
  readonly #ws: WebSocket;
  readonly #connection: Duplex;

  constructor(ws: WebSocket, connection: Duplex) {
    this.#ws = ws;
    this.#connection = connection;
  }

  cork(write: () => void): void {
    this.#connection.cork();
    write();
    this.#connection.uncork();
  }

  send(message: Uint8Array | string): void {
    this.#ws.send(message, { binary: false });
  }

  getBufferedAmount(): number {
    return this.#ws.bufferedAmount;
  }

  end(code: number, reason: string): void {
    this.#ws.close(code, reason);
  }

  close(): void {
    this.#ws.terminate();
  }
}

/** Closes a connection whose client does not answer pings. */
function watchPongs(ws: WebSocket): void {
  let alive = true;
  ws.on("pong", () => {
    alive = true;
  });
  const timer = setInterval(() => {
    if (!alive) return ws.terminate();
    alive = false;
    ws.ping();
  }, PING_MS).unref();
  ws.once("close", () => clearInterval(timer));
}

export type Upgrade = (message: IncomingMessage, connection: Duplex, head: Buffer, socket: Socket) => void;

export function createUpgrade(): Upgrade {
  const server = new WebSocketServer({ noServer: true, maxPayload: MESSAGE_BYTES_MAX, perMessageDeflate: false });
  return (message, connection, head, socket) => {
    let opened = false;
    server.handleUpgrade(message, connection, head, (ws) => {
      opened = true;
      watchPongs(ws);
      ws.on("error", () => {});
      ws.on("message", (data, isBinary) => {
        if (data instanceof Buffer) socket.message(data, isBinary);
      });
      connection.on("drain", () => socket.drained());
      ws.once("close", () => socket.gone());
      socket.opened(new NodeSocket(ws, connection));
    });
    // `ws` has answered an invalid handshake.
    if (!opened) socket.gone();
  };
}
