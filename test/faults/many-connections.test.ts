// Thousands of connections that do nothing or little, on both engines: other clients are served, and the server drops the idle ones.
import { fork } from "node:child_process";
import { once } from "node:events";
import { describe, expect, onTestFinished, test } from "vitest";
import { ENGINES, loadedEngine, post, rawClient, request, startEdge, until } from "../edge/http/edge.ts";
import { connectMany } from "./connect-many.ts";

const IDLE_CLIENTS = new URL("./idle-clients.ts", import.meta.url);

/** Their sockets are in another process, because a process often has 20,000 file descriptors. */
const IDLE = 10_000;
const SLOW = 1_000;

describe.each(ENGINES)("%s", (name) => {
  test(`${IDLE} idle connections: another client is served, and they are closed`, async () => {
    const server = await startEdge({ engine: await loadedEngine(name) });
    const idle = fork(IDLE_CLIENTS, [String(server.port), String(IDLE)]);
    onTestFinished(() => void idle.kill());
    // On a slow machine the server may have closed all of them before the answer below has arrived.
    const exited = once(idle, "exit");
    await Promise.race([once(idle, "message"), exited]);
    const client = await rawClient(server.port);
    client.send(request("GET /hello"));
    await client.sees(/200 OK/);
    expect(await exited).toEqual([0, null]);
  });

  test(`${SLOW} clients that send a byte at a time: another client is served, and they get 408`, async () => {
    const server = await startEdge({ engine: await loadedEngine(name), bodyMsMax: 8_000 });
    let refused = 0;
    // Each sends its head at once: one that waited for the others could be closed as idle.
    const sockets = await connectMany(server.port, SLOW, (socket) => {
      onTestFinished(() => void socket.destroy());
      socket.on("data", (part) => {
        if (part.toString("latin1").startsWith("HTTP/1.1 408 ")) refused += 1;
      });
      socket.write(post("/echo", "", []).replace("content-length: 0", "content-length: 1000"));
    });
    const timer = setInterval(() => {
      for (const socket of sockets) if (socket.writable) socket.write(" ");
    }, 1_000);
    onTestFinished(() => clearInterval(timer));
    // On a slow machine the first of them are refused before the last has come.
    await until(() => server.openRequests() + refused >= SLOW, 60_000);
    const client = await rawClient(server.port);
    client.send(post("/echo", "{}"));
    await client.sees(/200 OK/);
    await until(() => sockets.every(({ destroyed }) => destroyed), 120_000);
    expect(refused).toBe(SLOW);
    await until(() => server.openRequests() === 0);
  });
});
