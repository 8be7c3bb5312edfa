// WebSockets of the node engine, by the package `ws`.
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { type EdgeSocket, type EngineSocket, MESSAGE_BYTES_MAX, SESSION_MESSAGE_BYTES_MAX } from "./engine.ts";
import { SOCKET_SILENT_SECONDS_MAX } from "./socket.ts";

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

export type Upgrade = (message: IncomingMessage, connection: Duplex, head: Buffer, socket: EdgeSocket) => void;

export function createUpgrade(): Upgrade {
  const servers = new Map(
    [MESSAGE_BYTES_MAX, SESSION_MESSAGE_BYTES_MAX].map((maxPayload) => {
      return [maxPayload, new WebSocketServer({ noServer: true, maxPayload, perMessageDeflate: false })];
    }),
  );
  return (message, connection, head, socket) => {
    let opened = false;
    // `ws` selects the first offered subprotocol.
    const { "sec-websocket-protocol": offered } = message.headers;
    if (offered !== undefined) message.headers["sec-websocket-protocol"] = socket.protocolOf(offered) || undefined;
    servers.get(socket.messageBytesMax)?.handleUpgrade(message, connection, head, (ws) => {
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
