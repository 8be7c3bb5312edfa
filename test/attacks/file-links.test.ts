// Attacks on file links by the holder of a valid one: other paths, other methods, thousands of ranges, and thousands of requests.
import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callerOf, type FilesCaller } from "../actions/files/calling.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";

const TEXT = "0123456789abcdefghij".repeat(5_000);
let gateway: TestGateway;
let ada: FilesCaller;
let eve: FilesCaller;
let file: { file_id: string; put_url: string; get_url: string };
beforeAll(async () => {
  gateway = await startTestGateway({ ADDRESS_REQUESTS_PER_MINUTE: "1000000" });
  ada = callerOf(gateway, await gateway.account({ kind: "personal" }));
  eve = callerOf(gateway, await gateway.account({ kind: "personal" }));
  file = await ada.store({ filename: "a.txt", mime: "text/plain" }, TEXT);
});
afterAll(() => gateway.stop());

/** Sent verbatim: fetch would normalize the path. */
async function raw(path: string, headers: Record<string, string> = {}, method = "GET") {
  const { hostname, port } = new URL(gateway.url);
  const asked = request({ hostname, port, path, method, headers });
  asked.end();
  const [response] = await once(asked, "response");
  let bytes = 0;
  for await (const chunk of response) bytes += chunk.length;
  return { status: Number(response.statusCode), bytes };
}

describe("a link of one's own", () => {
  const signature = () => new URL(file.get_url).search;

  it.each([
    (id: string) => `/files/../files/${id}`,
    (id: string) => `/files/./${id}`,
    (id: string) => `/files//${id}`,
    (id: string) => `/files/${id}/`,
    (id: string) => `/files/${id}/../../tollgate.db`,
    (id: string) => `/files/${id}%00`,
    (id: string) => `/files/${id}%2f..%2f..%2ftollgate.db`,
    () => `/files/..%2f..%2fsigning.secret`,
    (id: string) => `/files/${id.toUpperCase()}`,
    (id: string) => `/files/%66${id.slice(1)}x`,
  ])("opens no other path: %s", async (pathOf) => {
    const { status, bytes } = await raw(`${pathOf(file.file_id)}${signature()}`);
    expect([status >= 400, status < 500, bytes < 2_000]).toEqual([true, true, true]);
  });

  it("opens its file for its own method alone", async () => {
    const { pathname } = new URL(file.get_url);
    expect((await raw(`${pathname}${new URL(file.put_url).search}`)).status).toBe(403);
    expect((await raw(`${pathname}${signature()}`, { "content-length": "0" }, "PUT")).status).toBe(403);
    expect((await raw(`${pathname}${signature()}`)).bytes).toBe(TEXT.length);
  });

  it("is no way to another account's file by its id", async () => {
    for (const action of ["get", "delete"]) {
      const { status, json } = await eve.call(action, { file_id: file.file_id });
      expect([action, status, json.error]).toEqual([action, 404, "not_found"]);
    }
    expect((await ada.call("get", { file_id: file.file_id })).status).toBe(200);
  });

  it("opens nothing more when its file is gone", async () => {
    const own = await eve.store({ filename: "b.txt" }, "short");
    await eve.call("delete", { file_id: own.file_id });
    expect((await fetch(own.get_url)).status).toBe(404);
    expect((await fetch(own.put_url, { method: "PUT", body: "short" })).status).toBeGreaterThanOrEqual(400);
  });
});

describe("ranges", () => {
  const path = () => file.get_url.slice(gateway.url.length);

  it.each([
    `bytes=${Array.from({ length: 1_500 }, (_, at) => `${at}-${at}`).join(",")}`,
    `bytes=${"0-,".repeat(4_000)}0-`,
    "bytes=0-99999999999999999999999",
    "bytes=-99999999999999999999999",
    "bytes=9007199254740993-9007199254740994",
    "bytes=5-3",
    "bytes=-0",
    "bytes=0x1-0x5",
    "bytes=1e1-2e1",
  ])("never make more of a file than it is: %s", async (range) => {
    const { status, bytes } = await raw(path(), { range });
    expect([200, 206, 416, 431]).toContain(status);
    expect(bytes).toBeLessThanOrEqual(TEXT.length);
  });

  it("by the thousand keep nobody waiting", async () => {
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    for (let round = 0; round < 20; round++) {
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, at) => raw(path(), { range: `bytes=${at * 7}-${at * 7}` })),
      );
      expect(answers.every(({ status, bytes }) => status === 206 && bytes === 1)).toBe(true);
    }
    delay.disable();
    expect(delay.max / 1e6).toBeLessThan(2_000);
  });

  it("that nobody reads take little memory", async () => {
    const big = await ada.store({ filename: "big.bin" }, "x".repeat(8_000_000));
    const target = new URL(big.get_url);
    const before = process.memoryUsage.rss();
    const sockets = Array.from({ length: 100 }, () => connect(Number(target.port), target.hostname));
    await Promise.all(
      sockets.map(async (socket) => {
        socket.on("error", () => {});
        await once(socket, "connect");
        socket.pause();
        socket.write(`GET ${target.pathname}${target.search} HTTP/1.1\r\nHost: x\r\n\r\n`);
      }),
    );
    expect((await raw(path(), { range: "bytes=0-0" })).bytes).toBe(1);
    expect(process.memoryUsage.rss() - before).toBeLessThan(300 * 1_048_576);
    for (const socket of sockets) socket.destroy();
  });
});
