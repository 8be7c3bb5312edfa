// Clients slower than uWebSockets' own timeouts of 8 to 12 s, which the edge extends.
import { expect, test } from "vitest";
import { rawClient, request, startEdge } from "../edge/http/edge.ts";

async function seconds(count: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, count * 1_000));
}

test("a body that keeps coming, but slowly, is let in", async () => {
  const server = await startEdge();
  const client = await rawClient(server.port);
  client.send(request("POST /echo", ["content-type: application/json", "content-length: 14"]));
  for (let i = 0; i < 14; i++) {
    client.send(" ");
    await seconds(1);
  }
  await client.sees(/200 OK/);
});

test("a body that does not come is told 408 after 30 s", async () => {
  const server = await startEdge();
  const client = await rawClient(server.port);
  const startedMs = performance.now();
  client.send(request("POST /echo", ["content-type: application/json", "content-length: 14"]));
  await client.closed;
  expect(client.text()).toMatch(/^HTTP\/1\.1 408 /);
  expect(performance.now() - startedMs).toBeGreaterThan(29_000);
});

test("a stream may be silent", async () => {
  const server = await startEdge({
    handle: async (_request, _endpoint, reply) => {
      reply.begin(200);
      reply.write("before");
      await seconds(13);
      reply.end("after");
    },
  });
  const client = await rawClient(server.port);
  client.send(request("GET /hello"));
  await client.sees(/before/);
  await seconds(13);
  await client.sees(/after/);
});

test("a reader who stops for 15 s in a large answer gets all of it", async () => {
  const body = Buffer.alloc(20_000_000, "x");
  const server = await startEdge({ handle: (_request, _endpoint, reply) => reply.send(200, body) });
  const client = await rawClient(server.port);
  client.socket.pause();
  client.socket.removeAllListeners("data");
  client.send(request("GET /hello", ["connection: close"]));
  await seconds(15);
  let got = 0;
  client.socket.on("data", (data) => {
    got += data.length;
  });
  client.socket.resume();
  await client.closed;
  expect(got).toBeGreaterThan(body.length);
});
