// Behaviour of the node engine alone: pipelining of slow requests, half-closed clients, limits on connections.
import { beforeEach, describe, expect, test } from "vitest";
import type { Endpoint, Reply } from "../../../../src/core/endpoint.ts";
import { CONNECTION_LIMITS } from "../../../../src/edge/http/engine.ts";
import { loadEngine } from "../../../../src/edge/http/load-engine.ts";
import type { HttpOptions } from "../../../../src/edge/http/server.ts";
import { echo, endpoint, loadedEngine, post, rawClient, request, startEdge, until } from "../edge.ts";

const WEBSOCKET = [
  "connection: upgrade",
  "upgrade: websocket",
  "sec-websocket-version: 13",
  "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==",
];

const onNode = async (options: Partial<HttpOptions> = {}) =>
  startEdge({ ...options, engine: await loadedEngine("node") });

const TALK: Endpoint = {
  ...endpoint("POST", "/talk"),
  overSocket: { wantsNothing: () => false, ready: () => ({ status: 200, body: null }), whole: () => [] },
};

describe("the node engine", () => {
  let replies: { path: string; reply: Reply }[] = [];
  beforeEach(() => {
    replies = [];
  });
  const hold: HttpOptions["handle"] = ({ path }, _endpoint, reply) => void replies.push({ path, reply });

  test("serves pipelined requests one after the other, each after the answer before it", async () => {
    const server = await onNode({ handle: hold });
    const client = await rawClient(server.port);
    client.send(post("/echo", "{}") + request("GET /things/1"));
    await until(() => replies.length === 1);
    client.send(request("GET /things/2"));
    expect(server.openRequests()).toBe(1);
    for (const [i, path] of ["/echo", "/things/1", "/things/2"].entries()) {
      await until(() => replies.length === i + 1);
      expect(replies[i]?.path).toBe(path);
      replies[i]?.reply.send(200, JSON.stringify(path));
    }
    const text = await client.sees(/"\/things\/2"$/);
    expect(text.match(/"\/[a-z0-9/]+"/g)).toEqual(['"/echo"', '"/things/1"', '"/things/2"']);
  });

  test("answers earlier requests before it closes the connection of a CONNECT", async () => {
    const server = await onNode({ handle: hold });
    const client = await rawClient(server.port);
    client.send(request("GET /hello") + request("CONNECT localhost:443"));
    await until(() => replies.length === 1);
    replies[0]?.reply.send(200, '"first"');
    await client.closed;
    expect(client.text()).toMatch(/^HTTP\/1\.1 200 [\s\S]*"first"$/);
  });

  test("lets a stream end although another request has come on its connection", async () => {
    const server = await onNode({ handle: hold });
    const client = await rawClient(server.port);
    client.send(request("GET /hello"));
    await until(() => replies.length === 1);
    let gone = 0;
    replies[0]?.reply.onGone(() => void gone++);
    replies[0]?.reply.begin(200);
    replies[0]?.reply.write("first");
    await client.sees(/first/);
    client.send(request("GET /things/1"));
    replies[0]?.reply.end("last");
    await client.sees(/last/);
    await until(() => replies.length === 2);
    replies[1]?.reply.send(200, "second");
    await client.sees(/second$/);
    expect(gone).toBe(0);
  });

  test("answers a client that half-closes, whole and streamed", async () => {
    const server = await onNode({ handle: hold });
    const client = await rawClient(server.port, undefined, true);
    client.send(request("GET /hello"));
    client.socket.end();
    await until(() => replies.length === 1);
    await client.sees(/^HTTP\/1\.1 100 /);
    replies[0]?.reply.send(200, '"whole"');
    await client.sees(/HTTP\/1\.1 200 OK[\s\S]*"whole"$/);
    await client.closed;
    const streaming = await rawClient(server.port, undefined, true);
    streaming.send(request("GET /hello"));
    streaming.socket.end();
    await until(() => replies.length === 2);
    replies[1]?.reply.begin(200);
    replies[1]?.reply.write("first");
    await streaming.sees(/first/);
    replies[1]?.reply.end("last");
    await streaming.closed;
    expect(streaming.text()).toMatch(/first[\s\S]*last\r\n0\r\n\r\n$/);
  });

  test("notices that a client has left although nothing is written to it", async () => {
    const server = await onNode({ handle: hold });
    const client = await rawClient(server.port);
    client.send(request("GET /hello"));
    await until(() => replies.length === 1);
    client.socket.destroy();
    await until(() => server.openRequests() === 0);
    expect(replies[0]?.reply.closed).toBe(true);
  });

  test("survives a client that resets its connection behind an upgrade", async () => {
    const server = await onNode({ handle: hold, endpoints: [endpoint("GET", "/hello"), TALK] });
    const client = await rawClient(server.port);
    client.send(request("GET /hello"));
    await until(() => replies.length === 1);
    client.send(request("GET /talk", WEBSOCKET));
    const gone = new Promise<void>((resolve) => replies[0]?.reply.onGone(resolve));
    replies[0]?.reply.begin(200);
    replies[0]?.reply.write("first");
    await client.sees(/first/);
    client.socket.resetAndDestroy();
    await gone;
    const next = await rawClient(server.port);
    next.send(request("GET /hello"));
    await until(() => replies.length === 2);
    replies[1]?.reply.send(200, "still here");
    await next.sees(/still here/);
  });

  test("opens no WebSocket for a request with a body, and closes the connection of the answer", async () => {
    const server = await onNode({ endpoints: [endpoint("GET", "/hello"), TALK] });
    const client = await rawClient(server.port);
    client.send(request("GET /talk", [...WEBSOCKET, "content-length: 5"], "GET /") + request("GET /hello"));
    await client.closed;
    expect(client.text()).toMatch(/^HTTP\/1\.1 405 /);
    expect(client.text().match(/HTTP\/1/g)).toHaveLength(1);
  });

  test("closes the connection of headers that take too long", async () => {
    const server = await onNode({ limits: { ...CONNECTION_LIMITS, headerMsMax: 500 } });
    const client = await rawClient(server.port);
    client.send("GET /hello HTTP/1.1\r\nhost: a\r\n");
    await client.closed;
    expect(client.text()).toMatch(/^HTTP\/1\.1 408 [\s\S]*"error":"bad_request"/);
  });

  test("closes connections that are idle, and those with all the requests they may have", async () => {
    const server = await onNode({ limits: { ...CONNECTION_LIMITS, idleMsMax: 200, requestsPerConnection: 2 } });
    const idle = await rawClient(server.port);
    idle.send(request("GET /hello"));
    await idle.closed;
    const busy = await rawClient(server.port);
    busy.send(request("GET /hello"));
    await busy.sees(/"method"/);
    busy.send(request("GET /things/2"));
    await busy.closed;
    expect(busy.text()).toMatch(/connection: close[\s\S]*"\/things\/2"/i);
  });

  test("takes so many connections from one address, and more when some have closed", async () => {
    const server = await onNode({ limits: { ...CONNECTION_LIMITS, connectionsPerAddress: 2 } });
    const [one, two] = [await rawClient(server.port), await rawClient(server.port)];
    await (await rawClient(server.port)).closed;
    one.send(request("GET /hello"));
    await one.sees(/200 OK/);
    two.socket.destroy();
    for (let answered = false; !answered; ) {
      const next = await rawClient(server.port);
      next.send(request("GET /hello"));
      await Promise.race([next.closed, next.sees(/200 OK/).catch(() => {})]);
      answered = next.text().includes("200 OK");
    }
  });
});

test("without a binary the node engine serves, and one line says so", async () => {
  const lines: string[] = [];
  const missing = () => Promise.reject(new Error("no binary for this Node.js\nmore"));
  const engine = await loadEngine("uws", (line) => void lines.push(line), missing);
  expect([engine.name, lines]).toEqual([
    "node",
    ["HTTP_ENGINE=node is used, because uWebSockets.js did not load: no binary for this Node.js"],
  ]);
  const server = await startEdge({ engine, handle: echo });
  const client = await rawClient(server.port);
  client.send(request("GET /hello"));
  await client.sees(/200 OK/);
});
