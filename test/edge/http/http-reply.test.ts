// Answers, whole and streamed, to clients that read, read slowly, do not read, or leave.
import { createHash, randomBytes } from "node:crypto";
import http from "node:http";
import { describe, expect, test } from "vitest";
import type { Reply } from "../../../src/core/endpoint.ts";
import { currentEngine, type RawClient, rawClient, request, startEdge, until } from "./edge.ts";

const onNode = currentEngine() === "node";

/** A listener whose single request the test answers itself. */
async function held(options: { stalledMsMax?: number; method?: string } = {}) {
  const replies: Reply[] = [];
  const server = await startEdge({ ...options, handle: (_request, _endpoint, reply) => void replies.push(reply) });
  const client = await rawClient(server.port);
  client.send(request(`${options.method ?? "GET"} /hello`));
  await until(() => replies.length === 1);
  const [reply] = replies;
  if (reply === undefined) throw new Error("no reply");
  return { server, client, reply };
}

/** The payload of a chunked body. */
function dechunked(text: string): string {
  let rest = text.slice(text.indexOf("\r\n\r\n") + 4);
  let body = "";
  for (;;) {
    const size = Number.parseInt(rest, 16);
    if (size === 0 || Number.isNaN(size)) return body;
    const at = rest.indexOf("\r\n") + 2;
    body += rest.slice(at, at + size);
    rest = rest.slice(at + size + 2);
  }
}

/** Writes `chunks` of `bytes` each as the client reads them, and returns the most ever written ahead of `onRoom`. */
function pour(reply: Reply, chunks: number, bytes: number): { done: Promise<void>; refusals(): number } {
  const piece = Buffer.alloc(bytes, "x");
  let left = chunks;
  let refused = 0;
  const done = new Promise<void>((resolve) => {
    const go = () => {
      while (left > 0) {
        left -= 1;
        if (!reply.write(piece)) {
          refused += 1;
          return;
        }
      }
      if (!reply.closed) reply.end("end");
      resolve();
    };
    reply.onRoom(go);
    reply.onGone(resolve);
    reply.begin(200);
    go();
  });
  return { done, refusals: () => refused };
}

/** An answer read at the reader's pace; Node's own parser checks its chunked coding. */
async function slowGet(port: number): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    http.get({ port, path: "/hello", agent: false }, resolve).on("error", reject);
  });
}

/** Numbers in [0, 1) that are the same in every run (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function startReading(client: RawClient): { bytes(): number; last(): string } {
  let bytes = 0;
  let last = "";
  client.socket.removeAllListeners("data");
  client.socket.on("data", (data) => {
    bytes += data.length;
    last = data.subarray(-20).toString("latin1");
  });
  client.socket.resume();
  return { bytes: () => bytes, last: () => last };
}

describe("a whole answer", () => {
  test("has its length, its headers, and JSON as its type unless it says another", async () => {
    const { client, reply } = await held();
    reply.header("RateLimit-Limit", "600");
    reply.send(429, '{"a":"ü"}');
    const text = await client.sees(/\}$/);
    expect(text).toMatch(/^HTTP\/1\.1 429 Too Many Requests\r\n/);
    expect(text).toContain("\r\nRateLimit-Limit: 600\r\n");
    expect(text).toContain("\r\ncontent-type: application/json\r\n");
    expect(text).toContain("\r\nContent-Length: 10\r\n");
    const other = await held();
    other.reply.header("Content-Type", "text/plain");
    other.reply.send(200, Buffer.from("plain"));
    const plain = await other.client.sees(/plain$/);
    expect(plain.match(/^content-type:/gim)).toHaveLength(1);
  });

  test("is one, whatever is tried afterwards", async () => {
    const { client, reply, server } = await held();
    reply.send(200, "first");
    reply.send(500, "second");
    reply.begin(200);
    expect(reply.write("third")).toBe(true);
    reply.end("fourth");
    expect(reply.closed).toBe(true);
    await client.sees(/first$/);
    client.socket.end();
    await client.closed;
    expect(client.text()).not.toMatch(/second|third|fourth/);
    expect(server.openRequests()).toBe(0);
  });

  test("cannot smuggle a header in by a value", async () => {
    const { client, reply } = await held();
    reply.header("x-tollgate-model", "a\r\nset-cookie: b\u0000\u{1F600}");
    reply.send(200, "{}");
    const text = await client.sees(/\{\}$/);
    expect(text).toContain("\r\nx-tollgate-model: a??set-cookie: b???\r\n");
  });

  test("of 20 MB reaches a client that reads late, without a copy of it being made", async () => {
    const { client, reply, server } = await held();
    client.socket.pause();
    const body = Buffer.alloc(20_000_000, "x");
    body.write("!", body.length - 1);
    const before = process.memoryUsage.rss();
    reply.send(200, body);
    expect(reply.closed).toBe(true);
    expect(server.openRequests()).toBe(1);
    expect(process.memoryUsage.rss() - before).toBeLessThan(15_000_000);
    const read = startReading(client);
    await until(() => server.openRequests() === 0);
    await until(() => read.last().endsWith("!"));
    expect(read.bytes()).toBeGreaterThan(body.length);
  });
});

/** The node engine queues requests, so a timeout ends this client. */
const UNREAD = onNode ? { stalledMsMax: 1_000 } : {};
test("a client that asks and asks and never reads is left, rather than answered into memory", async () => {
  const server = await startEdge(UNREAD);
  const client = await rawClient(server.port);
  client.socket.pause();
  const before = process.memoryUsage.rss();
  // Lengths that do not divide uWebSockets' buffer would split a first line, which uWebSockets does not reassemble.
  const asked = request("GET /hello", ["x: ".padEnd(64 - request("GET /hello", [""]).length, "x")]);
  expect(asked).toHaveLength(64);
  const many = asked.repeat(1_024);
  for (let i = 0; i < 1_000 && !client.socket.destroyed; i++) {
    const room = new Promise<void>((resolve) => client.socket.once("drain", resolve));
    if (!client.socket.write(many)) await Promise.race([room, client.closed]);
  }
  expect(client.socket.destroyed).toBe(true);
  expect(process.memoryUsage.rss() - before).toBeLessThan(60_000_000);
});

describe("a streamed answer", () => {
  test("goes out part by part as it is written", async () => {
    const { client, reply } = await held();
    reply.header("content-type", "text/event-stream");
    reply.begin(200);
    reply.write("data: 1\n\n");
    await client.sees(/data: 1/);
    reply.write("");
    reply.write(Buffer.from("data: 2\n\n"));
    const text = await client.sees(/data: 2/);
    expect(text).toMatch(
      /^HTTP\/1\.1 200 OK\r\n.*content-type: text\/event-stream\r\n.*Transfer-Encoding: chunked\r\n/s,
    );
    reply.end("data: [DONE]\n\n");
    expect(dechunked(await client.sees(/0\r\n\r\n$/))).toBe("data: 1\n\ndata: 2\n\ndata: [DONE]\n\n");
    client.send(request("GET /hello"));
  });

  test("goes out at once with its first part; small ones of one turn go out together, and the end with the last", async () => {
    const { client, reply } = await held();
    reply.begin(200);
    reply.write("first");
    reply.write("a");
    reply.write(Buffer.from("b"));
    reply.write("c");
    expect(await client.sees(/c(\r\n)?$/)).toMatch(/\r\n5\r\nfirst\r\n3\r\nabc(\r\n)?$/);
    reply.write("d");
    reply.end("e");
    expect(await client.sees(/0\r\n\r\n$/)).toMatch(/abc\r\n2\r\nde\r\n0\r\n\r\n$/);
  });

  test("that is cut has sent what was written before", async () => {
    const { client, reply } = await held();
    reply.begin(200);
    reply.write("one ");
    reply.write("two ");
    reply.write("three");
    reply.cut();
    await client.closed;
    expect(dechunked(client.text())).toBe("one two three");
  });

  test("of small parts, a turn each, asks to wait when its client has no room, and loses none", async () => {
    const { client, reply, server } = await held();
    client.socket.pause();
    reply.begin(200);
    const part = Buffer.alloc(1_000, "x");
    let parts = 1;
    while (reply.write(part)) {
      parts += 1;
      await new Promise((resolve) => setImmediate(resolve));
    }
    const room = new Promise<void>((resolve) => reply.onRoom(resolve));
    const read = startReading(client);
    await room;
    reply.end("the end");
    await until(() => server.openRequests() === 0);
    await until(() => read.last().endsWith("the end\r\n0\r\n\r\n"));
    expect(read.bytes()).toBeGreaterThan(parts * part.length);
    expect(read.bytes()).toBeLessThan(parts * (part.length + 20) + 1_000);
  });

  test("keeps every byte of parts of any size, text or bytes", async () => {
    const { client, reply } = await held();
    const sizes = [1, 1_364, 1_365, 1_366, 4_095, 4_096, 4_097, 16_383, 16_385, 65_536, 69_632, 200_000];
    let sent = "";
    reply.begin(200);
    for (const [i, size] of sizes.entries()) {
      const part = String.fromCharCode(97 + i).repeat(size);
      sent += part;
      reply.write(i % 2 === 0 ? part : Buffer.from(part));
    }
    reply.end("z".repeat(100_000));
    const text = await client.sees(/0\r\n\r\n$/);
    expect(dechunked(text) === sent + "z".repeat(100_000)).toBe(true);
  });

  test("has no bytes for a HEAD", async () => {
    const { client, reply } = await held({ method: "HEAD" });
    reply.begin(200);
    reply.write("body");
    reply.end("more".repeat(10_000));
    const text = await client.sees(/\r\n\r\n/);
    expect(text).not.toMatch(/body|more|Content-Length: 0/);
  });

  test("can be cut, so that half is not taken for the whole, and says so to nobody", async () => {
    const { client, reply, server } = await held();
    let gone = 0;
    reply.onGone(() => gone++);
    reply.begin(200);
    reply.write("half");
    await client.sees(/half/);
    reply.cut();
    reply.cut();
    expect(reply.closed).toBe(true);
    await client.closed;
    expect(client.text()).not.toMatch(/0\r\n\r\n$/);
    expect([gone, server.openRequests()]).toEqual([0, 0]);
  });

  test("stops when its client leaves, and says so once to each who asked", async () => {
    const { client, reply, server } = await held();
    const told: number[] = [];
    reply.onGone(() => told.push(1));
    reply.onGone(() => told.push(2));
    reply.begin(200);
    reply.write("half");
    await client.sees(/half/);
    client.socket.destroy();
    await until(() => reply.closed);
    expect(reply.write("more")).toBe(true);
    reply.end();
    expect(told).toEqual([1, 2]);
    expect(server.openRequests()).toBe(0);
  });

  test("to a client that does not read asks to wait, and calls when there is room", async () => {
    const { client, reply, server } = await held();
    client.socket.pause();
    const { done, refusals } = pour(reply, 400, 64 * 1024);
    expect(refusals()).toBe(1);
    const read = startReading(client);
    await done;
    await until(() => server.openRequests() === 0);
    await until(() => read.last().endsWith("0\r\n\r\n"));
    expect(refusals()).toBeGreaterThan(2);
    expect(read.bytes()).toBeGreaterThan(400 * 64 * 1024);
  });

  test.each([100, 4_096, 30_000, 64 * 1024])(
    "of 50 MB in parts of %i to a slow client takes little memory",
    async (bytes) => {
      const parts = Math.ceil(50_000_000 / bytes);
      const server = await startEdge({ handle: (_request, _endpoint, reply) => void pour(reply, parts, bytes) });
      const answer = await slowGet(server.port);
      const before = process.memoryUsage.rss();
      let peak = 0;
      let got = 0;
      for await (const data of answer) {
        got += data.length;
        peak = Math.max(peak, process.memoryUsage.rss() - before);
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(got).toBe(parts * bytes + "end".length);
      expect(peak).toBeLessThan(onNode ? 80_000_000 : 40_000_000);
    },
  );

  test("of parts of random sizes arrives as it was written, whenever the client reads", async () => {
    const random = seeded(7);
    const sent = createHash("sha256");
    const server = await startEdge({
      handle: (_request, _endpoint, reply) => {
        let left = 3_000;
        const go = () => {
          while (left-- > 0) {
            // Mostly small parts, as in a chat; now and then one that takes several writes.
            const part = randomBytes(1 + Math.floor(random() ** 4 * 100_000));
            sent.update(part);
            if (!reply.write(part)) return;
          }
          if (!reply.closed) reply.end();
        };
        reply.onRoom(go);
        reply.begin(200);
        go();
      },
    });
    const answer = await slowGet(server.port);
    const got = createHash("sha256");
    for await (const data of answer) {
      got.update(data);
      if (random() < 0.05) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(got.digest("hex")).toBe(sent.digest("hex"));
  });

  test("to a client that has stopped reading is given up after a while", async () => {
    const { client, reply, server } = await held({ stalledMsMax: 300 });
    client.socket.pause();
    let gone = 0;
    reply.onGone(() => gone++);
    const { done } = pour(reply, 1_000, 64 * 1024);
    await done;
    expect([gone, server.openRequests()]).toEqual([1, 0]);
  });

  test("that was ended before the client had read it all is not lost", async () => {
    const { client, reply, server } = await held();
    client.socket.pause();
    reply.begin(200);
    const piece = Buffer.alloc(64 * 1024, "x");
    let pieces = 1;
    while (reply.write(piece)) pieces += 1;
    reply.end("the end");
    expect(reply.closed).toBe(true);
    const read = startReading(client);
    await until(() => server.openRequests() === 0);
    await until(() => read.last().endsWith("the end\r\n0\r\n\r\n"));
    expect(read.bytes()).toBeGreaterThan(pieces * piece.length);
  });

  test("whose writer does not stop when told to is cut at a bound", async () => {
    const { client, reply, server } = await held();
    client.socket.pause();
    reply.begin(200);
    let written = 0;
    while (!reply.closed) {
      reply.write(Buffer.alloc(1024 * 1024, "x"));
      written += 1;
    }
    expect(written).toBeGreaterThan(64);
    expect(written).toBeLessThan(80);
    startReading(client);
    await client.closed;
    expect(server.openRequests()).toBe(0);
  });
});
