// A client on a raw socket, so that tests see the bytes on the wire and how the connection ended.
import { connect, type Socket } from "node:net";

export interface RawAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  /** The sizes of the transfer coding's chunks, in bytes; empty where a header gave the length. */
  readonly chunkSizes: readonly number[];
  /** The body ended as HTTP prescribes. */
  readonly whole: boolean;
  /** The connection was reset; false where it was closed. */
  readonly reset: boolean;
  readonly headMs: number;
  /** From the head to the last bytes that carry a token. */
  readonly contentMs: number;
  readonly totalMs: number;
}

export interface RawRequest {
  readonly url: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
}

function dechunked(bytes: Buffer): { body: string; sizes: number[]; whole: boolean } {
  const parts: Buffer[] = [];
  const sizes: number[] = [];
  let at = 0;
  for (;;) {
    const lineEnd = bytes.indexOf("\r\n", at);
    const size = lineEnd < 0 ? Number.NaN : Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    if (Number.isNaN(size)) return { body: Buffer.concat(parts).toString(), sizes, whole: false };
    if (size === 0) return { body: Buffer.concat(parts).toString(), sizes, whole: true };
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    sizes.push(size);
    at = lineEnd + 2 + size + 2;
  }
}

function parse(bytes: Buffer): Omit<RawAnswer, "reset" | "headMs" | "contentMs" | "totalMs"> {
  const headEnd = bytes.indexOf("\r\n\r\n");
  const lines = bytes.toString("latin1", 0, Math.max(0, headEnd)).split("\r\n");
  const headers = new Map(
    lines.slice(1).map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  const status = Number(lines[0]?.split(" ")[1] ?? 0);
  const rest = headEnd < 0 ? Buffer.alloc(0) : bytes.subarray(headEnd + 4);
  if (headers.get("transfer-encoding") === "chunked") {
    const { body, sizes, whole } = dechunked(rest);
    return { status, headers, body, chunkSizes: sizes, whole };
  }
  const whole = headers.has("content-length") && rest.length === Number(headers.get("content-length"));
  return { status, headers, body: rest.toString(), chunkSizes: [], whole };
}

/** Opens a connection and sends a request with `connection: close`. */
export function send(request: RawRequest): Socket {
  const { hostname, port, pathname, search } = new URL(request.url);
  const socket = connect(Number(port), hostname);
  const headers = { host: "sandbox", connection: "close", ...request.headers };
  const lines = Object.entries({ ...headers, "content-length": Buffer.byteLength(request.body) });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.write(`${request.method ?? "POST"} ${pathname}${search} HTTP/1.1\r\n${head}\r\n${request.body}`);
  return socket;
}

/** Sends a request and waits until the connection has ended in any way. */
export function rawCall(request: RawRequest): Promise<RawAnswer> {
  const startedMs = performance.now();
  const socket = send(request);
  const chunks: Buffer[] = [];
  let headMs = 0;
  let lastMs = 0;
  let reset = false;
  return new Promise((resolve) => {
    socket.on("data", (chunk) => {
      if (chunks.length === 0) headMs = performance.now() - startedMs;
      else if (chunk.includes("content")) lastMs = performance.now() - startedMs;
      chunks.push(chunk);
    });
    socket.on("error", (error: NodeJS.ErrnoException) => {
      reset = error.code === "ECONNRESET";
    });
    socket.on("close", () => {
      const totalMs = performance.now() - startedMs;
      resolve({ ...parse(Buffer.concat(chunks)), reset, headMs, contentMs: Math.max(0, lastMs - headMs), totalMs });
    });
  });
}

/** The data of each event, its lines joined as the standard says; without comments and names. */
export function eventData(body: string): string[] {
  return body
    .split(/\r?\n\r?\n/)
    .map((block) =>
      block
        .split(/\r?\n/)
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice(5).replace(/^ /, ""))
        .join("\n"),
    )
    .filter((data) => data !== "");
}

/** Waits until `holds` is true; fails after twenty seconds, which is long on a busy machine too. */
export async function until(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error("it did not happen within twenty seconds");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
