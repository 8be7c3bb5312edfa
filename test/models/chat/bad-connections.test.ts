// Requests that fail before they are JSON: too large, too many headers, broken off. Sent as bytes on a socket.
import { describe, expect, it } from "vitest";
import { post, rawClient, request } from "../../edge/http/edge.ts";
import { forFile } from "../../support/for-file.ts";
import { eventually, startTestGateway } from "../../support/gateway.ts";
import { CHAT, GOOD } from "./bad-requests.ts";

const MIB = 1024 * 1024;
const BODY_BYTES_MAX = 32 * MIB;

const gateway = forFile(await startTestGateway({ ADDRESS_REQUESTS_PER_MINUTE: "100000" }));
const account = await gateway.account();
const port = Number(new URL(gateway.url).port);

function head(headers: readonly string[], key = account.key): string {
  return request(`POST ${CHAT}`, [`authorization: Bearer ${key}`, "content-type: application/json", ...headers]);
}

const goodRequest = () => post(CHAT, JSON.stringify(GOOD), [`authorization: Bearer ${account.key}`]);

/** A valid request of exactly this many bytes. */
function paddedTo(bytes: number): Buffer {
  const frame = JSON.stringify({ ...GOOD, user: "" });
  return Buffer.from(frame.replace('"user":""', `"user":"${"x".repeat(bytes - frame.length)}"`));
}

describe("a body over 32 MiB", () => {
  it("is refused by its announced length, and the connection serves on once the rest has been read past", async () => {
    const body = paddedTo(BODY_BYTES_MAX + 1);
    const client = await rawClient(port);
    client.send(head([`content-length: ${body.length}`]));
    await client.sees(/^HTTP\/1\.1 413 [\s\S]*"code":"body_too_large"/);
    client.send(body);
    client.send(goodRequest());
    await client.sees(/HTTP\/1\.1 200 OK/);
  });

  it("is refused by its announced length at once where nobody would read so much past", async () => {
    const client = await rawClient(port);
    client.send(head([`content-length: ${1024 * MIB}`]));
    await client.closed;
    expect(client.text()).toMatch(/^HTTP\/1\.1 413 [\s\S]*"code":"body_too_large"/);
  });

  it("is refused as soon as its chunks are too much, and nothing is kept", async () => {
    const client = await rawClient(port);
    client.send(head(["transfer-encoding: chunked"]));
    const chunk = Buffer.concat([Buffer.from(`${MIB.toString(16)}\r\n`), Buffer.alloc(MIB, " "), Buffer.from("\r\n")]);
    let sent = 0;
    while (!client.socket.destroyed && sent < 64) {
      await new Promise((resolve) => client.socket.write(chunk, resolve));
      sent++;
    }
    await client.closed;
    expect(client.text()).toMatch(/^HTTP\/1\.1 413 [\s\S]*"code":"body_too_large"/);
  });

  it("is let in at exactly 32 MiB", async () => {
    const poor = await gateway.account({ creditCents: 0 });
    const body = paddedTo(BODY_BYTES_MAX);
    const client = await rawClient(port);
    client.send(head([`content-length: ${body.length}`], poor.key));
    client.send(body);
    await client.sees(/^HTTP\/1\.1 402 [\s\S]*"code":"insufficient_balance"/);
  });
});

describe("headers", () => {
  it("of more than 16 KiB are told 431 and the connection ends", async () => {
    const client = await rawClient(port);
    client.send(head([`x-padding: ${"x".repeat(40_000)}`, "content-length: 2"]));
    await client.closed;
    expect(client.text()).toMatch(/^(HTTP\/1\.1 431 |$)/);
  });

  it("that never end are not waited for without a bound", async () => {
    const client = await rawClient(port);
    client.send(`POST ${CHAT} HTTP/1.1\r\nhost: x\r\n`);
    for (let sent = 0; sent < 10_000 && !client.socket.destroyed; sent++) {
      await new Promise((resolve) => client.socket.write(`x-${sent}: ${"y".repeat(100)}\r\n`, resolve));
    }
    await client.closed;
    expect(client.text()).toMatch(/^(HTTP\/1\.1 431 |$)/);
  });
});

describe("bytes that are no HTTP", () => {
  it.each([
    "\0\0\0\0\r\n\r\n",
    "GARBAGE\r\n\r\n",
    "POST / HTTP/9.9\r\n\r\n",
    `POST ${CHAT}\r\n\r\n`,
    "\x16\x03\x01\x02\x00",
  ])("end the connection or are told so: %j", async (bytes) => {
    const client = await rawClient(port);
    client.send(bytes);
    client.socket.end();
    await client.closed;
    expect(client.text()).toMatch(/^(HTTP\/1\.1 [45]\d\d |$)/);
  });

  it("as a body whose length is a lie go nowhere: a shorter one waits, the rest of a longer one is another request", async () => {
    const before = (await gateway.books()).requests.length;
    const body = JSON.stringify(GOOD);
    const short = await rawClient(port);
    short.send(head([`content-length: ${body.length + 10}`]) + body);
    short.socket.end();
    await short.closed;
    const long = await rawClient(port);
    long.send(head([`content-length: ${body.length - 10}`]) + body);
    await long.sees(/^HTTP\/1\.1 400 /);
    expect((await gateway.books()).requests.length).toBe(before);
  });

  it("with two different lengths are refused", async () => {
    const before = (await gateway.books()).requests.length;
    const body = JSON.stringify(GOOD);
    const client = await rawClient(port);
    client.send(head([`content-length: ${body.length}`, "transfer-encoding: chunked"]) + body);
    client.socket.end();
    await client.closed;
    expect(client.text()).not.toMatch(/ 200 /);
    expect((await gateway.books()).requests.length).toBe(before);
  });
});

it("leaves the gateway serving and nothing held", async () => {
  const { text, closed } = await (async () => {
    const client = await rawClient(port);
    client.send(goodRequest());
    await client.sees(/200 OK/);
    client.socket.end();
    return client;
  })();
  await closed;
  expect(text()).toContain("HTTP/1.1 200 OK");
  const { json } = await gateway.admin("GET", `/admin/v1/accounts/${account.accountId}`);
  expect(json.held_cents).toBe(0);
  await eventually(() => gateway.records().find(({ code }) => code === "body_too_large"), "a record of the refusal");
});
