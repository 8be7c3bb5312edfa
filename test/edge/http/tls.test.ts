// TLS at the public listener, on both engines: HTTP/1.1, HTTP/2 on the node engine, and a new certificate while it serves.
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import http2 from "node:http2";
import https from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import tls from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Reply } from "../../../src/core/endpoint.ts";
import { readCertificate } from "../../../src/edge/http/certificate.ts";
import { CONNECTION_LIMITS, type EngineName } from "../../../src/edge/http/engine.ts";
import type { HttpOptions } from "../../../src/edge/http/server.ts";
import { makeCertificate } from "../../support/certificates.ts";
import { removeFolder } from "../../support/remove-folder.ts";
import { BODY_BYTES_MAX, ENGINES, loadedEngine, startEdge, until } from "./edge.ts";

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-tls-"));
  onTestFinished(() => removeFolder(folder));
  return folder;
}

async function certificate() {
  const { certificateFile, keyFile } = await makeCertificate(temporary());
  return readCertificate(certificateFile, keyFile);
}

async function start(name: EngineName, options: Partial<HttpOptions> = {}) {
  return startEdge({ ...options, engine: await loadedEngine(name), certificate: await certificate() });
}

function get(port: number, path = "/hello"): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const asked = https.get({ port, path, rejectUnauthorized: false, agent: false }, (answer) => {
      let text = "";
      answer.on("data", (part) => {
        text += part;
      });
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    asked.on("error", reject);
  });
}

function serialOf(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = tls.connect({ port, host: "127.0.0.1", rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    });
    socket.on("error", reject);
  });
}

describe.each(ENGINES)("%s", (name) => {
  test("serves HTTP/1.1 over TLS, and whole answers of megabytes", async () => {
    const body = "x".repeat(4_000_000);
    const server = await start(name, { handle: (_request, _endpoint, reply) => reply.send(200, body) });
    const answer = await get(server.port);
    expect([answer.status, answer.text.length]).toEqual([200, body.length]);
  });

  test("serves new connections with another certificate, and the old ones go on", async () => {
    const server = await start(name);
    const before = await serialOf(server.port);
    const next = await certificate();
    await server.setCertificate(next);
    expect(await serialOf(server.port)).not.toBe(before);
    expect((await get(server.port)).status).toBe(200);
  });
});

test("the node engine closes the TLS connection of headers that take too long", async () => {
  const server = await start("node", { limits: { ...CONNECTION_LIMITS, headerMsMax: 500 } });
  const socket = tls.connect({ port: server.port, host: "127.0.0.1", rejectUnauthorized: false });
  let text = "";
  socket.on("data", (part) => {
    text += part;
  });
  socket.write("GET /hello HTTP/1.1\r\nhost: a\r\n");
  await once(socket, "close");
  expect(text).toMatch(/^HTTP\/1\.1 408 /);
});

test.each(["http/1.1", "h2"])("the node engine and half-closed %s connections", async (protocol) => {
  const replies: Reply[] = [];
  const server = await start("node", { handle: (_request, _endpoint, reply) => void replies.push(reply) });
  const options = { rejectUnauthorized: false, allowHalfOpen: true, ALPNProtocols: [protocol] };
  const socket = tls.connect({ port: server.port, host: "127.0.0.1", ...options });
  let text = "";
  socket.on("data", (part) => {
    text += part;
  });
  if (protocol === "h2") {
    socket.end("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    return void (await once(socket, "close"));
  }
  socket.end("GET /hello HTTP/1.1\r\nhost: a\r\n\r\n");
  await until(() => text.startsWith("HTTP/1.1 100 "));
  replies[0]?.send(200, '"late"');
  await once(socket, "close");
  expect(text).toMatch(/"late"$/);
});

describe("HTTP/2", () => {
  async function session(options: Partial<HttpOptions> = {}) {
    const server = await start("node", options);
    const client = http2.connect(`https://127.0.0.1:${server.port}`, { rejectUnauthorized: false });
    onTestFinished(() => client.destroy());
    return { server, client };
  }

  test("serves requests side by side, with their bodies", async () => {
    const { client } = await session();
    const ask = (body: string) =>
      new Promise<string>((resolve, reject) => {
        const stream = client.request({
          ":method": "POST",
          ":path": "/echo",
          "content-type": "application/json",
          "content-length": String(body.length),
        });
        let text = "";
        stream.setEncoding("utf8");
        stream.on("data", (part) => {
          text += part;
        });
        stream.on("end", () => resolve(text));
        stream.on("error", reject);
        stream.end(body);
      });
    const answers = await Promise.all(["one", "two", "three"].map(ask));
    expect(answers.map((text) => JSON.parse(text).body)).toEqual(["one", "two", "three"]);
    expect(JSON.parse(answers[0] ?? "{}").address).toBe("127.0.0.1");
  });

  test("reads a body whose length is not announced", async () => {
    const { client } = await session();
    const stream = client.request({ ":method": "POST", ":path": "/echo", "content-type": "application/json" });
    let text = "";
    stream.on("data", (part) => {
      text += part;
    });
    stream.write('"first ');
    stream.end('last"');
    await once(stream, "end");
    expect(JSON.parse(text).body).toBe('"first last"');
  });

  test("stops the sender of a body that becomes too large", async () => {
    const { server, client } = await session();
    const stream = client.request({ ":method": "POST", ":path": "/echo", "content-type": "application/json" });
    stream.on("error", () => {});
    stream.write(Buffer.alloc(BODY_BYTES_MAX + 1));
    const [head] = await once(stream, "response");
    expect(head[":status"]).toBe(413);
    stream.resume();
    await once(stream, "close");
    expect(server.openRequests()).toBe(0);
  });

  test("opens no tunnel", async () => {
    const { client } = await session();
    const stream = client.request({ ":method": "CONNECT", ":authority": "localhost:443" });
    const [head] = await once(stream, "response");
    expect(head[":status"]).toBe(404);
  });

  test("closes a connection that is idle, and completes its open streams", async () => {
    const replies: Reply[] = [];
    const limits = { ...CONNECTION_LIMITS, idleMsMax: 200 };
    const { client } = await session({ limits, handle: (_request, _endpoint, reply) => void replies.push(reply) });
    const stream = client.request({ ":path": "/hello" });
    await once(client, "goaway");
    replies[0]?.send(200, "{}");
    const [head] = await once(stream, "response");
    expect(head[":status"]).toBe(200);
    stream.resume();
    await once(client, "close");
  });

  test("tells a stream's writer that its client has reset it, and serves the others", async () => {
    const replies: Reply[] = [];
    const { server, client } = await session({ handle: (_request, _endpoint, reply) => void replies.push(reply) });
    const stream = client.request({ ":path": "/hello" });
    stream.on("error", () => {});
    await until(() => replies.length === 1);
    let gone = 0;
    replies[0]?.onGone(() => void gone++);
    replies[0]?.begin(200);
    replies[0]?.write("part");
    await new Promise((resolve) => stream.once("data", resolve));
    stream.close(http2.constants.NGHTTP2_CANCEL);
    await until(() => gone === 1);
    expect(server.openRequests()).toBe(0);
    const other = client.request({ ":path": "/hello" });
    await until(() => replies.length === 2);
    replies[1]?.send(200, "{}");
    await new Promise((resolve) => other.once("response", resolve));
    other.close();
  });
});

test("a key of another certificate is refused in a sentence", async () => {
  const [one, other] = [await makeCertificate(temporary()), await makeCertificate(temporary())];
  expect(() => readCertificate(one.certificateFile, other.keyFile)).toThrow(/^TLS_KEY: .* is not the key of /);
  expect(() => readCertificate(join(temporary(), "none.pem"), one.keyFile)).toThrow(/^TLS_CERT: .* cannot be read/);
  const { endMs } = readCertificate(one.certificateFile, one.keyFile);
  expect(endMs).toBeGreaterThan(Date.now());
});
