// Answers that no vendor should give: what the caller gets, that broken answers are free, and that the gateway survives.
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { cpuMsOf } from "../../support/cpu-time.ts";
import { forFile } from "../../support/for-file.ts";
import { eventually } from "../../support/gateway.ts";
import type { VendorAnswer } from "../../support/vendor-server.ts";
import { startAcmeGateway } from "./acme-gateway.ts";

const gateway = forFile(await startAcmeGateway());
const account = await gateway.live({ creditCents: 100_000 });

const MIB = 1024 * 1024;

/** Sends raw bytes on the vendor's socket, then closes it. */
const raw = (bytes: string | Buffer): VendorAnswer => {
  return (response) => void response.socket?.end(bytes);
};
const http = (head: string, body: string | Buffer = ""): VendorAnswer => {
  const length = Buffer.byteLength(body);
  const lines = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n${head}`;
  return raw(Buffer.concat([Buffer.from(`${lines}\r\n`), Buffer.from(body)]));
};
const typed = (type: string, body: string | Buffer): VendorAnswer => ({ headers: { "content-type": type }, body });
const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
const bomb = gzipSync(Buffer.alloc(64 * MIB, 0x20), { level: 9 });

/** An account's balance, once nothing is held. */
async function settledCents(): Promise<number> {
  await eventually(async () => ((await gateway.heldCents(account)) === 0 ? true : undefined), "the hold to end");
  return gateway.balanceCents(account);
}

describe("an answer that is good in a strange way", () => {
  it.each<[string, VendorAnswer, unknown]>([
    ["has a byte order mark", typed("application/json", '\uFEFF{"a":1}'), { a: 1 }],
    ["is an array", typed("application/json", "[1,2]"), [1, 2]],
    ["has no content-type", raw('HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n{"a":1}'), { a: 1 }],
    [
      "has no length and ends with its connection",
      raw('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{"a":1}'),
      { a: 1 },
    ],
    [
      "comes after an early hint",
      raw('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n{"a":1}'),
      { a: 1 },
    ],
    [
      "comes byte by byte",
      raw(
        `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${[...'{"a":1}'].map((one) => `1;x=y\r\n${one}\r\n`).join("")}0\r\nx-trailer: 1\r\n\r\n`,
      ),
      { a: 1 },
    ],
    ["is compressed unasked", http("content-encoding: gzip\r\n", gzipSync('{"a":1}')), { a: 1 }],
  ])("that %s is passed on and charged", async (_, answer, data) => {
    const before = await settledCents();
    gateway.vendor.answers(answer);
    const told = await gateway.run(account, "bulk/dump");
    expect([told.status, told.json.charged_cents]).toEqual([200, 2]);
    expect(told.json.data).toEqual(data);
    expect(await settledCents()).toBe(before - 2);
  });
});

describe("an answer that is broken", () => {
  it.each<[string, VendorAnswer]>([
    ["is a text", typed("application/json", '"tea"')],
    ["is a number", typed("application/json", "42")],
    ["is null", typed("application/json", "null")],
    ["is a long text", typed("application/json", JSON.stringify("x".repeat(2 * MIB)))],
    ["is UTF-16", typed("application/json", Buffer.from('\uFEFF{"a":1}', "utf16le"))],
    ["is not a number", typed("application/json", '{"a":NaN}')],
    ["goes on after its end", typed("application/json", '{"a":1}{"b":2}')],
    ["says nothing", raw("HTTP/1.1 204 No Content\r\n\r\n")],
    ["changes the protocol", raw("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n")],
    ["is no HTTP", raw("SSH-2.0-OpenSSH_9.6\r\n")],
    ["has a negative length", raw("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n{}")],
    ["has two lengths", raw("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{} ")],
    ["has a chunk of no size", raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n")],
    ["has headers without end", raw(`HTTP/1.1 200 OK\r\n${"x: y\r\n".repeat(50_000)}\r\n{}`)],
    ["is compressed garbage", http("content-encoding: gzip\r\n", "garbage")],
    ["is half of what was compressed", http("content-encoding: gzip\r\n", gzipSync('{"a":1}').subarray(0, -9))],
    ["unpacks without end", http("content-encoding: gzip\r\n", bomb)],
    ["is compressed in a way that nobody knows", http("content-encoding: constructor\r\n", '{"a":1}')],
  ])("because it %s is upstream_error, and free", async (_, answer) => {
    const before = await settledCents();
    gateway.vendor.answers(answer);
    const told = await gateway.run(account, "bulk/dump");
    expect([told.status, told.json.error]).toEqual([500, "upstream_error"]);
    expect(await settledCents()).toBe(before);
  });

  it("at any byte of it is upstream_error, and free", async () => {
    const before = await settledCents();
    const bytes = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 13\r\n\r\n{"order":"o"}';
    for (let at = 0; at < bytes.length; at++) {
      gateway.vendor.answers((response) => {
        response.socket?.write(bytes.slice(0, at), () => response.socket?.resetAndDestroy());
      });
      const told = await gateway.run(account, "acme/buy", { sku: "x" });
      expect([at, told.status, told.json.error]).toEqual([at, 500, "upstream_error"]);
      expect(gateway.vendor.asked).toHaveLength(1);
    }
    expect(await settledCents()).toBe(before);
  });

  it("is a page of nothing but brackets: it is told in no time", async () => {
    gateway.vendor.answers({ status: 400, headers: { "content-type": "text/html" }, body: "<".repeat(400_000) });
    const ms = await cpuMsOf(async () => expect((await gateway.run(account, "bulk/dump")).status).toBe(400));
    expect(ms).toBeLessThan(4_000);
  });

  it.each([
    ["refuses", 400, 400, "upstream_rejected"],
    ["answers", 200, 200, undefined],
  ])("is nested beyond all measure (%s): no hold is left, and the key is free", async (_, status, told, error) => {
    const before = await settledCents();
    gateway.vendor.answers({ status, body: nested(30_000) });
    const headers = { "idempotency-key": `deep-${status}` };
    const answer = await fetch(`${gateway.url}/api/run/bulk/dump`, {
      method: "POST",
      headers: { authorization: `Bearer ${account.key}`, "content-type": "application/json", ...headers },
      body: "{}",
    });
    const text = await answer.text();
    expect(answer.status).toBe(told);
    if (error !== undefined) expect(text).toContain(error);
    expect(await settledCents()).toBe(before - (status === 200 ? 2 : 0));
  });

  it("is nested beyond all measure in a call of several steps: upstream_error, and free", async () => {
    const before = await settledCents();
    const deep = `{"status_url":"/x","status":"done","deep":${nested(30_000)}}`;
    gateway.vendor.answers({ body: deep });
    expect((await gateway.run(account, "acme/steps", { q: "tea" })).json.error).toBe("upstream_error");
    expect(await settledCents()).toBe(before);
  });
});

describe("a price that the answer says", () => {
  it.each<[unknown, number]>([
    [2, 4],
    ["3", 6],
    [0.1, 1],
    [0, 1],
    [-5, 1],
    [null, 1],
    [{}, 1],
    ["many", 1],
    [1e300, 10],
    ["Infinity", 1],
    [Array.from({ length: 4 }, () => 1), 8],
    [Array.from({ length: 400 }, () => 1), 10],
  ])("of %j is within its bounds", async (used, cents) => {
    const before = await settledCents();
    gateway.vendor.answers({ body: { used } });
    expect(await gateway.run(account, "acme/capped")).toMatchObject({ status: 200, json: { charged_cents: cents } });
    expect(await settledCents()).toBe(before - cents);
  });

  it("that is no number at all is no answer", async () => {
    gateway.vendor.answers({ body: '{"used":1e999}' });
    expect((await gateway.run(account, "acme/capped")).json.charged_cents).toBe(1);
  });
});

describe("the vendor's own address for the next step", () => {
  it.each([
    ["//evil.invalid/x", "/x"],
    ["\\\\evil.invalid/x", "/x"],
    ["https:evil.invalid", "/v1/evil.invalid"],
    ["https://us:er@evil.invalid:81/v1/x?y=1#z", "/v1/x?y=1"],
    ["http://169.254.169.254/latest", "/latest"],
    ["/v1/../../admin", "/admin"],
  ])("%j is asked at our origin, with our key", async (address, asked) => {
    gateway.vendor.answers({ body: { job_id: "j", status_url: address } }, { body: { status: "done" } });
    expect((await gateway.run(account, "acme/steps", { q: "tea" })).status).toBe(200);
    expect(gateway.vendor.asked[1]?.url.replace(/^\/v1(?=\/)/, "")).toBe(asked.replace(/^\/v1(?=\/)/, ""));
    expect(gateway.vendor.asked[1]?.headers.host).toBe(new URL(gateway.vendor.url).host);
  });

  it.each([
    "javascript:alert(1)",
    "blob:https://evil.invalid/x",
    "data:,x",
    "file:///etc/passwd",
    "http://",
    "",
    7,
    null,
    {},
  ])("%j is followed nowhere, or to our origin alone", async (address) => {
    const before = await settledCents();
    gateway.vendor.answers({ body: { job_id: "j", status_url: address } }, { body: { status: "done" } });
    const told = await gateway.run(account, "acme/steps", { q: "tea" });
    if (address === "") return;
    expect([told.status, told.json.error]).toEqual([500, "upstream_error"]);
    expect(gateway.vendor.asked).toHaveLength(1);
    expect(await settledCents()).toBe(before);
  });

  it("cannot be made of half a character: the call fails, and the gateway lives", async () => {
    gateway.vendor.answers({ body: '{"job_id":"\\ud800","status_url":"/x"}' }, { body: { status: "done" } });
    expect((await gateway.run(account, "acme/steps", { q: "tea" })).json.error).toBe("upstream_error");
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
  });
});

it("after all of it the books agree", async () => {
  expect(await gateway.doctor()).toEqual([]);
});
