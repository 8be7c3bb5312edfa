// The end of a request must be unambiguous: what two servers could read as one request or as two is refused, and nothing behind it is
// processed.
import { expect, test } from "vitest";
import type { Endpoint, GatewayRequest, Reply } from "../../src/core/endpoint.ts";
import { currentEngine, echo, endpoint, post, rawClient, request, startEdge, until } from "../edge/http/edge.ts";

const onNode = currentEngine() === "node";
const JSON_TYPE = "content-type: application/json";
const SMUGGLED = request("GET /hello");
const CHUNK = "2\r\n{}\r\n0\r\n\r\n";

/** An edge that records the requests it handled. */
async function notingEdge() {
  const handled: string[] = [];
  const handle = (asked: GatewayRequest, to: Endpoint, reply: Reply) => {
    handled.push(`${asked.method} ${asked.path}`);
    echo(asked, to, reply);
  };
  return { handled, server: await startEdge({ handle }) };
}

const LENGTHS: [string, string, number][] = [
  [
    "two Content-Length lines",
    request("POST /echo", [JSON_TYPE, "content-length: 2", "content-length: 40"], "{}"),
    400,
  ],
  ["two equal ones", request("POST /echo", [JSON_TYPE, "content-length: 2", "content-length: 2"], "{}"), 400],
  ["two of a GET", request("GET /hello", ["content-length: 0", "content-length: 4"], ""), 400],
  ["two where there is nothing", request("POST /nothing", ["content-length: 0", "content-length: 4"], ""), 400],
  ["two Host lines", request("GET /hello", ["host: other"]), 400],
];
test.each(LENGTHS)("%s: refused as JSON, and the connection closed", async (_name, sent, status) => {
  const { server, handled } = await notingEdge();
  const client = await rawClient(server.port);
  client.send(sent);
  await client.closed;
  expect(client.text()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} .*connection: close`, "is"));
  expect(client.text()).toMatch(/x-request-id: req_[\s\S]*"error":"bad_request"/);
  expect(handled).toEqual([]);
  await until(() => server.openRequests() === 0);
});

const CODINGS = [
  ["gzip, chunked", "/echo"],
  ["xchunked", "/echo"],
  ["identity", "/echo"],
  ["chunked, chunked", "/nothing"],
];
test.each(CODINGS)("a Transfer-Encoding of %j at %s is refused, and the connection is closed", async (coding, path) => {
  const { server, handled } = await notingEdge();
  const client = await rawClient(server.port);
  client.send(request(`POST ${path}`, [JSON_TYPE, `transfer-encoding: ${coding}`], CHUNK));
  await client.closed;
  const refused = onNode
    ? /^HTTP\/1\.1 4(00|15) [\s\S]*connection: close/
    : /^HTTP\/1\.1 415 [\s\S]*connection: close[\s\S]*"unsupported_media"/;
  expect(client.text()).toMatch(refused);
  expect(handled).toEqual([]);
});

test("two Transfer-Encoding lines are refused, also of a GET", async () => {
  const { server, handled } = await notingEdge();
  for (const method of ["GET", "POST"]) {
    const client = await rawClient(server.port);
    const lines = [JSON_TYPE, "transfer-encoding: chunked", "transfer-encoding: identity"];
    client.send(request(`${method} /hello`, lines, CHUNK));
    await client.closed;
    expect(client.text()).toMatch(/^HTTP\/1\.1 400 /);
  }
  expect(handled).toEqual([]);
});

test("nothing behind such a request is heard, whether it comes with it or later", async () => {
  const { server, handled } = await notingEdge();
  for (const [, sent] of LENGTHS) {
    const client = await rawClient(server.port);
    client.send(sent + SMUGGLED);
    await client.closed;
    const other = await rawClient(server.port);
    other.send(sent);
    await other.sees(/bad_request/);
    other.send(SMUGGLED);
    await other.closed;
  }
  expect(handled).toEqual([]);
  const client = await rawClient(server.port);
  client.send(post("/echo", "{}"));
  await client.sees(/200 OK/);
});

test.skipIf(onNode)("a call that costs does not begin where another request comes right behind it", async () => {
  const paid = { ...endpoint("POST", "/paid"), plan: () => null } as unknown as Endpoint;
  let begun = 0;
  const server = await startEdge({ endpoints: [paid], handle: () => void begun++ });
  const client = await rawClient(server.port);
  client.send(post("/paid", "{}") + post("/paid", "{}"));
  await client.closed;
  await until(() => server.openRequests() === 0);
  await new Promise((resolve) => setImmediate(resolve));
  expect([begun, client.text()]).toEqual([0, ""]);
  const alone = await rawClient(server.port);
  alone.send(post("/paid", "{}"));
  await until(() => begun === 1);
});

const UNREAD = ["HEAD", "OPTIONS"];
test.each(UNREAD)(
  "a client that asks by %s and asks again and never reads is left, rather than answered into memory",
  async (method) => {
    const server = await startEdge(onNode ? { stalledMsMax: 1_000 } : {});
    const client = await rawClient(server.port);
    client.socket.pause();
    const before = process.memoryUsage.rss();
    const line = `${method} /hello`;
    // Lengths that do not divide uWebSockets' buffer would split a first line, which uWebSockets does not reassemble.
    const asked = request(line, ["x: ".padEnd(64 - request(line, [""]).length, "x")]);
    const many = asked.repeat(1_024);
    for (let i = 0; i < 1_000 && !client.socket.destroyed; i++) {
      const room = new Promise<void>((resolve) => client.socket.once("drain", resolve));
      if (!client.socket.write(many)) await Promise.race([room, client.closed]);
    }
    expect(client.socket.destroyed).toBe(true);
    expect(process.memoryUsage.rss() - before).toBeLessThan(60_000_000);
    await until(() => server.openRequests() === 0);
  },
);

test("no browser is left to guess what an answer is", async () => {
  const { port } = await startEdge();
  for (const sent of [
    request("GET /hello"),
    request("GET /nothing"),
    request("OPTIONS /hello"),
    request("HEAD /hello"),
  ]) {
    const client = await rawClient(port);
    client.send(sent);
    await client.sees(/\r\nx-content-type-options: nosniff\r\n[\s\S]*\r\n\r\n/);
  }
});
