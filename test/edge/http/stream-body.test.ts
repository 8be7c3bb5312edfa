// Endpoints that stream: long bodies, their senders, and long answers.
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import type { Endpoint, GatewayRequest, IncomingBody, Reply } from "../../../src/core/endpoint.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { HttpServer } from "../../../src/edge/http/server.ts";
import { sendStream } from "../../../src/edge/serve/answer-free.ts";
import { envelopeErrors } from "../../../src/models/formats/envelope/errors.ts";
import { RequestRecord } from "../../../src/platform/observe/record.ts";
import { afterChunked, rawClient, request, startEdge, until } from "./edge.ts";

const MIB = 1024 * 1024;
/** Bytes that sockets and the kernel may buffer along a body's way, besides the gateway. */
const ON_THE_WAY_BYTES = 16 * MIB;

function endpoint(method: "PUT" | "GET" | "POST", path: string): Endpoint {
  const shape = { method, path, auth: "none", bodyBytesMax: 100 * MIB, errors: envelopeErrors } as const;
  return { ...shape, stream: () => Promise.reject(new Error("the tests handle requests themselves")) };
}

/** An edge whose streaming endpoints are served by `serve`. */
function edgeFor(
  serve: (request: GatewayRequest, reply: Reply) => Promise<void>,
  options: { readonly bodyMsMax?: number; readonly stalledMsMax?: number } = {},
): Promise<HttpServer> {
  const endpoints = [endpoint("PUT", "/in"), endpoint("GET", "/out"), { ...endpoint("GET", "/hello") }];
  const handle = (incoming: GatewayRequest, { path }: Endpoint, reply: Reply) =>
    path === "/hello" ? reply.send(200, "hello again") : serve(incoming, reply);
  return startEdge({ endpoints, handle, ...options });
}

async function digest(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash("sha256");
  for await (const part of bytes) hash.update(part);
  return hash.digest("hex");
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

async function answerDigest({ incoming }: GatewayRequest, reply: Reply): Promise<void> {
  reply.send(200, incoming === undefined ? "no body" : `${incoming.bytes >= 0} ${await digest(incoming)}`);
}

/** Sends a PUT's head and then its body, as fast as the server reads it. */
async function send(port: number, body: Uint8Array, head: readonly string[]) {
  const client = await rawClient(port);
  client.send(request("PUT /in", head));
  client.send(body);
  return client;
}

describe("a long body", () => {
  test("goes through whole, whatever its type, and its connection is as good as before", async () => {
    const { port } = await edgeFor(answerDigest);
    const body = randomBytes(20 * MIB);
    const client = await send(port, body, ["content-type: video/mp4", `content-length: ${body.length}`]);
    await client.sees(new RegExp(sha256(body)));
    client.send(request("GET /hello"));
    await client.sees(/hello again/);
  });

  test("goes through whole in chunks", async () => {
    const { port } = await edgeFor(answerDigest);
    const parts = Array.from({ length: 50 }, (_, at) => randomBytes(at * 1_000 + 1));
    const client = await rawClient(port);
    client.send(request("PUT /in", ["transfer-encoding: chunked"]));
    for (const part of parts) {
      client.send(`${part.length.toString(16)}\r\n`);
      client.send(part);
      client.send("\r\n");
    }
    client.send("0\r\n\r\n");
    await client.sees(new RegExp(sha256(Buffer.concat(parts))));
    await afterChunked(client, /hello again/);
  });

  test("goes through whole where it comes with its head", async () => {
    const { port } = await edgeFor(answerDigest);
    const client = await rawClient(port);
    client.send(request("PUT /in", ["content-length: 5"], "abcde"));
    await client.sees(new RegExp(sha256(Buffer.from("abcde"))));
    client.send(request("GET /hello"));
    await client.sees(/hello again/);
  });

  test("goes through whole in chunks that all come at once", async () => {
    const { port } = await edgeFor(answerDigest);
    const client = await rawClient(port);
    client.send(request("PUT /in", ["transfer-encoding: chunked"], "2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n"));
    await client.sees(new RegExp(sha256(Buffer.from("abcde"))));
    await afterChunked(client, /hello again/);
  });

  test("is absent where none was sent", async () => {
    const { port } = await edgeFor(answerDigest);
    for (const head of [[], ["content-length: 0"]]) {
      const client = await rawClient(port);
      client.send(request("PUT /in", head));
      await client.sees(/no body/);
    }
  });

  test("is not read further than it is taken", async () => {
    const bodies: IncomingBody[] = [];
    const taking = Promise.withResolvers<void>();
    const { port } = await edgeFor(async ({ incoming }, reply) => {
      if (incoming !== undefined) bodies.push(incoming);
      await taking.promise;
      reply.send(200, await digest(incoming ?? (async function* () {})()));
    });
    const body = randomBytes(64 * MIB);
    const client = await send(port, body, [`content-length: ${body.length}`]);
    // The sender stops when all buffers on the way are full.
    await until(() => client.socket.writableNeedDrain && bodies.length === 1);
    const sent = client.socket.bytesWritten;
    await new Promise((resolve) => setImmediate(resolve));
    expect(bodies[0]?.bytes).toBeLessThanOrEqual(MIB);
    expect(sent - client.socket.writableLength).toBeLessThan(ON_THE_WAY_BYTES);
    taking.resolve();
    await client.sees(new RegExp(sha256(body)));
  });

  test("that is refused before it has come is read past, and its connection is as good as before", async () => {
    const { port } = await edgeFor(async (_, reply) => reply.send(403, "no"));
    const client = await send(port, Buffer.alloc(8 * MIB), [`content-length: ${8 * MIB}`]);
    await client.sees(/^HTTP\/1\.1 403/);
    client.send(request("GET /hello"));
    await client.sees(/hello again/);
  });

  test("of unknown length that is refused in its middle ends its connection", async () => {
    const { port } = await edgeFor(async ({ incoming }, reply) => {
      for await (const _ of incoming ?? []) break;
      reply.send(400, "no");
    });
    const client = await rawClient(port);
    client.send(request("PUT /in", ["transfer-encoding: chunked"], "5\r\nhello\r\n"));
    await client.sees(/^HTTP\/1\.1 400/);
    await client.closed;
  });

  test.each([
    ["announced as too long", [`content-length: ${300 * MIB}`], 413],
    ["compressed", ["content-encoding: gzip", "content-length: 5"], 415],
  ])("%s is refused at once", async (_, head, status) => {
    let served = 0;
    const { port } = await edgeFor(async (_, reply) => {
      served += 1;
      reply.send(200, "");
    });
    const client = await rawClient(port);
    client.send(request("PUT /in", head));
    await client.sees(new RegExp(`^HTTP/1\\.1 ${status}`));
    expect(served).toBe(0);
  });

  test("that its sender leaves breaks off for whoever reads it", async () => {
    const broken = Promise.withResolvers<unknown>();
    const { port, openRequests } = await edgeFor(async ({ incoming }, reply) => {
      await digest(incoming ?? (async function* () {})()).then(() => broken.resolve("whole"), broken.resolve);
      reply.send(200, "too late");
    });
    const client = await send(port, Buffer.alloc(MIB), [`content-length: ${8 * MIB}`]);
    await until(() => openRequests() === 1);
    client.socket.destroy();
    expect(await broken.promise).toBeInstanceOf(GatewayError);
    await until(() => openRequests() === 0);
  });

  test("that stops coming is given up, and its sender told", async () => {
    const { port } = await edgeFor(
      async ({ incoming }, reply) => {
        const error = await digest(incoming ?? (async function* () {})()).catch((cause: unknown) => cause);
        if (error instanceof GatewayError) reply.send(error.status, error.code);
      },
      { bodyMsMax: 200 },
    );
    const client = await send(port, Buffer.alloc(1_000), ["content-length: 2000"]);
    await client.sees(/^HTTP\/1\.1 408[\s\S]*request_timeout/);
    await client.closed;
  });

  test("may take longer than any other, as long as it keeps coming", async () => {
    const bodyMsMax = 1_000;
    const { port } = await edgeFor(answerDigest, { bodyMsMax });
    const client = await rawClient(port);
    const part = Buffer.alloc(32 * 1024);
    client.send(request("PUT /in", [`content-length: ${20 * part.length}`]));
    const fromMs = performance.now();
    for (let at = 0; at < 20; at++) {
      client.send(part);
      await new Promise((resolve) => setTimeout(resolve, 70));
    }
    await client.sees(new RegExp(sha256(Buffer.alloc(20 * part.length))));
    expect(performance.now() - fromMs).toBeGreaterThan(bodyMsMax);
  });

  test("is not counted late for the time that we hold it back", async () => {
    const held = Promise.withResolvers<void>();
    const { port } = await edgeFor(
      async (incoming, reply) => {
        await held.promise;
        await answerDigest(incoming, reply);
      },
      { bodyMsMax: 1_000 },
    );
    const body = randomBytes(2_000);
    const client = await send(port, body.subarray(0, 1_000), ["content-length: 2000"]);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    held.resolve();
    await new Promise((resolve) => setTimeout(resolve, 100));
    client.send(body.subarray(1_000));
    await client.sees(new RegExp(sha256(body)));
  });
});

describe("a long answer of known length", () => {
  const body = randomBytes(24 * MIB);
  let asked = 0;

  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < body.length; at += 64 * 1024) {
      asked = at;
      yield body.subarray(at, at + 64 * 1024);
    }
  }

  async function answer(incoming: GatewayRequest, reply: Reply): Promise<void> {
    const record = new RequestRecord({ requestId: "r", method: incoming.method, startedMs: 0 });
    const headers = { "content-type": "video/mp4" };
    const bytes = incoming.query.has("short") ? short() : pieces();
    await sendStream({ status: 200, headers, bytesTotal: body.length, bytes }, reply, record);
  }

  async function* short(): AsyncGenerator<Uint8Array> {
    yield body.subarray(0, 100);
    if (body.length > 0) throw new Error("the disk broke");
  }

  test("comes whole, says its length, and leaves its connection as good as before", async () => {
    const { port } = await edgeFor(answer);
    const response = await fetch(`http://127.0.0.1:${port}/out`);
    expect(response.headers.get("content-length")).toBe(String(body.length));
    expect(response.headers.get("transfer-encoding")).toBeNull();
    expect(sha256(new Uint8Array(await response.arrayBuffer()))).toBe(sha256(body));
  });

  test("is not made faster than its reader takes it, and comes whole all the same", async () => {
    const { port } = await edgeFor(answer);
    asked = 0;
    const client = await rawClient(port);
    client.socket.removeAllListeners("data");
    client.socket.pause();
    client.send(request("GET /out"));
    let before = -1;
    await until(() => {
      const still = asked === before && asked > 0;
      before = asked;
      return still;
    });
    expect(asked).toBeLessThan(ON_THE_WAY_BYTES);
    const hash = createHash("sha256");
    let size = 0;
    let head = "";
    client.socket.on("data", (data: Buffer) => {
      let rest = data;
      if (!head.endsWith("\r\n\r\n")) {
        const text = head + data.toString("latin1");
        const end = text.indexOf("\r\n\r\n") + 4;
        if (end < 4) return;
        rest = data.subarray(end - head.length);
        head = text.slice(0, end);
      }
      size += rest.length;
      hash.update(rest);
    });
    client.socket.resume();
    await until(() => size >= body.length);
    expect(size).toBe(body.length);
    expect(hash.digest("hex")).toBe(sha256(body));
  });

  test("is described to a HEAD and left out", async () => {
    const { port } = await edgeFor(answer);
    const client = await rawClient(port);
    client.send(request("HEAD /out"));
    const text = await client.sees(/\r\n\r\n$/);
    expect(text.toLowerCase()).toContain(`content-length: ${body.length}`);
    await client.closed;
  });

  test("whose source breaks cuts the connection, so that half of it is not taken for the whole", async () => {
    const { port } = await edgeFor((incoming, reply) => answer(incoming, reply).catch(() => {}));
    const response = await fetch(`http://127.0.0.1:${port}/out?short`);
    await expect(response.arrayBuffer()).rejects.toThrow();
  });

  test("whose reader leaves is made no further", async () => {
    const ended = Promise.withResolvers<void>();
    const { port, openRequests } = await edgeFor(async (incoming, reply) => {
      await answer(incoming, reply);
      ended.resolve();
    });
    asked = 0;
    const client = await rawClient(port);
    client.send(request("GET /out"));
    await once(client.socket, "data");
    client.socket.destroy();
    await ended.promise;
    expect(asked).toBeLessThan(ON_THE_WAY_BYTES);
    await until(() => openRequests() === 0);
  });
});
