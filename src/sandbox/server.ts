// The sandbox upstream: speaks vendors' dialects without vendors. Runs inside the gateway, or alone as `tollgate sandbox`.
// Uses node:http because faults need the raw socket: resets, truncated bodies, single-byte writes.
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import { type Clock, systemClock } from "../core/clock.ts";
import { createServer, ServerResponse } from "../core/node-http.ts";
import { ActionMemory } from "./action-memory.ts";
import { addressOf } from "./action-request.ts";
import { type ActionScenario, actionScenarioOf, brokenStandIn, isActionArrival } from "./action-scenario.ts";
import type { Vendors } from "./action-vendors.ts";
import { BatchRoom, isBatchArrival } from "./batches.ts";
import { CallLog, type CallLogReport, type LoggedCall } from "./call-log.ts";
import { type Connection, createConnection } from "./connection.ts";
import type { Dialect, SocketStandIn } from "./dialect.ts";
import { guide } from "./guide.ts";
import { createMachineRoom, isSessionArrival, sessionScenarioOf } from "./machines.ts";
import { refusalStatus } from "./refusals.ts";
import { type Arrival, type Scenario, scenarioOf } from "./scenario.ts";
import { ScriptedFaults } from "./scripted-faults.ts";
import { StandIns } from "./stand-ins.ts";
import { writeActionAnswer } from "./write-action-answer.ts";
import { writeBytes, writePage, writeStream, writeWhole } from "./write-answer.ts";

export interface SandboxOptions {
  /** The formats of chat vendors. */
  readonly dialects: readonly Dialect[];
  /** Vendors whose sessions run over a WebSocket; absent: none. */
  readonly sockets?: readonly SocketStandIn[];
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Must advance, because it paces answers. */
  readonly clock?: Clock;
  /** The vendors it stands in for; called again for each request. */
  readonly adapters?: () => Vendors;
}

export interface Sandbox {
  /** Without a trailing slash; an adapter's vendor is at `<url>/<adapter id>`. */
  readonly url: string;
  readonly port: number;
  /** Aborts running requests, and frees the port. */
  close(): Promise<void>;
  books(): CallLogReport;
}

const BODY_BYTES_MAX = 64 * 1024 * 1024;
const MESSAGE_BYTES_MAX = 4 * 1024 * 1024;
const NORMAL_CLOSE = 1000;

function openDeps({
  dialects,
  sockets = [],
  clock = systemClock,
  adapters: vendors = () => new Map(),
}: SandboxOptions) {
  const callLog = new CallLog(clock);
  const scriptedFaults = new ScriptedFaults(clock);
  const nowMs = () => clock.epochMs();
  const scenario = (arrival: Arrival) => scenarioOf(arrival, { dialects, scriptedFaults, vendors: vendors() });
  const batches = new BatchRoom({ callLog, nowMs, scenario });
  const memory = new ActionMemory(nowMs);
  const [machines, standIns] = [createMachineRoom(), new StandIns()];
  return { sockets, clock, callLog, scriptedFaults, vendors, scenario, batches, memory, machines, standIns };
}

type Deps = ReturnType<typeof openDeps>;

function openLoggedCall(callLog: CallLog, { act, adapter, ask }: Scenario, requestId: string): LoggedCall {
  const { promptTokens = 0, cachedTokens = 0 } = act.kind === "answer" ? act.answer.usage : {};
  return callLog.open({
    requestId: requestId || null,
    adapter,
    model: ask?.model ?? "",
    stream: ask?.stream ?? false,
    tokensIn: promptTokens,
    cachedTokensIn: cachedTokens,
  });
}

async function perform(
  scenario: Scenario,
  connection: Connection,
  loggedCall: LoggedCall,
  clock: Clock,
): Promise<void> {
  const { act, conduct, dialect } = scenario;
  const frame = act.kind === "answer" ? act.reading.frame : undefined;
  const context = { connection, conduct, dialect, loggedCall, clock, ...(frame === undefined ? null : { frame }) };
  if (act.kind === "silent") return;
  if (act.kind === "reset") {
    loggedCall.end("cut", 0);
    return connection.reset();
  }
  if (act.kind === "refuse") {
    const { refusal } = act;
    const retryAfter = refusal.retryAfterS === undefined ? {} : { "retry-after": String(refusal.retryAfterS) };
    loggedCall.end("refused", refusalStatus(refusal));
    const headers = { "content-type": "application/json", ...retryAfter };
    return connection.send(refusalStatus(refusal), headers, JSON.stringify(dialect.error(refusal)));
  }
  await connection.sleep(conduct.headersAfterMs);
  if (conduct.content === "page") return writePage(context);
  if (act.reading.bytes !== undefined && !act.reading.ask.stream) return writeBytes(context, act.reading.bytes);
  if (act.reading.ask.stream) return writeStream(context, act.reading.events(act.answer, conduct));
  return writeWhole(context, act.reading.whole(act.answer, conduct), act.answer.usage.outputTokens);
}

function ownPage(
  request: IncomingMessage,
  response: ServerResponse,
  { callLog, scriptedFaults, memory, machines, batches }: Deps,
): boolean {
  const page = `${request.method} ${request.url}`;
  if (page === "GET /") response.setHeader("content-type", "text/plain; charset=utf-8").end(guide());
  else if (page === "GET /_sandbox/books") {
    response.setHeader("content-type", "application/json").end(JSON.stringify(callLog.report()));
  } else if (page === "POST /_sandbox/reset") {
    for (const one of [callLog, scriptedFaults, memory, machines, batches]) one.reset();
    response.writeHead(204).end();
  } else return false;
  return true;
}

/** Reads the whole body; null if it is larger than the sandbox accepts. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= BODY_BYTES_MAX) chunks.push(chunk);
  }
  return bytes <= BODY_BYTES_MAX ? Buffer.concat(chunks) : null;
}

/** This server under another host name: the target of redirects to another host, so that following one would show up in the log. */
function elsewhereOf({ host = "" }: IncomingMessage["headers"], adapter: string): string {
  const [name, port] = host.split(/:(\d+)$/);
  const other = name === "localhost" ? "127.0.0.1" : "localhost";
  return `http://${other}:${port ?? 80}/${adapter}/elsewhere`;
}

function openActionCall({ adapter, action, at, words }: ActionScenario, request: IncomingMessage, callLog: CallLog) {
  const requestId = String(request.headers["x-request-id"] ?? "") || null;
  return callLog.open({ requestId, adapter, model: `${adapter}/${action}`, action, step: at, status: words.status });
}

/** Makes the function that decides the answer to a request; on a web socket, it decides again after each message. */
async function scenarioMaker({ target }: Arrival, deps: Deps): Promise<(arrival: Arrival) => ActionScenario> {
  const vendors = deps.vendors();
  const { adapter } = addressOf(target.url.pathname);
  const standIn = await deps.standIns.of(vendors.get(adapter));
  if (typeof standIn === "string") return () => brokenStandIn(adapter, standIn);
  const { memory, machines: room } = deps;
  return (arrival) =>
    isSessionArrival(arrival)
      ? sessionScenarioOf(arrival, { vendors, standIn, room })
      : actionScenarioOf(arrival, { vendors, standIn, memory });
}

async function answerAction(scenario: ActionScenario, request: IncomingMessage, response: ServerResponse, deps: Deps) {
  const loggedCall = openActionCall(scenario, request, deps.callLog);
  const onClose = (whole: boolean) => loggedCall.end(whole ? "whole" : "aborted");
  const connection = createConnection(request, response, { pieceBytes: 0, onClose });
  const elsewhere = elsewhereOf(request.headers, scenario.adapter);
  await writeActionAnswer(scenario, { connection, loggedCall, elsewhere, address: request.url ?? "/" });
}

function acceptSocket(request: IncomingMessage, socket: Socket, head: Buffer, opened: (ws: WebSocket) => void): void {
  const server = new WebSocketServer({ noServer: true, maxPayload: MESSAGE_BYTES_MAX, perMessageDeflate: false });
  server.handleUpgrade(request, socket, head, (ws) => {
    ws.on("error", () => {});
    opened(ws);
  });
}

/** Serves a vendor's session: one logged call for each response. */
function serveSession(
  standIn: SocketStandIn,
  request: IncomingMessage,
  { socket, head, url }: { readonly socket: Socket; readonly head: Buffer; readonly url: URL },
  { callLog }: Deps,
): void {
  const { authorization, "api-key": key, "x-request-id": requestId = "" } = request.headers;
  const model = url.searchParams.get("model");
  const status = authorization === undefined && key === undefined ? "401 Unauthorized" : "400 Bad Request";
  if (model === null || status.startsWith("401")) {
    const body = JSON.stringify({ error: { type: "invalid_request_error", message: "no key, or no model" } });
    const type = "content-type: application/json\r\nconnection: close";
    return void socket.end(`HTTP/1.1 ${status}\r\n${type}\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  }
  const [adapter = ""] = url.pathname.split("/").filter(Boolean);
  acceptSocket(request, socket, head, (ws) => {
    const vendor = {
      send: (text: string) => ws.send(text),
      cut: () => ws.terminate(),
      counted(tokensIn: number, tokensOut: number) {
        const call = callLog.open({ adapter, model, stream: true, requestId: String(requestId) || null, tokensIn });
        call.written(tokensOut);
        call.end("whole");
      },
    };
    const session = standIn.open(vendor, model);
    ws.on("message", (data) => session.message(String(data)));
    ws.on("close", () => session.closed());
  });
}

/** Serves a request to open a web socket, which only sessions use; refusals and faults are answered over HTTP. */
async function serveSocket(request: IncomingMessage, socket: Socket, head: Buffer, deps: Deps): Promise<void> {
  socket.on("error", () => {});
  const url = URL.parse(request.url ?? "/", "http://sandbox") ?? new URL("http://sandbox/");
  const target = { url, headers: request.headers };
  const arrival = { method: request.method ?? "", target, body: Buffer.alloc(0) };
  const standIn = deps.sockets.find(({ path }) => path.test(url.pathname));
  if (standIn !== undefined) return serveSession(standIn, request, { socket, head, url }, deps);
  const scenarioFor = await scenarioMaker(arrival, deps);
  const said = (messages: readonly Uint8Array[]) => scenarioFor({ ...arrival, said: messages });
  const scenario = said([]);
  if (scenario.words.status !== 101 || scenario.script.kind !== "answer") {
    const response = new ServerResponse(request);
    response.assignSocket(socket);
    response.shouldKeepAlive = false;
    return answerAction(scenario, request, response, deps);
  }
  const loggedCall = openActionCall(scenario, request, deps.callLog);
  socket.on("close", () => loggedCall.end("whole"));
  // Its messages are sent, and the socket closed, once the script has an answer to all binary ones so far.
  acceptSocket(request, socket, head, (ws) => {
    const received: Buffer[] = [];
    ws.on("message", (data, isBinary) => {
      if (!isBinary || !(data instanceof Buffer)) return;
      received.push(data);
      let messages: ActionScenario["words"]["messages"];
      try {
        messages = said(received).words.messages;
      } catch {
        // Nothing above an event handler catches: a stand-in that fails would end the process.
        return ws.terminate();
      }
      if (messages === undefined) return;
      ws.removeAllListeners("message");
      for (const one of messages) ws.send(one);
      ws.close(NORMAL_CLOSE);
    });
  });
}

async function serve(request: IncomingMessage, response: ServerResponse, deps: Deps): Promise<void> {
  if (ownPage(request, response, deps)) return;
  const url = URL.parse(request.url ?? "/", "http://sandbox") ?? new URL("http://sandbox/");
  const body = await bodyOf(request);
  const arrival = { method: request.method ?? "", target: { url, headers: request.headers }, body };
  if (isActionArrival(arrival))
    return answerAction((await scenarioMaker(arrival, deps))(arrival), request, response, deps);
  if (isBatchArrival(arrival)) return deps.batches.serve(arrival, request, response);
  const scenario = await deps.scenario(arrival);
  const loggedCall = openLoggedCall(deps.callLog, scenario, String(request.headers["x-request-id"] ?? ""));
  const connection = createConnection(request, response, {
    pieceBytes: scenario.conduct.pieceBytes,
    onClose: (whole) => loggedCall.end(whole ? "whole" : "aborted"),
  });
  await perform(scenario, connection, loggedCall, deps.clock);
}

/**
 * Starts the sandbox upstream. `POST <url>/<adapter id>/<vendor path>` uses the dialect of the path's end, or plays an action if the
 * gateway's header names one. `GET /` describes the sandbox, and `GET /_sandbox/books` returns its log. Throws if the port is taken.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const deps = openDeps(options);
  const server = createServer({ keepAliveTimeout: 75_000, requestTimeout: 0, maxHeaderSize: 64 * 1024 });
  server.on("request", (request, response) => {
    // Only a client that left while sending fails here, so destroying its socket is enough.
    serve(request, response, deps).catch(() => request.socket.destroy());
  });
  const sockets = new Set<Socket>();
  server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    serveSocket(request, socket, head, deps).catch(() => socket.destroy());
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
        // The server no longer tracks upgraded connections.
        for (const socket of sockets) socket.destroy();
      }),
    books: () => deps.callLog.report(),
  };
}
