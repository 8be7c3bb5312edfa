// One request's connection: writes with backpressure, sleeps until the client leaves, and ends abruptly on demand (FIN, reset).
import type { IncomingMessage, ServerResponse } from "node:http";
import { setImmediate } from "node:timers/promises";

export interface Connection {
  /** The client has left, or the answer has ended. */
  readonly closed: boolean;
  /** Sends the head of a streamed answer at once. */
  head(status: number, headers: Readonly<Record<string, string>>): void;
  send(status: number, headers: Readonly<Record<string, string>>, body: string | Buffer): Promise<void>;
  /** Resolves when the kernel has the bytes, or the client has left. */
  write(bytes: string | Buffer): Promise<void>;
  end(): void;
  /** Resolves after `ms`, or as soon as the connection closes. */
  sleep(ms: number): Promise<void>;
  /** Breaks the connection: with a FIN within the body, or with a TCP reset. */
  destroy(): void;
  reset(): void;
}

/** The most pieces to queue before waiting for the kernel and giving other requests a turn. Each takes far more memory than its bytes. */
const PIECES_MAX = 4_096;

function* groupsOf(whole: Buffer, pieceBytes: number): Generator<readonly Buffer[]> {
  for (let from = 0; from < whole.length; from += PIECES_MAX * pieceBytes) {
    const part = whole.subarray(from, from + PIECES_MAX * pieceBytes);
    const count = Math.ceil(part.length / pieceBytes);
    yield Array.from({ length: count }, (_, at) => part.subarray(at * pieceBytes, (at + 1) * pieceBytes));
  }
}

/** If `pieceBytes` is above zero, every write is split into pieces of that size, each sent as a separate chunk. */
export function createConnection(
  request: IncomingMessage,
  response: ServerResponse,
  { pieceBytes, onClose }: { readonly pieceBytes: number; readonly onClose: (whole: boolean) => void },
): Connection {
  let closed = false;
  const wakers = new Set<() => void>();
  response.on("close", () => {
    closed = true;
    onClose(response.writableFinished);
    for (const wake of wakers) wake();
    wakers.clear();
  });
  // A write after the client has left fails here; the close event reports that already.
  response.on("error", () => {});

  const writeChunks = (chunks: readonly (string | Buffer)[]) =>
    new Promise<void>((resolve) => {
      if (closed) return resolve();
      wakers.add(resolve);
      // A failed write may be reported long before the close event.
      const written = (error?: Error | null) => {
        closed ||= error instanceof Error;
        wakers.delete(resolve);
        resolve();
      };
      // Otherwise newer releases of Node.js merge all that is written in a turn into one chunk.
      if (pieceBytes > 0) response.socket?.cork();
      for (const [at, chunk] of chunks.entries()) response.write(chunk, at === chunks.length - 1 ? written : undefined);
      if (pieceBytes > 0) response.socket?.uncork();
    });

  const write = async (bytes: string | Buffer) => {
    if (pieceBytes === 0) return writeChunks([bytes]);
    for (const group of groupsOf(Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes), pieceBytes)) {
      if (closed) return;
      await Promise.all([writeChunks(group), setImmediate()]);
    }
  };

  return {
    get closed() {
      return closed;
    },
    head(status, headers) {
      if (closed) return;
      response.writeHead(status, headers);
      response.flushHeaders();
    },
    async send(status, headers, body) {
      if (closed) return;
      if (pieceBytes === 0) {
        response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) });
        response.end(body);
        return;
      }
      response.writeHead(status, headers);
      await write(body);
      response.end();
    },
    write,
    end() {
      if (!closed) response.end();
    },
    sleep: (ms) =>
      new Promise<void>((resolve) => {
        if (closed || ms <= 0) return resolve();
        const wake = () => {
          clearTimeout(timer);
          wakers.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, Math.ceil(ms));
        wakers.add(wake);
      }),
    destroy: () => request.socket.destroy(),
    reset: () => request.socket.resetAndDestroy(),
  };
}
