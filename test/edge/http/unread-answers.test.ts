// Clients that send requests and never read: how much memory their answers take, and that all of it is freed.
import { expect, onTestFinished, test } from "vitest";
import type { Reply } from "../../../src/core/endpoint.ts";
import { AnswerBytes } from "../../../src/platform/limits/answer-bytes.ts";
import { rawClient, request, startEdge, until } from "./edge.ts";

const MIB = 1_048_576;
/** More than a connection's sockets buffer. */
const LONG = 16 * MIB;

/** Clients that have sent requests and do not read, and their pending replies. */
async function unread(owners: readonly string[], bounds: { bytesMax: number; ownerBytesMax: number }) {
  const answers = new AnswerBytes(bounds);
  const replies: Reply[] = [];
  const server = await startEdge({
    answers,
    handle(_request, _endpoint, reply) {
      reply.belongTo(owners[replies.length] ?? "");
      replies.push(reply);
    },
  });
  const clients = [];
  for (const _ of owners) {
    const client = await rawClient(server.port);
    client.socket.pause();
    client.send(request("GET /hello"));
    clients.push(client);
    await until(() => replies.length === clients.length);
  }
  onTestFinished(() => expect(answers.bytes).toBe(0));
  return { answers, server, clients, replies };
}

const WIDE = { bytesMax: 1_000 * MIB, ownerBytesMax: 1_000 * MIB };

test("a whole answer is counted while its client does not take it, and given back when it has left", async () => {
  const { answers, clients, replies, server } = await unread(["a"], WIDE);
  replies[0]?.send(200, Buffer.alloc(LONG, "x"));
  expect(answers.bytes).toBe(LONG);
  clients[0]?.socket.destroy();
  await until(() => server.openRequests() === 0);
  expect(answers.bytes).toBe(0);
});

test("an answer that its client takes is given back with its last byte", async () => {
  const { answers, clients, replies, server } = await unread(["a"], WIDE);
  replies[0]?.send(200, Buffer.alloc(LONG, "x"));
  expect(answers.bytes).toBe(LONG);
  clients[0]?.socket.resume();
  await until(() => server.openRequests() === 0);
  expect(answers.bytes).toBe(0);
});

test("sixty clients of one body take what one takes", async () => {
  const { answers, clients, replies, server } = await unread(Array(60).fill("a"), WIDE);
  const body = Buffer.alloc(LONG, "x");
  for (const reply of replies) reply.send(200, body);
  expect(answers.bytes).toBe(LONG);
  for (const { socket } of clients) socket.destroy();
  await until(() => server.openRequests() === 0);
  expect(answers.bytes).toBe(0);
});

test.each([
  ["whole", (reply: Reply, body: Buffer) => reply.send(200, body)],
  [
    "streamed",
    (reply: Reply, body: Buffer) => {
      reply.begin(200);
      reply.write(body);
    },
  ],
  [
    "of known length",
    (reply: Reply, body: Buffer) => {
      reply.begin(200, body.length);
      reply.write(body);
    },
  ],
])(
  "beyond the bound, the %s answer goes that has waited longest, its connection is broken and its writer told",
  async (_, answer) => {
    const { answers, clients, replies, server } = await unread(["a", "b", "c"], {
      bytesMax: 2.5 * LONG,
      ownerBytesMax: 2 * LONG,
    });
    let gone = 0;
    replies[0]?.onGone(() => {
      gone += 1;
    });
    for (const reply of replies) {
      answer(reply, Buffer.alloc(LONG, "x"));
      expect(answers.bytes).toBeLessThanOrEqual(2.5 * LONG);
    }
    await until(() => server.openRequests() === 2);
    expect(replies.map(({ closed }) => closed)).toEqual([true, _ === "whole", _ === "whole"]);
    expect(gone).toBe(_ === "whole" ? 0 : 1);
    clients[0]?.socket.resume();
    await clients[0]?.closed;
    expect(clients[0]?.text().length).toBeLessThan(LONG);
    for (const { socket } of clients) socket.destroy();
    await until(() => server.openRequests() === 0);
  },
);

test("a client that reads steadily is not the one that goes", async () => {
  const { answers, clients, replies, server } = await unread(["a", "a", "a"], {
    bytesMax: WIDE.bytesMax,
    ownerBytesMax: 2.5 * LONG,
  });
  const [steady, still] = clients;
  replies[0]?.send(200, Buffer.alloc(LONG, "x"));
  replies[1]?.send(200, Buffer.alloc(LONG, "y"));
  const heard = () => steady?.text().length ?? 0;
  steady?.socket.resume();
  // The server resumes writing once the client has made room.
  await until(() => heard() > 8 * MIB);
  replies[2]?.send(200, Buffer.alloc(LONG, "z"));
  await until(() => heard() > LONG);
  still?.socket.resume();
  clients[2]?.socket.destroy();
  await until(() => server.openRequests() === 0);
  expect(answers.bytes).toBe(0);
});
