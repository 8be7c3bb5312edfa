// The sandbox upstream: vendors' wires without vendors. Runs inside the gateway, or alone as `tollgate sandbox`.
// It stands on node:http because faults need the socket itself: resets, bodies cut in the middle, writes of single bytes.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type Clock, systemClock } from "../clock.ts";
import { type ActionMemory, createActionMemory } from "./action-memory.ts";
import { playAction } from "./action-play.ts";
import { actionSceneOf, isActionArrival } from "./action-scene.ts";
import type { Vendors } from "./action-vendors.ts";
import { type Account, type Books, type BooksReport, createBooks } from "./books.ts";
import { guide } from "./guide.ts";
import { createLine, type Line } from "./line.ts";
import { playPage, playStream, playWhole } from "./play.ts";
import { refusalStatus } from "./refusals.ts";
import { type Arrival, type Scene, sceneOf } from "./scene.ts";
import { createStrikes, type Strikes } from "./strikes.ts";

export interface SandboxOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Must run: answers are paced by it. */
  readonly clock?: Clock;
  /** The vendors whose actions it stands in for, looked up anew for each request. */
  readonly adapters?: () => Vendors;
}

export interface Sandbox {
  /** Without a slash at the end; an adapter's vendor is at `<url>/<adapter id>`. */
  readonly url: string;
  readonly port: number;
  /** Breaks what is running and frees the port. */
  close(): Promise<void>;
  /** What it has served, by its own count. */
  books(): BooksReport;
}

interface Deps {
  readonly clock: Clock;
  readonly books: Books;
  readonly strikes: Strikes;
  readonly vendors: () => Vendors;
  readonly memory: ActionMemory;
}

const BODY_BYTES_MAX = 64 * 1024 * 1024;

function openAccount(books: Books, scene: Scene, requestId: string): Account {
  const usage = scene.act.kind === "answer" ? scene.act.answer.usage : null;
  return books.open({
    requestId: requestId || null,
    adapter: scene.adapter,
    model: scene.ask?.model ?? "",
    action: null,
    step: null,
    stream: scene.ask?.stream ?? false,
    status: 200,
    tokensIn: usage?.promptTokens ?? 0,
    cachedTokensIn: usage?.cachedTokens ?? 0,
  });
}

async function perform(scene: Scene, line: Line, account: Account, clock: Clock): Promise<void> {
  const { act, conduct, wire } = scene;
  const stage = { line, conduct, wire, account, clock };
  if (act.kind === "silent") return;
  if (act.kind === "reset") {
    account.end("cut", 0);
    return line.reset();
  }
  if (act.kind === "refuse") {
    const { refusal } = act;
    const retryAfter = refusal.retryAfterS === undefined ? {} : { "retry-after": String(refusal.retryAfterS) };
    account.end("refused", refusalStatus(refusal));
    const headers = { "content-type": "application/json", ...retryAfter };
    return line.send(refusalStatus(refusal), headers, JSON.stringify(wire.error(refusal)));
  }
  await line.sleep(conduct.headersAfterMs);
  if (conduct.content === "page") return playPage(stage);
  if (act.reading.ask.stream) return playStream(stage, act.reading.events(act.answer, conduct));
  return playWhole(stage, act.reading.whole(act.answer, conduct), act.answer.usage.outputTokens);
}

/** The sandbox's own pages: what it can do, and its books. */
function ownPage(request: IncomingMessage, response: ServerResponse, { books, strikes, memory }: Deps): boolean {
  const page = `${request.method} ${request.url}`;
  if (page === "GET /") response.setHeader("content-type", "text/plain; charset=utf-8").end(guide());
  else if (page === "GET /_sandbox/books") {
    response.setHeader("content-type", "application/json").end(JSON.stringify(books.report()));
  } else if (page === "POST /_sandbox/reset") {
    books.reset();
    strikes.reset();
    memory.reset();
    response.writeHead(204).end();
  } else return false;
  return true;
}

/** The whole body; null where it is larger than the sandbox takes. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= BODY_BYTES_MAX) chunks.push(chunk);
  }
  return bytes <= BODY_BYTES_MAX ? Buffer.concat(chunks) : null;
}

/** This server by another name: where a redirect to another host leads to, and would be counted. */
function elsewhereOf({ host = "" }: IncomingMessage["headers"], adapter: string): string {
  const [name, port] = host.split(/:(\d+)$/);
  const other = name === "localhost" ? "127.0.0.1" : "localhost";
  return `http://${other}:${port ?? 80}/${adapter}/elsewhere`;
}

async function serveAction(arrival: Arrival, request: IncomingMessage, response: ServerResponse, deps: Deps) {
  const scene = actionSceneOf(arrival, deps.vendors(), deps.memory);
  const { adapter, action, at } = scene;
  const account = deps.books.open({
    requestId: String(request.headers["x-request-id"] ?? "") || null,
    adapter,
    model: `${adapter}/${action}`,
    action,
    step: at,
    stream: false,
    status: scene.words.status,
    tokensIn: 0,
    cachedTokensIn: 0,
  });
  const onClose = (whole: boolean) => account.end(whole ? "whole" : "aborted");
  const line = createLine(request, response, { pieceBytes: 0, onClose });
  const elsewhere = elsewhereOf(request.headers, adapter);
  await playAction(scene, { line, account, elsewhere, address: request.url ?? "/" });
}

async function serve(request: IncomingMessage, response: ServerResponse, deps: Deps): Promise<void> {
  if (ownPage(request, response, deps)) return;
  const url = URL.parse(request.url ?? "/", "http://sandbox") ?? new URL("http://sandbox/");
  const body = await bodyOf(request);
  const arrival = { method: request.method ?? "", target: { url, headers: request.headers }, body };
  if (isActionArrival(arrival)) return serveAction(arrival, request, response, deps);
  const scene = sceneOf(arrival, deps.strikes);
  const account = openAccount(deps.books, scene, String(request.headers["x-request-id"] ?? ""));
  const line = createLine(request, response, {
    pieceBytes: scene.conduct.pieceBytes,
    onClose: (whole) => account.end(whole ? "whole" : "aborted"),
  });
  await perform(scene, line, account, deps.clock);
}

/**
 * Starts the sandbox upstream. `POST <url>/<adapter id>/<vendor path>` speaks the wire that the path's end names, or, with
 * the gateway's header that names an action, that action's;
 * `GET /` lists what it can do, `GET /_sandbox/books` what it has served.
 * Throws where the port is taken.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const clock = options.clock ?? systemClock;
  const books = createBooks(clock);
  const vendors = options.adapters ?? (() => new Map());
  const deps: Deps = { clock, books, strikes: createStrikes(clock), vendors, memory: createActionMemory() };
  const server = createServer({ keepAliveTimeout: 75_000, requestTimeout: 0, maxHeaderSize: 64 * 1024 });
  server.on("request", (request, response) => {
    // What fails here is a client that left while sending: its socket is all there is to clean up.
    serve(request, response, deps).catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: options.host, port: options.port, exclusive: true }, () => resolve());
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : options.port;
  const host = options.host.includes(":") ? `[${options.host}]` : options.host;
  return {
    url: `http://${host}:${port}`,
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
    books: () => books.report(),
  };
}
