// A listener with a few endpoints, and a raw client, for the tests of the edge.
import net from "node:net";
import { expect, onTestFinished } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import type { Endpoint, EndpointShape, ErrorCodec, GatewayRequest, Reply } from "../../../src/core/endpoint.ts";
import type { GatewayError } from "../../../src/core/errors.ts";
import type { Engine, EngineName } from "../../../src/edge/http/engine.ts";
import { loadEngine } from "../../../src/edge/http/load-engine.ts";
import { type HttpOptions, type HttpServer, listen } from "../../../src/edge/http/server.ts";
import { chatErrors } from "../../../src/models/formats/chat-completions/wire.ts";
import { envelopeErrors } from "../../../src/models/formats/envelope/errors.ts";
import { AnswerBytes } from "../../../src/platform/limits/answer-bytes.ts";
import { createBodyBytes } from "../../../src/platform/limits/body-bytes.ts";

// uWebSockets reads this when it loads, at the first `listen`.
process.env.UWS_HTTP_MAX_HEADERS_SIZE = "16384";

export const BODY_BYTES_MAX = 64 * 1024;

export function endpoint(method: EndpointShape["method"], path: string, errors: ErrorCodec = envelopeErrors): Endpoint {
  return {
    method,
    path,
    auth: "none",
    bodyBytesMax: BODY_BYTES_MAX,
    errors,
    answer: () => ({ status: 200, body: null }),
  };
}

const ENDPOINTS = [
  endpoint("POST", "/echo"),
  endpoint("GET", "/hello"),
  endpoint("GET", "/things/{id}"),
  endpoint("DELETE", "/things/{id}"),
  endpoint("POST", "/api/llm/v1/chat/completions", chatErrors),
];

/** Answers with the received request as JSON. */
export function echo(request: GatewayRequest, _endpoint: Endpoint, reply: Reply): void {
  const { id, method, path, params, address } = request;
  const headers = Object.fromEntries(request.headers);
  const body = request.body.toString();
  reply.send(
    200,
    JSON.stringify({ id, method, path, params, query: request.query.toString(), headers, address, body }),
  );
}

export function refuse(_request: GatewayRequest, reply: Reply, error: GatewayError, errors: ErrorCodec): void {
  reply.send(error.status, JSON.stringify({ error: error.code, message: error.message, errors: errors.wire }));
}

/** The engines that this Node.js can run: without a binary of uWebSockets.js only the second. */
const { name: preferred } = await loadEngine("uws", () => {});
export const ENGINES: readonly EngineName[] = preferred === "uws" ? ["uws", "node"] : ["node"];

let engineName = preferred;

/** Sets the engine that `startEdge` starts from now on. */
export function useEngine(name: EngineName = preferred): void {
  engineName = name;
}

export function currentEngine(): EngineName {
  return engineName;
}

export function loadedEngine(name: EngineName): Promise<Engine> {
  return loadEngine(name, (line) => {
    throw new Error(line);
  });
}

export async function startEdge(options: Partial<HttpOptions> = {}): Promise<HttpServer> {
  const server = await listen({
    engine: await loadedEngine(engineName),
    host: "127.0.0.1",
    port: 0,
    endpoints: ENDPOINTS,
    screen: async () => null,
    openSocket: () => ({ accountId: "one", socketsMax: 2 }),
    bodies: createBodyBytes({ bytesMax: 1e9, accountBytesMax: 1e9 }),
    answers: new AnswerBytes({ bytesMax: 64 * 1_048_576, ownerBytesMax: 64 * 1_048_576 }),
    handle: echo,
    refuse,
    trustProxy: 0,
    cors: { announce() {} },
    allowedHosts: null,
    clock: systemClock,
    ...options,
  });
  onTestFinished(() => server.close());
  return server;
}

/** Polls for a condition that has no event. */
export async function until(condition: () => boolean, msMax = 20_000): Promise<void> {
  const deadline = performance.now() + msMax;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`not so within ${msMax} ms: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export interface RawClient {
  readonly socket: net.Socket;
  /** All bytes received so far. */
  text(): string;
  send(text: string | Uint8Array): void;
  /** Waits until the received text matches `pattern`. */
  sees(pattern: RegExp): Promise<string>;
  readonly closed: Promise<void>;
}

/** A raw socket that sends what a test gives it and records what it receives. */
export async function rawClient(port: number, host = "127.0.0.1", allowHalfOpen = false): Promise<RawClient> {
  const socket = net.connect({ port, host, allowHalfOpen });
  let heard = "";
  socket.on("data", (data) => {
    heard += data.toString("latin1");
  });
  // A reset is a normal end of a connection; the tests check `closed`.
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  onTestFinished(() => void socket.destroy());
  return {
    socket,
    closed,
    text: () => heard,
    send: (text) => void socket.write(text),
    async sees(pattern) {
      await until(() => pattern.test(heard) || socket.destroyed);
      if (!pattern.test(heard)) throw new Error(`closed without ${pattern}: ${heard}`);
      return heard;
    },
  };
}

/** After a chunked body uws closes the connection, since its parser consumes too much; the node engine serves the next request. */
export async function afterChunked(client: RawClient, pattern: RegExp): Promise<void> {
  client.send(request("GET /hello"));
  if (engineName === "node") return void (await client.sees(pattern));
  await client.closed;
  expect(client.text()).toMatch(/\r\nconnection: close\r\n/);
  expect(client.text()).not.toMatch(pattern);
}

/** A request as text; `headers` have no line breaks. */
export function request(line: string, headers: readonly string[] = [], body = ""): string {
  return [`${line} HTTP/1.1`, "host: localhost", ...headers, "", body].join("\r\n");
}

export function post(path: string, body: string, headers: readonly string[] = []): string {
  const length = `content-length: ${Buffer.byteLength(body)}`;
  return request(`POST ${path}`, ["content-type: application/json", length, ...headers], body);
}
