// Request bodies: in pieces, too large, too slow, abandoned, and followed by the next request.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test, vi } from "vitest";
import type { Reply } from "../../../src/core/endpoint.ts";
import { BodyReader, type BodyRefusal } from "../../../src/edge/http/read-request.ts";
import {
  afterChunked,
  BODY_BYTES_MAX,
  currentEngine,
  echo,
  post,
  rawClient,
  request,
  startEdge,
  until,
} from "./edge.ts";

const CHUNKED = ["content-type: application/json", "transfer-encoding: chunked"];

function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

/** The heap in use, and the memory of buffers outside it. */
function heapBytes(): number {
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** A listener that counts the requests that reached the pipeline. */
async function countingEdge(options: { bodyMsMax?: number } = {}) {
  const handled: string[] = [];
  const server = await startEdge({
    ...options,
    handle: (incoming, endpoint, reply) => {
      handled.push(incoming.body.toString());
      echo(incoming, endpoint, reply);
    },
  });
  return { server, handled };
}

describe("a body", () => {
  test("arrives whole however it and its headers are cut", async () => {
    const { server, handled } = await countingEdge();
    const body = JSON.stringify({ text: "naïve – 漢字" });
    const whole = Buffer.from(post("/echo", body));
    // This version of uWebSockets reassembles split header lines, but answers 505 to a split first line.
    const from = whole.indexOf("\r\n") + 2;
    const cuts = Array.from({ length: whole.length - from - 1 }, (_, i) => from + i + 1);
    await Promise.all(
      cuts.map(async (at) => {
        const client = await rawClient(server.port);
        client.socket.setNoDelay(true);
        client.send(whole.subarray(0, at));
        await new Promise((resolve) => setTimeout(resolve, 30));
        client.send(whole.subarray(at));
        await client.sees(/200 OK/);
      }),
    );
    expect(handled).toHaveLength(cuts.length);
    expect(new Set(handled)).toEqual(new Set([body]));
  });

  test("arrives whole in chunks of any size", async () => {
    const { server, handled } = await countingEdge();
    const client = await rawClient(server.port);
    const body = "x".repeat(10_000);
    client.send(request("POST /echo", CHUNKED));
    for (let i = 0; i < body.length; i += 999) {
      client.send(chunk(body.slice(i, i + 999)));
      await new Promise((resolve) => setImmediate(resolve));
    }
    client.send("0\r\n\r\n");
    await client.sees(/200 OK/);
    expect(handled).toEqual([body]);
    await afterChunked(client, /"method":"GET"/);
  });

  test("in parts of one byte takes little more memory than its bytes", () => {
    let send: (part: Uint8Array, isLast: boolean) => void = () => {};
    const onData = (handler: typeof send) => {
      send = handler;
    };
    const limits = { bodyMsMax: 1_000, slowClients: { watch() {}, forget() {} } };
    const done = vi.fn<(body: Buffer | BodyRefusal) => void>();
    const head = { headers: new Map(), startedMs: 0, share: null, isChunked: false };
    const options = { request: head, bodyBytesMax: 1e6, long() {}, done };
    new BodyReader({ onData } as never, limits as never, options as never);
    const part = new Uint8Array(1);
    const before = heapBytes();
    for (let at = 0; at < 200_000; at++) {
      part[0] = at % 251;
      send(part, false);
    }
    expect(heapBytes() - before).toBeLessThan(4_000_000);
    send(new Uint8Array(10_000).fill(252), true);
    const body = Buffer.concat([Uint8Array.from({ length: 200_000 }, (_, at) => at % 251), Buffer.alloc(10_000, 252)]);
    expect(body.equals(done.mock.calls[0]?.[0] as Buffer)).toBe(true);
  });

  test("may be as large as the limit, and not a byte larger", async () => {
    const { server, handled } = await countingEdge();
    const client = await rawClient(server.port);
    client.send(post("/echo", "x".repeat(BODY_BYTES_MAX)));
    await client.sees(/200 OK/);
    client.send(post("/echo", "x".repeat(BODY_BYTES_MAX + 1)));
    await client.sees(/413 Payload Too Large.*"body_too_large"/s);
    // The edge reads and discards the announced bytes, and the connection stays open.
    client.send(request("GET /hello"));
    await client.sees(/"method":"GET"/);
    expect(handled).toHaveLength(2);
  });

  test("that is announced as far too large is refused before it comes, and the connection is ended", async () => {
    const { server, handled } = await countingEdge();
    const client = await rawClient(server.port);
    client.send(request("POST /echo", ["content-type: application/json", "content-length: 99999999999"]));
    await client.closed;
    expect(client.text()).toMatch(/413 Payload Too Large.*connection: close/is);
    expect(handled).toEqual([]);
  });

  test("that turns out too large is refused when it passes the limit", async () => {
    const { server, handled } = await countingEdge();
    const client = await rawClient(server.port);
    client.send(request("POST /echo", CHUNKED));
    for (let sent = 0; sent <= BODY_BYTES_MAX && !client.socket.destroyed; sent += 8_192)
      client.send(chunk("x".repeat(8_192)));
    await client.closed;
    expect(client.text()).toMatch(/413 Payload Too Large.*connection: close.*"body_too_large"/is);
    expect(handled).toEqual([]);
    await until(() => server.openRequests() === 0);
  });

  test("of a broken chunked coding ends the connection", async () => {
    const { server, handled } = await countingEdge();
    const client = await rawClient(server.port);
    client.send(request("POST /echo", CHUNKED, `${chunk("{}")}zz\r\n`));
    await client.closed;
    expect(client.text()).toMatch(/^HTTP\/1\.1 400 /);
    expect(handled).toEqual([]);
    await until(() => server.openRequests() === 0);
  });

  test.each([
    ["with a known length", ["content-type: application/json", "content-length: 10"], "{"],
    ["of which nothing comes", ["content-type: application/json", "content-length: 10"], ""],
    ["in chunks", CHUNKED, chunk("{")],
    ["in chunks of which none comes", CHUNKED, ""],
  ])("%s that is too slow is told 408, and the connection is ended", async (_name, headers, begin) => {
    const { server, handled } = await countingEdge({ bodyMsMax: 200 });
    const client = await rawClient(server.port);
    client.send(request("POST /echo", headers, begin));
    await client.closed;
    expect(client.text()).toMatch(/^HTTP\/1\.1 408 Request Timeout.*connection: close.*"request_timeout"/is);
    expect(handled).toEqual([]);
    expect(server.openRequests()).toBe(0);
  });
});

describe("a client that leaves", () => {
  const head = request("POST /echo", ["content-type: application/json", "content-length: 20"]);
  test.each([
    ["in the request line", head.slice(0, 8)],
    ["in the headers", head.slice(0, 40)],
    ["before the body", head],
    ["in the body", `${head}{"a":`],
    ["in a chunk", request("POST /echo", CHUNKED, "a\r\nabc")],
  ])("%s is forgotten", async (_name, sent) => {
    const { server, handled } = await countingEdge();
    for (const end of ["destroy", "resetAndDestroy"] as const) {
      const client = await rawClient(server.port);
      client.send(sent);
      await new Promise((resolve) => setImmediate(resolve));
      client.socket[end]();
    }
    // A complete request after them shows that the edge has handled them.
    const client = await rawClient(server.port);
    client.send(post("/echo", "{}"));
    await client.sees(/200 OK/);
    await until(() => server.openRequests() === 0);
    expect(handled).toEqual(["{}"]);
  });

  test("while its request is handled is told of once, and nothing can be written any more", async () => {
    let gone = 0;
    const replies: Reply[] = [];
    const server = await startEdge({
      handle: (_request, _endpoint, reply) => {
        reply.onGone(() => gone++);
        replies.push(reply);
      },
    });
    const client = await rawClient(server.port);
    client.send(post("/echo", "{}"));
    await until(() => replies.length === 1);
    client.socket.resetAndDestroy();
    await until(() => gone > 0);
    const [reply] = replies;
    expect(reply?.closed).toBe(true);
    reply?.send(200, "{}");
    reply?.begin(200);
    reply?.write("more");
    reply?.end();
    reply?.cut();
    let late = 0;
    reply?.onGone(() => late++);
    expect([gone, late, server.openRequests()]).toEqual([1, 1, 0]);
  });

  test.skipIf(currentEngine() === "node")(
    "by sending another request before its answer loses the connection (no pipelining of slow requests)",
    async () => {
      let gone = 0;
      const server = await startEdge({ handle: (_request, _endpoint, reply) => reply.onGone(() => gone++) });
      const client = await rawClient(server.port);
      client.send(request("GET /hello") + request("GET /hello"));
      await client.closed;
      expect([gone, server.openRequests()]).toEqual([1, 0]);
    },
  );
});
