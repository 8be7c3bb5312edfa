// Runs in its own process: one HTTP client under the load that src/upstream puts on it, with its CPU.
import { readFileSync } from "node:fs";
import { Agent as NodeAgent, request as nodeRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { Agent, buildConnector, Client, type Dispatcher, Pool } from "undici";

/** This process's job and result. */
export interface ClientJob {
  readonly kind: "unary" | "streams";
  /** Concurrent calls or streams. */
  readonly atOnce: number;
  /** Calls in all, or chunks per stream at 100 a second. A fixed amount of work, because code that runs less is less optimized. */
  readonly units: number;
  /** Unanswered calls that stay open meanwhile. */
  readonly open: number;
}

export interface ClientWork {
  readonly units: number;
  readonly cpuUs: number;
}

interface Sent {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

interface Listener {
  data(bytes: Buffer): void;
  end(): void;
}

type Send = (sent: Sent, listener: Listener) => void;

/** The parent sees our exit. */
function fail(error: Error): never {
  console.error(error);
  process.exit(1);
}

/** As in src/upstream/exchange.ts: one handler object per call. */
class Handler implements Dispatcher.DispatchHandler {
  readonly #listener: Listener;
  constructor(listener: Listener) {
    this.#listener = listener;
  }
  onRequestStart(): void {}
  onResponseStart(): void {}
  onResponseData(_: Dispatcher.DispatchController, bytes: Buffer): void {
    this.#listener.data(bytes);
  }
  onResponseEnd(): void {
    this.#listener.end();
  }
  onResponseError(_: Dispatcher.DispatchController | null, error: Error): void {
    fail(error);
  }
}

const TIMEOUTS = { headersTimeout: 0, bodyTimeout: 0 } as const;
const nothing = () => {};

/** undici over TLS, as in src/upstream/connections.ts. */
function overTls(origin: string, allowH2: boolean, authorityFile: string): Send {
  const connect = buildConnector({ allowH2, preferH2: true, ca: readFileSync(authorityFile) });
  return dispatching(new Agent({ pipelining: 1, keepAliveTimeout: 30_000, allowH2, connect }), origin);
}

function dispatching(dispatcher: Dispatcher, origin: string): Send {
  return (sent, listener) => {
    dispatcher.dispatch({ method: "POST", origin, ...sent, ...TIMEOUTS }, new Handler(listener));
  };
}

/** undici's `Client` is one connection; a stack holds the idle ones, so that busy ones are not searched. */
function clientStack(origin: string): Send {
  const ready: Client[] = [];
  const opened = () => {
    const client = new Client(origin, { pipelining: 1, keepAliveTimeout: 30_000 });
    client.on("drain", () => ready.push(client));
    return client;
  };
  return (sent, listener) => {
    const client = ready.pop() ?? opened();
    if (client.dispatch({ method: "POST", ...sent, ...TIMEOUTS }, new Handler(listener))) ready.push(client);
  };
}

function nodeHttp(origin: string): Send {
  const { port } = new URL(origin);
  const agent = new NodeAgent({ keepAlive: true, scheduling: "lifo" });
  return ({ path, headers, body }, listener) => {
    const options = { agent, host: "127.0.0.1", port, method: "POST", path };
    const request = nodeRequest({ ...options, headers: { ...headers, "content-length": body.length } }, (response) => {
      response.on("data", (bytes: Buffer) => listener.data(bytes));
      response.on("end", () => listener.end());
    });
    request.on("error", fail);
    request.end(body);
  };
}

/** Not a real client but a floor: one write, and an end known by byte count. The best that a client on `node:net` could do. */
function bareSockets(origin: string): Send {
  const { port, host } = new URL(origin);
  const idle: Socket[] = [];
  return ({ path, headers, body }, listener) => {
    const socket = idle.pop() ?? connect(Number(port), "127.0.0.1").on("error", fail).setNoDelay();
    let head = `POST ${path} HTTP/1.1\r\nhost: ${host}\r\ncontent-length: ${body.length}\r\n`;
    for (const name in headers) head += `${name}: ${headers[name]}\r\n`;
    socket.write(`${head}\r\n${body.toString("latin1")}`, "latin1");
    socket.on("data", function onData(bytes: Buffer) {
      listener.data(bytes);
      const last = bytes[bytes.length - 1];
      const isEnd = last === 125 || (last === 10 && bytes.toString("latin1", bytes.length - 5) === "0\r\n\r\n");
      if (!isEnd) return;
      socket.off("data", onData);
      idle.push(socket);
      listener.end();
    });
  };
}

export const HTTP_CLIENTS: Readonly<Record<string, (origin: string, authorityFile: string) => Send>> = {
  "undici Agent": (origin) => dispatching(new Agent({ pipelining: 1, keepAliveTimeout: 30_000 }), origin),
  "undici Pool": (origin) => dispatching(new Pool(origin, { pipelining: 1, keepAliveTimeout: 30_000 }), origin),
  "undici Client": clientStack,
  "node:http": nodeHttp,
  "bare sockets": bareSockets,
};

/** The first one is what the gateway uses for vendors. */
export const TLS_CLIENTS: typeof HTTP_CLIENTS = {
  "undici Agent, TLS": (origin, authorityFile) => overTls(origin, false, authorityFile),
  "undici Agent, HTTP/2": (origin, authorityFile) => overTls(origin, true, authorityFile),
};

let calls = 0;

function sentFor(path: string, content: string, stream: boolean): Sent {
  calls += 1;
  const messages = [{ role: "user", content: `${content} ${"a word and ".repeat(90)}` }];
  return {
    path,
    headers: {
      "content-type": "application/json",
      "x-request-id": `req_${calls}`,
      authorization: "Bearer sk-bench-0123456789abcdefghijklmnopqrstuvwxyz",
    },
    body: Buffer.from(
      JSON.stringify({ model: "gpt-5.4-mini", max_tokens: 256, messages, ...(stream ? { stream } : {}) }),
    ),
  };
}

let read = 0;

/** Sends the next call after each answer. */
function answers(send: Send, job: ClientJob): Promise<number> {
  return new Promise((resolve) => {
    let left = job.units;
    let whole = 0;
    const next = () => {
      if (left === 0) return;
      left -= 1;
      send(sentFor("/small", "", false), {
        data: (bytes) => {
          read += bytes.length;
        },
        end: () => {
          whole += 1;
          if (whole === job.units) resolve(whole);
          else next();
        },
      });
    };
    for (let at = 0; at < job.atOnce; at++) next();
  });
}

/** Reads every stream to its end, 100 chunks a second. */
function streams(send: Send, job: ClientJob): Promise<number> {
  return new Promise((resolve) => {
    let running = job.atOnce;
    for (let at = 0; at < job.atOnce; at++) {
      send(sentFor("/v1/chat/completions", `bench:${job.units}:100`, true), {
        data: (bytes) => {
          read += bytes.length;
        },
        end: () => {
          running -= 1;
          if (running === 0) resolve(job.atOnce * job.units);
        },
      });
    }
  });
}

/** Calls whose answers come long after the measurement: their connections stay busy. */
async function leaveOpen(send: Send, count: number): Promise<void> {
  for (let at = 0; at < count; at++) {
    send(sentFor("/silent", "", false), { data: nothing, end: nothing });
    if (at % 50 === 49) await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await new Promise((resolve) => setTimeout(resolve, 200));
}

const [name = "", origin = "", authorityFile = ""] = process.argv.slice(2);
const start = HTTP_CLIENTS[name] ?? TLS_CLIENTS[name];
if (start !== undefined && process.send !== undefined) {
  const send = start(origin, authorityFile);
  let open = 0;
  process.on("message", async (job: ClientJob) => {
    await leaveOpen(send, job.open - open);
    open = Math.max(open, job.open);
    const before = process.cpuUsage();
    const units = await (job.kind === "unary" ? answers(send, job) : streams(send, job));
    const { user, system } = process.cpuUsage(before);
    process.send?.({ units, cpuUs: user + system });
  });
  process.on("disconnect", () => process.exit(read === 0 ? 1 : 0));
  process.send({ port: 0 });
}
