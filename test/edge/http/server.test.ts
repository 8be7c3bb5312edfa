// How the edge handles requests: which reach the pipeline, which it rejects, and what every answer carries.
import { request as undiciRequest } from "undici";
import { describe, expect, test } from "vitest";
import { currentEngine, echo, endpoint, post, rawClient, request, startEdge, until } from "./edge.ts";

const onNode = currentEngine() === "node";

async function call(port: number, path: string, init: RequestInit = {}) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
  const text = await response.text();
  return { status: response.status, headers: response.headers, json: text === "" ? null : JSON.parse(text) };
}

const JSON_HEADERS = { "content-type": "application/json" };

describe("a request that is in order", () => {
  test("reaches the pipeline with method, path, params, query, kept headers, body, address and id", async () => {
    const { port } = await startEdge();
    const { status, headers, json } = await call(port, "/echo?a=1&b=%20", {
      method: "POST",
      headers: {
        ...JSON_HEADERS,
        authorization: "Bearer k",
        "x-tollgate-trace": "1",
        "x-unknown": "u",
        "x-request-id": "mine",
      },
      body: '{"a":1}',
    });
    expect(status).toBe(200);
    expect(json).toMatchObject({
      method: "POST",
      path: "/echo",
      query: "a=1&b=+",
      body: '{"a":1}',
      address: "127.0.0.1",
    });
    expect(json.headers).toMatchObject({ authorization: "Bearer k", "x-tollgate-trace": "1" });
    expect(json.headers).not.toHaveProperty("x-unknown");
    expect(json.id).toMatch(/^req_[0-9A-Za-z]{20}$/);
    expect(headers.get("x-request-id")).toBe(json.id);
    expect((await call(port, "/things/a%2Fb")).json.params).toEqual({ id: "a/b" });
  });

  test("has an id of its own every time", async () => {
    const { port } = await startEdge();
    const client = await rawClient(port);
    client.send(request("GET /hello").repeat(1_000) + post("/echo", "the last"));
    const text = await client.sees(/the last/);
    expect(new Set(text.match(/x-request-id: req_\w+/g)).size).toBe(1_001);
  });

  test("may say JSON in other words, or not say it", async () => {
    const { port } = await startEdge();
    for (const type of ["application/json; charset=utf-8", "Application/JSON", "application/vnd.api+json"]) {
      const { status } = await call(port, "/echo", { method: "POST", headers: { "content-type": type }, body: "{}" });
      expect([type, status]).toEqual([type, 200]);
    }
    expect((await call(port, "/echo", { method: "POST", body: Buffer.from("{}") })).json.body).toBe("{}");
  });

  test("is answered without a word of the program that listens", async () => {
    const { port } = await startEdge();
    const client = await rawClient(port);
    client.send(request("GET /hello"));
    expect(await client.sees(/"method"/)).not.toMatch(/uwebsockets/i);
  });

  test("may come without a body, or with an empty one", async () => {
    const { port } = await startEdge();
    expect((await call(port, "/echo", { method: "POST" })).json.body).toBe("");
    expect((await call(port, "/things/7", { method: "DELETE" })).json).toMatchObject({ method: "DELETE", body: "" });
  });

  test("may be followed at once by others that are answered at once (pipelining)", async () => {
    const { port } = await startEdge();
    const client = await rawClient(port);
    client.send(post("/echo", "first") + request("GET /hello") + post("/echo", "third"));
    const text = await client.sees(/third/);
    expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(3);
    expect(text.indexOf("first")).toBeLessThan(text.indexOf("third"));
  });

  test("may ask for 100 Continue before it sends its body", async () => {
    const { port } = await startEdge();
    const client = await rawClient(port);
    client.send(request("POST /echo", ["content-type: application/json", "content-length: 2", "expect: 100-continue"]));
    await client.sees(/^HTTP\/1\.1 100 Continue\r\n\r\n/);
    client.send("{}");
    await client.sees(/HTTP\/1\.1 200 OK/);
  });

  test("is served whatever else it expects", async () => {
    const { port } = await startEdge();
    const client = await rawClient(port);
    client.send(`${request("POST /echo", ["content-type: application/json", "content-length: 2", "expect: more"])}{}`);
    expect(await client.sees(/\r\n\r\n/)).toMatch(/^HTTP\/1\.1 200 OK.*x-request-id: /s);
  });

  test("is answered without a body when it is a HEAD, and the connection ends", async () => {
    const { port } = await startEdge();
    const client = await rawClient(port);
    client.send(request("HEAD /hello"));
    const text = await client.sees(/\r\n\r\n$/);
    expect(text).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(Number(/content-length: (\d+)/i.exec(text)?.[1])).toBeGreaterThan(50);
    expect(text).toContain("connection: close");
    await client.closed;
  });
});

test("an answer to a request that closes its connection announces the close, not a keep-alive time", async () => {
  const server = await startEdge();
  for (const connection of ["close", "Close, Upgrade"]) {
    const client = await rawClient(server.port);
    client.send(request("GET /hello", [`connection: ${connection}`, "upgrade: h2c"]));
    await client.closed;
    expect(client.text()).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\nconnection: close\r\n[\s\S]*}$/);
    expect(client.text()).not.toMatch(/keep-alive:/i);
  }
});

test("an answer announces how long its connection stays open, unless the connection ends with it", async () => {
  const { port } = await startEdge();
  const client = await rawClient(port);
  client.send(request("GET /hello"));
  const announced = onNode ? "keep-alive: timeout=65" : "keep-alive: timeout=8";
  expect((await client.sees(/"method"/)).toLowerCase()).toContain(`\r\n${announced}`);
  const last = await rawClient(port);
  last.send(request("HEAD /hello"));
  expect((await last.sees(/\r\n\r\n$/)).toLowerCase()).not.toContain("keep-alive:");
});

describe("a request that is not", () => {
  test.each([
    ["GET", "/nothing", {}, 404, "not_found", "envelope"],
    ["GET", "/api/llm/v1/nothing", {}, 404, "not_found", "chat-completions"],
    ["GET", "/hello/", {}, 404, "not_found", "envelope"],
    ["GET", "/things/%zz", {}, 400, "bad_request", "envelope"],
    ["GET", "/api/llm/v1/chat/completions", {}, 405, "method_not_allowed", "chat-completions"],
    // Node's parser accepts registered methods only.
    [onNode ? "PURGE" : "BREW", "/hello", {}, 405, "method_not_allowed", "envelope"],
    ["POST", "/echo", { "content-type": "application/x-www-form-urlencoded" }, 415, "unsupported_media", "envelope"],
    ["POST", "/echo", { "content-type": "text/plain" }, 415, "unsupported_media", "envelope"],
    ["POST", "/echo", { ...JSON_HEADERS, "content-encoding": "gzip" }, 415, "unsupported_media", "envelope"],
  ])("%s %s %j is %i %s", async (method, path, headers, status, code, errors) => {
    const { port } = await startEdge();
    const client = await rawClient(port);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const body = method === "POST" ? "a=1" : "";
    client.send(request(`${method} ${path}`, [...lines, `content-length: ${body.length}`], body));
    const text = await client.sees(/\}$/);
    expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(text).toMatch(/x-request-id: req_/);
    expect(JSON.parse(text.slice(text.indexOf("{")))).toMatchObject({ error: code, errors });
    // The connection is still usable.
    client.send(request("GET /hello"));
    await client.sees(/"method":"GET"/);
  });

  test("is told what would be right", async () => {
    const { port } = await startEdge();
    const wrongMethod = await call(port, "/things/7", { method: "POST" });
    expect(wrongMethod.headers.get("allow")).toBe("GET, HEAD, DELETE, OPTIONS");
    const form = await call(port, "/echo", { method: "POST", body: new URLSearchParams("a=1") });
    expect(form.json.message).toContain("-H 'Content-Type: application/json'");
    expect((await call(port, "/hello/")).json.message).toContain("Leave the slash at the end out: /hello");
  });

  test.each([
    ["no Host", "GET /hello HTTP/1.1\r\naccept: */*\r\n\r\n", 400],
    ["both lengths", request("POST /echo", ["content-length: 2", "transfer-encoding: chunked"], "{}"), 400],
    ["a length that is no number", request("POST /echo", ["content-length: 2x"], "{}"), 400],
    ["HTTP/1.0", "GET /hello HTTP/1.0\r\nhost: a\r\n\r\n", onNode ? 200 : 505],
    ["a header flood in one piece", request("GET /hello", [`x-flood: ${"x".repeat(17_000)}`]), 431],
    [
      "a header flood of many",
      request(
        "GET /hello",
        Array.from({ length: 200 }, (_, i) => `x-${i}: 1`),
      ),
      // Its headers are few bytes, and the node engine counts only bytes.
      onNode ? 200 : 431,
    ],
  ])("with %s ends its connection", async (_name, text, status) => {
    const { port } = await startEdge();
    const client = await rawClient(port);
    client.send(text);
    if (status === 200) await client.sees(/200 OK/);
    else await client.closed;
    expect(client.text()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });

  test("with headers that never end is closed at the limit", async () => {
    const { port } = await startEdge();
    const client = await rawClient(port);
    client.send("GET /hello HTTP/1.1\r\nhost: a\r\nx-flood: ");
    for (let i = 0; i < 20 && !client.socket.destroyed; i++) client.send("x".repeat(1_000));
    await client.closed;
    expect(client.text()).toMatch(/^HTTP\/1\.1 431 /);
  });

  test("may have headers of 15 KiB", async () => {
    const { port } = await startEdge();
    const { status } = await call(port, "/hello", { headers: { authorization: "x".repeat(15_000) } });
    expect(status).toBe(200);
  });

  test("that the pipeline fails on is told internal_error, or cut when its answer has begun", async () => {
    const { port } = await startEdge({
      handle: async ({ path }, _endpoint, reply) => {
        if (path === "/hello") throw new Error("broken on purpose");
        reply.begin(200);
        reply.write("half");
        throw new Error("broken on purpose");
      },
    });
    expect(await call(port, "/hello")).toMatchObject({ status: 500, json: { error: "internal_error" } });
    const client = await rawClient(port);
    client.send(request("GET /things/1"));
    await client.closed;
    expect(client.text()).toContain("half");
    expect(client.text()).not.toMatch(/0\r\n\r\n$/);
  });
});

describe("web pages of other origins", () => {
  test("may read every answer and send every header, where they are let", async () => {
    const { port } = await startEdge();
    const preflight = await call(port, "/api/llm/v1/chat/completions", {
      method: "OPTIONS",
      headers: {
        "access-control-request-headers": "authorization,x-stainless-os",
        "access-control-request-method": "POST",
      },
    });
    expect(preflight.status).toBe(200);
    expect(preflight.headers.get("access-control-allow-origin")).toBe("*");
    expect(preflight.headers.get("access-control-allow-headers")).toBe("authorization,x-stainless-os");
    expect(preflight.headers.get("access-control-allow-methods")).toContain("POST");
    for (const path of ["/hello", "/nothing"]) {
      const { headers } = await call(port, path);
      expect(headers.get("access-control-allow-origin")).toBe("*");
      expect(headers.get("access-control-expose-headers")).toBe("*");
    }
  });

  test("read nothing of a listener that is for this machine only, nor rebind their name to it", async () => {
    const { port } = await startEdge({ cors: null, allowedHosts: ["gateway.test"] });
    const plain = await call(port, "/hello");
    expect(plain.status).toBe(200);
    expect(plain.headers.get("access-control-allow-origin")).toBeNull();
    expect((await call(port, "/hello", { method: "OPTIONS" })).status).toBe(405);
    for (const [host, status] of [
      ["evil.example", 400],
      [`evil.example:${port}`, 400],
      ["127.0.0.1.evil.example", 400],
      ["localhost", 200],
      [`LOCALHOST:${port}`, 200],
      [`[::1]:${port}`, 200],
      ["gateway.test", 200],
    ] as const) {
      const { statusCode, body } = await undiciRequest(`http://127.0.0.1:${port}/hello`, { headers: { host } });
      await body.dump();
      expect([host, statusCode]).toEqual([host, status]);
    }
  });
});

describe("listening", () => {
  test("says when the address is taken, unless it is shared on purpose", async () => {
    const { port, stopAccepting } = await startEdge();
    await expect(startEdge({ port })).rejects.toThrow(`cannot listen on 127.0.0.1 port ${port}`);
    stopAccepting();
    await startEdge({ exclusive: false, port });
    await expect(startEdge({ exclusive: false, port })).resolves.toMatchObject({ port });
  });

  test("works on IPv6, and shows IPv4 clients of a dual-stack socket by their IPv4 address", async () => {
    const { port } = await startEdge({ host: "::" });
    expect((await call(port, "/hello")).json.address).toBe("127.0.0.1");
    const six = await fetch(`http://[::1]:${port}/hello`);
    expect(await six.json()).toMatchObject({ address: "0:0:0:0:0:0:0:1" });
  });

  test("refuses two endpoints for one path and method", async () => {
    const endpoints = [endpoint("GET", "/a"), endpoint("GET", "/a")];
    await expect(startEdge({ endpoints })).rejects.toThrow("two endpoints for GET /a");
  });

  test("believes as many proxies as it is told to", async () => {
    const { port } = await startEdge({ trustProxy: 1 });
    const { json } = await call(port, "/hello", { headers: { "x-forwarded-for": "6.6.6.6, 203.0.113.9" } });
    expect(json.address).toBe("203.0.113.9");
    // Some proxies add a line instead of extending the client's.
    const client = await rawClient(port);
    client.send(request("GET /hello", ["x-forwarded-for: 6.6.6.6", "x-forwarded-for: 203.0.113.7"]));
    await client.sees(/"address":"203\.0\.113\.7"/);
  });
});

describe("stopping", () => {
  test("lets open streams finish, tells new requests on open connections, and takes no new connection", async () => {
    const streams: { end(): void }[] = [];
    const server = await startEdge({
      handle: (incoming, at, reply) => {
        if (incoming.path !== "/things/1") return echo(incoming, at, reply);
        reply.begin(200);
        reply.write("one");
        streams.push({ end: () => reply.end("two") });
      },
    });
    const streaming = await rawClient(server.port);
    const idle = await rawClient(server.port);
    idle.send(request("GET /hello"));
    await idle.sees(/"method"/);
    streaming.send(request("GET /things/1"));
    await streaming.sees(/one/);
    server.stopAccepting();
    server.stopAccepting();
    await expect(rawClient(server.port)).rejects.toThrow("ECONNREFUSED");
    idle.send(request("GET /hello"));
    await idle.closed;
    expect(idle.text()).toMatch(/HTTP\/1\.1 503 .*connection: close.*"draining"/is);
    expect(idle.text().match(/connection: close/gi)).toHaveLength(1);
    expect(server.openRequests()).toBe(1);
    streams[0]?.end();
    await streaming.sees(/two\r\n0\r\n\r\n$/);
    expect(server.openRequests()).toBe(0);
  });

  test("hands over to another process on its port: what comes on open connections is answered, and ends them", async () => {
    const { port, stopAccepting } = await startEdge();
    stopAccepting();
    const old = await startEdge({ exclusive: false, port });
    const open = await rawClient(old.port);
    open.send(request("GET /hello"));
    await open.sees(/"method"/);
    const next = await startEdge({
      exclusive: false,
      port: old.port,
      handle: (_request, _endpoint, reply) => reply.send(200, "next"),
    });
    old.handOver();
    open.send(request("GET /things/1"));
    await open.closed;
    expect(open.text()).toMatch(/HTTP\/1\.1 200 .*connection: close.*"\/things\/1"/is);
    for (let at = 0; at < 8; at++) {
      const answer = await fetch(`http://127.0.0.1:${next.port}/hello`, { headers: { connection: "close" } });
      expect(await answer.text()).toBe("next");
    }
  });

  test("can break every connection", async () => {
    const server = await startEdge({ handle: () => {} });
    const client = await rawClient(server.port);
    client.send(request("GET /hello"));
    await until(() => server.openRequests() === 1);
    server.close();
    await client.closed;
    await until(() => server.openRequests() === 0);
  });
});
