// The server side of a web socket, for vendors that use one.
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";

const MESSAGE_BYTES_MAX = 4 * 1024 * 1024;
const NORMAL_CLOSE = 1000;

/** Opens a web socket for a session: `open` gets its vendor's end. */
export function holdSession(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  open: (ws: WebSocket) => { message(text: string): void; closed(): void },
): void {
  const server = new WebSocketServer({ noServer: true, maxPayload: MESSAGE_BYTES_MAX, perMessageDeflate: false });
  server.handleUpgrade(request, socket, head, (ws) => {
    const session = open(ws);
    ws.on("error", () => {});
    ws.on("message", (data) => session.message(String(data)));
    ws.on("close", () => session.closed());
  });
}

/** `answerTo` gets all binary messages so far, at each one. Its result is sent, and the socket closed; undefined: it stays open. */
export function converse(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  answerTo: (received: readonly Uint8Array[]) => readonly (string | Uint8Array)[] | undefined,
): void {
  const server = new WebSocketServer({ noServer: true, maxPayload: MESSAGE_BYTES_MAX, perMessageDeflate: false });
  server.handleUpgrade(request, socket, head, (open) => {
    const received: Buffer[] = [];
    open.on("error", () => {});
    open.on("message", (data, isBinary) => {
      if (!isBinary || !(data instanceof Buffer)) return;
      received.push(data);
      const answer = answerTo(received);
      if (answer === undefined) return;
      open.removeAllListeners("message");
      for (const one of answer) open.send(one);
      open.close(NORMAL_CLOSE);
    });
  });
}
