// Sockets at the edge: their bounds, what their answers wait for, and how they end.
import { describe, expect, test } from "vitest";
import type { Endpoint, GatewayRequest, OverSocket, Reply } from "../../../src/core/endpoint.ts";
import type { HttpOptions, HttpServer } from "../../../src/edge/http/server.ts";
import { AnswerBytes } from "../../../src/platform/limits/answer-bytes.ts";
import { createBodyBytes } from "../../../src/platform/limits/body-bytes.ts";
import { endpoint, rawClient, startEdge, until } from "./edge.ts";

const form: OverSocket = {
  wantsNothing: (message) => message.toString() === "nothing",
  ready: () => ({ status: 200, body: null }),
  whole: (status, body) => [JSON.stringify({ status, body })],
};
const TALK: Endpoint = { ...endpoint("POST", "/talk"), overSocket: form };

const event = (text: string): string => `data: ${text}\n\n`;

/** Echoes every message in one event. */
function parrot({ body }: GatewayRequest, _endpoint: Endpoint, reply: Reply): void {
  reply.begin(200);
  reply.end(`${event(body.toString())}data: [DONE]\n\n`);
}

const start = (options: Partial<HttpOptions> = {}): Promise<HttpServer> =>
  startEdge({ endpoints: [TALK, endpoint("GET", "/hello")], handle: parrot, ...options });

interface Client {
  readonly socket: WebSocket;
  readonly heard: string[];
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  next(): Promise<string>;
}

async function connect({ port }: HttpServer): Promise<Client> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/talk`);
  const heard: string[] = [];
  socket.addEventListener("message", ({ data }) => void heard.push(String(data)));
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    socket.addEventListener("close", ({ code, reason }) => resolve({ code, reason })),
  );
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("open", () => resolve());
    socket.addEventListener("error", () => reject(new Error("refused")));
  });
  let taken = 0;
  return {
    socket,
    heard,
    closed,
    async next() {
      await until(() => heard.length > taken);
      return heard[taken++] ?? "";
    },
  };
}

describe("a message", () => {
  test("is a request: each has an id of its own, and no header of the first alone", async () => {
    const seen: GatewayRequest[] = [];
    const server = await start({
      handle(request, ...rest) {
        seen.push(request);
        parrot(request, ...rest);
      },
    });
    const client = await connect(server);
    for (const text of ["one", "two"]) {
      client.socket.send(text);
      expect(await client.next()).toBe(text);
    }
    expect(new Set(seen.map(({ id }) => id)).size).toBe(2);
    expect(seen.map(({ path, method }) => [method, path])).toEqual([
      ["POST", "/talk"],
      ["POST", "/talk"],
    ]);
    expect(seen[1]?.headers.has("content-length")).toBe(false);
    expect(server.openRequests()).toBe(0);
  });

  test("waits until the one before it is answered", async () => {
    const replies: { reply: Reply; text: string }[] = [];
    const server = await start({ handle: ({ body }, _, reply) => void replies.push({ reply, text: body.toString() }) });
    const client = await connect(server);
    for (const text of ["one", "two"]) client.socket.send(text);
    await until(() => replies.length === 1);
    replies[0]?.reply.end(event("answered"));
    expect(await client.next()).toBe("answered");
    await until(() => replies.length === 2);
    expect(replies.map(({ text }) => text)).toEqual(["one", "two"]);
  });

  test("that does not wait for answers ends the socket", async () => {
    const server = await start({ handle: () => {} });
    const client = await connect(server);
    for (let i = 0; i < 6; i++) client.socket.send("again");
    expect((await client.closed).code).toBe(1008);
    await until(() => server.openRequests() === 0);
  });

  test("longer than 4 MiB ends the socket, and is never kept", async () => {
    let asked = 0;
    const server = await start({ handle: () => void asked++ });
    const client = await connect(server);
    client.socket.send("x".repeat(4 * 1024 * 1024 + 1));
    await client.closed;
    expect(asked).toBe(0);
  });

  test("of bytes ends the socket", async () => {
    const client = await connect(await start());
    client.socket.send(new Uint8Array(3));
    expect((await client.closed).code).toBe(1003);
  });

  test("is refused where there is no room for it, and the next one is not", async () => {
    const bodies = createBodyBytes({ bytesMax: 1_000, accountBytesMax: 1_000 });
    const client = await connect(await start({ bodies }));
    client.socket.send("x".repeat(1_001));
    expect(JSON.parse(await client.next())).toMatchObject({ status: 503 });
    client.socket.send("short");
    expect(await client.next()).toBe("short");
  });

  test("that wants nothing is answered by what makes ready", async () => {
    const handle: HttpOptions["handle"] = (_, { ...asked }, reply) =>
      reply.send(200, "answer" in asked && !("overSocket" in asked) ? "ready" : "asked");
    const client = await connect(await start({ handle }));
    client.socket.send("nothing");
    expect(JSON.parse(await client.next())).toEqual({ status: 200, body: "ready" });
  });
});

describe("an answer", () => {
  test("comes event by event, however its bytes are cut", async () => {
    const handle: HttpOptions["handle"] = (_, __, reply) => {
      reply.begin(200);
      for (const byte of `: hello\n\nevent: x\n${event("one")}data: two\ndata: lines\n\n`) reply.write(byte);
      reply.end(event("ü"));
    };
    const client = await connect(await start({ handle }));
    client.socket.send("go");
    expect([await client.next(), await client.next(), await client.next()]).toEqual(["one", "two\nlines", "ü"]);
  });

  test("waits while its client does not read, and its writer is told", async () => {
    const part = event("x".repeat(10_000));
    let written = 0;
    const answers = new AnswerBytes({ bytesMax: 1e8, ownerBytesMax: 1e8 });
    const server = await start({
      answers,
      handle: (_, __, made) => {
        made.belongTo("one");
        made.begin(200);
        const write = (): void => {
          while (written < 1_000) {
            written += 1;
            if (!made.write(part)) return;
          }
          made.end();
        };
        made.onRoom(write);
        write();
      },
    });
    const client = await rawClient(server.port);
    client.send(upgrade("/talk"));
    await client.sees(/ 101 /);
    client.socket.pause();
    client.send(frame("go"));
    await until(() => written > 0);
    const stopped = written;
    expect(stopped).toBeLessThan(1_000);
    expect(answers.bytes).toBeLessThan(100_000);
    client.socket.resume();
    await until(() => client.text().length > 10_000_000);
    expect(written).toBe(1_000);
    await until(() => server.openRequests() === 0);
    expect(answers.bytes).toBe(0);
  });

  test("that its client never reads is cut", async () => {
    let gone = false;
    const server = await start({
      stalledMsMax: 200,
      handle: (_, __, reply) => {
        reply.onGone(() => {
          gone = true;
        });
        reply.begin(200);
        const write = (): void => {
          while (reply.write(event("x".repeat(100_000))));
        };
        reply.onRoom(write);
        write();
      },
    });
    const client = await rawClient(server.port);
    client.send(upgrade("/talk"));
    await client.sees(/ 101 /);
    client.socket.pause();
    client.send(frame("go"));
    await until(() => gone);
    expect(server.openRequests()).toBe(0);
  });

  test("that is cut closes the socket, and who leaves is heard of", async () => {
    const cutting = await connect(await start({ handle: (_, __, reply) => reply.cut() }));
    cutting.socket.send("go");
    expect((await cutting.closed).code).toBe(1006);
    const { promise: gone, resolve: left } = Promise.withResolvers<void>();
    const server = await start({ handle: (_, __, reply) => reply.onGone(() => left()) });
    const leaving = await connect(server);
    leaving.socket.send("go");
    await until(() => server.openRequests() === 1);
    leaving.socket.close();
    await gone;
    expect(server.openRequests()).toBe(0);
  });
});

describe("a socket", () => {
  test("that rests for long is closed", async () => {
    const client = await connect(await start({ socketIdleMsMax: 100, stalledMsMax: 200 }));
    expect((await client.closed).code).toBe(1000);
  });

  test("does not rest while it is answered, and is not open for longer than it may be", async () => {
    const replies: Reply[] = [];
    const options = { socketOpenMsMax: 100, socketIdleMsMax: 100, stalledMsMax: 200 };
    const client = await connect(await start({ ...options, handle: (_, __, made) => void replies.push(made) }));
    client.socket.send("go");
    await until(() => replies.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(client.socket.readyState).toBe(WebSocket.OPEN);
    replies[0]?.end(event("late"));
    expect(await client.next()).toBe("late");
    const told = JSON.parse(await client.next()) as { status: number; body: string };
    expect([told.status, JSON.parse(told.body).error]).toEqual([400, "websocket_connection_limit_reached"]);
    expect((await client.closed).code).toBe(1000);
  });

  test("whose key has to be looked up is open meanwhile, and is told when it is not good", async () => {
    const found = Promise.withResolvers<{ accountId: string; socketsMax: number }>();
    const server = await start({ openSocket: () => found.promise });
    const good = await connect(server);
    const bad = await connect(server);
    for (const { socket } of [good, bad]) socket.send("hello");
    found.resolve({ accountId: "one", socketsMax: 1 });
    expect(await good.next()).toBe("hello");
    expect(JSON.parse(JSON.parse(await bad.next()).body).error).toBe("too_many_streams");
    expect((await bad.closed).code).toBe(1008);
    expect(server.openRequests()).toBe(0);
  });

  test("may not fill memory before it is known whose it is", async () => {
    const server = await start({ openSocket: () => new Promise(() => {}) });
    const client = await connect(server);
    for (let i = 0; i < 2; i++) client.socket.send("hello");
    expect((await client.closed).code).toBe(1008);
  });

  test("is one of as many as its account may have", async () => {
    const server = await start();
    const first = await connect(server);
    await connect(server);
    await expect(connect(server)).rejects.toThrow("refused");
    first.socket.close();
    await first.closed;
    const again = await connect(server);
    again.socket.send("there");
    expect(await again.next()).toBe("there");
  });

  test("counts as the longest message that may come over it: there are no more than memory can bear", async () => {
    const openSocket = ({ id }: GatewayRequest) => ({ accountId: id, socketsMax: 64 });
    const server = await start({ openSocket, socketBytesMax: 3 * 4 * 1_048_576 - 1 });
    const first = await connect(server);
    await connect(server);
    await expect(connect(server)).rejects.toThrow("refused");
    first.socket.close();
    await first.closed;
    const again = await connect(server);
    again.socket.send("there");
    expect(await again.next()).toBe("there");
  });

  test("is one of sixteen at the most, however many calls its account may have", async () => {
    const server = await start({ openSocket: () => ({ accountId: "one", socketsMax: 64 }) });
    await Promise.all(Array.from({ length: 16 }, () => connect(server)));
    await expect(connect(server)).rejects.toThrow("refused");
  });

  test("goes with its listener", async () => {
    const server = await start();
    const client = await connect(server);
    server.handOver();
    expect((await client.closed).code).toBe(1001);
  });
});

/** The text of an upgrade request. */
function upgrade(path: string): string {
  const head = ["Host: x", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"];
  return `GET ${path} HTTP/1.1\r\n${head.join("\r\n")}\r\nSec-WebSocket-Key: ${"A".repeat(22)}==\r\n\r\n`;
}

/** A short client message, masked with zeros. */
function frame(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]);
}
