// Thousands of connections that do nothing or little, on both engines: other clients are served, and the server drops the idle ones.
import net from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { loadedEngine, post, rawClient, request, startEdge, until } from "../edge/http/edge.ts";

/** Each takes two file descriptors of this process, which often has 20,000. */
const IDLE = 9_000;
const SLOW = 1_000;
const AT_ONCE = 250;

/** Opens connections in groups, because the kernel's accept queue is short. */
async function connect(port: number, count: number): Promise<readonly net.Socket[]> {
  const sockets: net.Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  while (sockets.length < count) {
    const group = Array.from({ length: Math.min(AT_ONCE, count - sockets.length) }, () =>
      net.connect(port, "127.0.0.1"),
    );
    for (const socket of group) socket.on("error", () => {}).resume();
    await Promise.all(group.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
    sockets.push(...group);
  }
  return sockets;
}

describe.each(["uws", "node"] as const)("%s", (name) => {
  test(`${IDLE} idle connections: another client is served, and they are closed`, async () => {
    const server = await startEdge({ engine: await loadedEngine(name) });
    const sockets = await connect(server.port, IDLE);
    const client = await rawClient(server.port);
    client.send(request("GET /hello"));
    await client.sees(/200 OK/);
    await until(() => sockets.every(({ destroyed }) => destroyed), 60_000);
  });

  test(`${SLOW} clients that send a byte at a time: another client is served, and they get 408`, async () => {
    const server = await startEdge({ engine: await loadedEngine(name), bodyMsMax: 8_000 });
    const sockets = await connect(server.port, SLOW);
    let refused = 0;
    for (const socket of sockets) {
      socket.on("data", (part) => {
        if (part.toString("latin1").startsWith("HTTP/1.1 408 ")) refused += 1;
      });
      socket.write(post("/echo", "", []).replace("content-length: 0", "content-length: 1000"));
    }
    const timer = setInterval(() => {
      for (const socket of sockets) if (socket.writable) socket.write(" ");
    }, 1_000);
    onTestFinished(() => clearInterval(timer));
    await until(() => server.openRequests() === SLOW);
    const client = await rawClient(server.port);
    client.send(post("/echo", "{}"));
    await client.sees(/200 OK/);
    await until(() => sockets.every(({ destroyed }) => destroyed), 60_000);
    expect(refused).toBe(SLOW);
    expect(server.openRequests()).toBe(0);
  });
});
